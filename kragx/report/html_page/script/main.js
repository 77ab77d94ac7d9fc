// Start, choices that change everything, keys.

function renderAll() {
  renderTop();
  const main = document.getElementById("main");
  main.replaceChildren(...[verdict(), cautions(), questionsSection(), metricsTable(), slicesSection(), figuresSection(), aboutSection()].filter(Boolean));
  renderFilters();
  renderQuestions();
  scrollHints();
}

/** Below a table that is wider than its place stands that it can be moved. */
function scrollHints() {
  for (const box of document.querySelectorAll(".scroll")) {
    const look = () => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
    box.previousElementSibling.hidden = box.scrollWidth - box.clientWidth <= 2;
    box.onscroll = look;
    look();
  }
}

/** A choice that everything depends on. Where the reader stands in the page stays the same. */
function choosing(change) {
  const scroll = window.scrollY, focus = document.activeElement?.id;
  Object.assign(state, change);
  if ("match" in change) {
    keepMetric();
    state.slice = "";
  }
  if ("metric" in change) state.curve = null;
  if (data.cells[state.match].every((each) => !each)) return;
  // The winner by this metric against another, unless the reader chose whom to compare.
  if (("match" in change || "metric" in change) && !state.picked || !cell(state.a) || !cell(state.b)) pickSides();
  renderAll();
  if (state.open !== null) drawDetail();
  window.scrollTo(0, scroll);
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
}

function keepMetric() {
  if (!state.metric || !present().some((at) => (cell(at).mean[state.metric] ?? null) !== null)) {
    state.metric = standing()?.metrics[0] ?? data.metrics[0].name;
  }
}

/** The leader against the baseline; where the leader is the baseline, against the next best. */
function pickSides() {
  const best = leader(), of = standing()?.overall.leaders[state.metric];
  const baseline = data.retrievers.indexOf(standing()?.baseline);
  const next = of?.differences.length
    ? data.retrievers.indexOf([...of.differences].sort((one, other) => Math.abs(one.value ?? 9) - Math.abs(other.value ?? 9))[0].against)
    : present().find((at) => at !== best) ?? best;
  state.a = best;
  state.b = baseline >= 0 && baseline !== best && cell(baseline) ? baseline : next;
}

function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  renderTop();
  document.getElementById("theme")?.focus({ preventScroll: true });
}

function cautions() {
  const count = (at, letter) => cell(at).status.split(letter).length - 1;
  const gone = [["f", "cautionFailed"], ["m", "cautionMissing"]].flatMap(([letter, key]) =>
    present().filter((at) => count(at, letter)).map((at) => el("li", {}, phrase(key, bold(at), grouped(count(at, letter)), grouped(size())))));
  const listed = (standing()?.cautions || []).map((each) => el("li", { lang: "en" }, plain(each)));
  const turned = flips(true).map((each) => el("li", {}, each));
  return gone.length + listed.length + turned.length ? el("section.cautions", { role: "note" }, el("h2.unseen", {}, t("caution")), el("ul", {}, gone, turned, listed)) : null;
}

function aboutSection() {
  const of = standing(), set = data.dataset, kept = data.kept;
  const rows = [
    [t("dataset"), [name(set.name || "gold"), set.version ? ` · ${t("version", plain(set.version))}` : "", set.hash ? el("code", {}, ` sha256 ${set.hash.slice(0, 12)}`) : ""]],
    [t("matcher"), name(match().label)],
    [t("profile"), name(data.profile)],
    ["kragx", t("made", data.versions.kragx, data.versions.python)],
  ];
  const remarks = present().flatMap((at) => cell(at).remarks.map((line) => [at, line]));
  return el("section.about", { "aria-labelledby": "about-title" },
    el("h2", { id: "about-title" }, t("about")),
    el("dl", {}, rows.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text)))),
    of ? el("p", {}, t("statistics", grouped(of.statistics.resamples), of.statistics.seed, t(`correction_${of.statistics.correction}`)), " ", t("baseline", plain(of.baseline)), ".") : null,
    el("p", {}, !kept.texts ? t("texts") : kept.docs_left_out ? t("kept", kept.max_docs, grouped(kept.docs_left_out)) : kept.texts_cut ? "" : t("kept_all"), kept.texts_cut ? ` ${t("cutTexts", grouped(kept.texts_cut), grouped(kept.max_chars))}` : ""),
    remarks.length ? [el("h3", {}, t("remarks")), el("ul", {}, remarks.map(([at, line]) => el("li", {}, el("span.retriever", {}, name(data.retrievers[at])), ": ", plain(line))))] : null);
}

