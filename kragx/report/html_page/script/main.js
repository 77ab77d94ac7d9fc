// Start, choices that change everything, keys.

function renderAll() {
  renderHeader();
  const { failed } = data.gates; // then they are what the reader came for
  const first = failed ? [gatesSection(), tuningSection(), verdict()] : [tuningSection(), verdict(), gatesSection()];
  const sections = [leaksSection(), ...first, searchesSection(), questionsSection(), metricsTable(), poolSection(), stagesSection(), slicesTable(), figuresSection(), aboutSection()];
  byId("main").replaceChildren(...sections.filter(Boolean));
  renderFilters();
  renderQuestions();
  scrollHints();
  drawnLayout = layout();
}

/** What of the page depends on the width of the window. */
const layout = () => [narrow(), isClose(), roomForColumns()].join();
let drawnLayout = null;

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
  const scrolled = window.scrollY, focused = document.activeElement?.id;
  const another = "match" in change || "metric" in change;
  Object.assign(state, change);
  if ("match" in change) {
    keepMetric();
    state.slice = "";
  }
  if ("metric" in change) state.curve = null;
  if (!present().length) return;
  // The winner by this metric against another, unless the reader chose whom to compare.
  if (another && !state.picked || !cell(state.a) || !cell(state.b)) pickSides();
  renderAll();
  if (state.open !== null) drawQuestion();
  window.scrollTo(0, scrolled);
  if (focused) byId(focused)?.focus({ preventScroll: true });
}

/** The metric chosen, unless no retriever has a value of it under this matcher. */
function keepMetric() {
  if (!state.metric || !present().some((retriever) => mean(retriever) !== null)) state.metric = firstMetric();
}

const firstMetric = () => standing()?.metrics[0] ?? data.metrics[0].name;

/** The two that the verdict is about: the leader and the next best. */
function pickSides() {
  const best = leader(), { next } = verdictOf() ?? {};
  state.a = best;
  state.b = next ? positionOf(next) : compared().find((retriever) => retriever !== best) ?? best;
  state.looked = state.b === best ? { b: present().find((retriever) => retriever !== best) } : {};
}

/** When the run was, how long it took, and whether it went on from an interrupted one. */
const runWords = ({ date, seconds, resumed, config }) =>
  [dayAndTime(date), t("runTook", duration(seconds)), t(resumed ? "resumed" : "notResumed"), config && plain(config)].filter(Boolean).join(" · ");

/** The commit that the config's folder stood at, and whether the run may rest on more than that. */
function gitWords(git) {
  if (!git) return t("noGit");
  const { commit, branch, n_changed: count } = git, changes = count === null ? t("changesUnknown") : count ? t("changes", grouped(count)) : t("noChanges");
  return [commit ? el("code", {}, commit.slice(0, 12)) : t("noCommit"), branch ? ` (${plain(branch)})` : "", " · ", changes];
}

function aboutSection() {
  const { name: dataset, version, hash } = data.dataset, { kragx, python } = data.versions, { kept } = data;
  const statistics = standing()?.statistics;
  const rows = [
    [t("dataset"), [name(dataset || "gold"), version ? ` · ${t("version", plain(version))}` : "", hash ? el("code", {}, ` sha256 ${hash.slice(0, 12)}`) : ""]],
    [t("matcher"), name(match().label)],
    [t("profile"), textNodes(data.profile)],
    ["kragx", t("made", kragx, python)],
    [t("run"), data.record ? runWords(data.record) : t("notRecorded")],
    data.record ? ["git", gitWords(data.record.git)] : null,
  ];
  const texts = !kept.texts ? t("texts") : kept.docs_left_out ? t("kept", kept.max_docs, grouped(kept.docs_left_out)) : t("kept_all");
  const remarks = remarksOf(present());
  return el("section.about", { "aria-labelledby": "about-title" },
    el("h2", { id: "about-title" }, t("about")),
    el("dl", {}, rows.filter(Boolean).map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text)))),
    statistics ? el("p", {}, t(standing().n_asks ? "statisticsByAsks" : "statistics", grouped(statistics.resamples), statistics.seed, t(`correction_${statistics.correction}`)), " ", standing().n_asks ? `${t("asksStatistics")} ` : null, t("baseline", plain(standing().baseline)), ". ", t("tolerated", statistics.max_failed), ".") : null,
    el("p", {}, texts),
    remarks.length ? [el("h3", {}, t("remarks")), el("ul", {}, remarks.slice(0, REMARKS)),
      remarks.length > REMARKS ? el("details", {}, el("summary", {}, t("adviceMore", remarks.length - REMARKS)), el("ul", {}, remarks.slice(REMARKS))) : null] : null);
}