// -- keys --------------------------------------------------------------------------------------

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target, typing = target.matches("input, select, textarea");
  const dialog = document.getElementById("detail");
  if (dialog.open) {
    if (typing) return;
    if (event.key === "j" || event.key === "ArrowRight") step(1);
    else if (event.key === "k" || event.key === "ArrowLeft") step(-1);
    else return;
    event.preventDefault();
    return;
  }
  if (event.key === "Escape" && target.id === "search") {
    filter({ search: "" });
    target.blur();
    return;
  }
  if (event.key === "Enter" && target.id === "search") {
    pick(0);
    return;
  }
  if (typing) return;
  const inside = document.getElementById("rows").contains(target);
  const page = Math.max(1, Math.floor(document.getElementById("scroller").clientHeight / rowHeight) - 1);
  const moves = { j: 1, k: -1, ...(inside ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity } : {}) };
  if (event.key in moves) pick(inside ? state.selected + moves[event.key] : state.selected);
  else if (event.key === "Enter" && inside && filtered.length) openQuestion(filtered[state.selected]);
  else if (event.key === "/") document.getElementById("search").focus();
  else return;
  event.preventDefault();
}

/** On paper: the light theme, every question as far as there is room, and advice unfolded. */
function printing(on) {
  const root = document.documentElement;
  if (on === root.classList.contains("printing")) return;
  root.classList.toggle("printing", on);
  if (on) printing.theme = root.dataset.theme;
  root.dataset.theme = on ? "light" : printing.theme;
  document.querySelectorAll(".advice details").forEach((each) => { each.open = on; });
  renderRows(true);
}

// -- start -------------------------------------------------------------------------------------

async function start() {
  state.language = (navigator.languages?.[0] || navigator.language || "en").toLowerCase().startsWith("ko") ? "ko" : "en";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => { if (!state.theme) { document.documentElement.dataset.theme = dark.matches ? "dark" : "light"; renderTop(); } });
  const main = document.getElementById("main");
  if (typeof DecompressionStream === "undefined") {
    main.replaceChildren(el("p.problem", {}, t("old")));
    return;
  }
  data = await unpacked(block("index"));
  keepMetric();
  pickSides();
  renderAll();
  const dialog = document.getElementById("detail");
  dialog.addEventListener("close", closed);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) closeQuestion(); });
  document.addEventListener("keydown", pressed);
  window.addEventListener("popstate", travelled);
  window.addEventListener("beforeprint", () => printing(true));
  window.addEventListener("afterprint", () => printing(false));
  window.addEventListener("resize", () => renderRows(true));
  let wide = narrow();
  window.addEventListener("resize", () => { if (wide !== narrow()) { wide = narrow(); renderAll(); } scrollHints(); });
  if (location.hash.startsWith("#q=")) {
    const query = data.queries.ids.findIndex((id) => `#q=${encodeURIComponent(id)}` === location.hash);
    history.replaceState(null, "", "#");
    if (query >= 0) openQuestion(query);
  }
  document.documentElement.dataset.ready = "yes";
  window.kragxReady = performance.now();
}

start().catch((error) => {
  document.getElementById("main").replaceChildren(el("p.problem", {}, String(error)));
  throw error;
});