const REMARKS = 12; // that are not folded away

/** What was left out or replaced: a line for each remark, with all whom it concerns. */
function remarksOf(retrievers) {
  const whose = new Map();
  for (const retriever of retrievers) {
    for (const remark of cell(retriever).remarks) whose.set(plainText(remark), { remark, names: [...(whose.get(plainText(remark))?.names ?? []), retrieverName(retriever)] });
  }
  return [...whose.values()].map(({ remark, names }) => el("li", {}, names.length === present().length && names.length > 1 ? t("everyRetriever") : listed(names), ": ", textNodes(remark)));
}

// -- keys --------------------------------------------------------------------------------------

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { key, target } = event, typing = target.matches('input:not([type="checkbox"]), select, textarea');
  const action = byId("detail").open ? !typing && actionInQuestion(key) : actionInPage(key, target, typing);
  if (!action) return;
  action();
  event.preventDefault();
}

function actionInQuestion(key) {
  const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[key];
  return by && (() => step(by));
}

function actionInPage(key, target, typing) {
  if (key === "Escape" && byId("chooser")?.open) return () => closeChooser(true);
  if (target.id === "search" && key === "Enter") return () => pick(0);
  if (target.id === "search" && key === "Escape") return () => { filter({ search: "" }); target.blur(); };
  if (typing) return null;
  if (key === "/") return () => byId("search").focus();
  const inside = byId("rows").contains(target);
  if (key === "Enter" && inside && filtered.length) return () => openQuestion(filtered[state.selected]);
  const page = Math.max(1, Math.floor(byId("scroller").clientHeight / rowHeight) - 1);
  const moves = { j: 1, k: -1, ...(inside ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity } : {}) };
  return key in moves && (() => pick(inside ? state.selected + moves[key] : state.selected));
}

/** On paper: the light theme, every question as far as there is room, and advice unfolded. */
function printing(on) {
  const root = document.documentElement;
  if (on === root.classList.contains("printing")) return;
  root.classList.toggle("printing", on);
  if (on) printing.theme = root.dataset.theme;
  root.dataset.theme = on ? "light" : printing.theme;
  document.querySelectorAll(".advice details, .gates details").forEach((details) => { details.open = on; });
  renderRows(true);
}

// -- start -------------------------------------------------------------------------------------

async function start() {
  const root = document.documentElement;
  if (!beginAppearance()) return;
  data = await unpacked(byId("index").textContent);
  const query = adopt(location.hash);
  renderAll();
  const dialog = byId("detail");
  dialog.addEventListener("close", closed);
  dialog.addEventListener("click", (event) => { if (event.target === dialog) closeQuestion(); });
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", ({ target }) => { if (target.isConnected && !target.closest("#chooser")) closeChooser(false); });
  window.addEventListener("popstate", travelled);
  window.addEventListener("beforeprint", () => printing(true));
  window.addEventListener("afterprint", () => printing(false));
  window.addEventListener("resize", () => {
    renderRows(true);
    if (drawnLayout !== layout()) renderAll();
    scrollHints();
  });
  try { history.replaceState({ page: true }, ""); } catch { /* as in remember */ }
  remember();
  if (query !== null) openQuestion(query);
  root.dataset.ready = "yes";
  window.kragxReady = performance.now();
}

begin(start);
