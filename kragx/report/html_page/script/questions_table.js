// The table of questions: filters, sorting, and only the rows in view, so that 10,000 scroll as 60 do.

let filtered = [];
let rowHeight = 60;
const PRINTED = 500;

function questionsSection() {
  return el("section", { id: "questions", "aria-labelledby": "questions-title" },
    el("div.section-head", {}, el("h2", { id: "questions-title" }, t("questions")), el("span.count", { id: "count", role: "status" }), el("span.hint", {}, t("hint"))),
    el("div.filters", { id: "filters" }),
    el("div.scroller", { id: "scroller", onscroll: () => requestAnimationFrame(renderRows) },
      el("table.questions" + (present().length > 4 ? "" : ".roomy"), { id: "table", "aria-labelledby": "questions-title" }, el("thead", { id: "head" }), el("tbody", { id: "rows" }))),
    el("p.legend", { id: "printed" }));
}

function renderFilters() {
  const names = data.retrievers.map(plain), [a, b] = [names[state.a], names[state.b]], two = present().length > 1;
  const chooser = (id, text, options, chosen, change, cls = "") =>
    el("label.field" + cls, {}, el("span", {}, text), el("select", { id, onchange: (event) => change(event.target.value) },
      options.map(([key, said]) => el("option", { value: key, selected: String(key) === String(chosen) }, said))));
  const which = present().map((at) => [at, names[at]]);
  const listed = slices();
  const box = document.getElementById("filters");
  const focused = document.activeElement?.id, root = document.documentElement.style;
  root.setProperty("--a", colour(state.a));
  root.setProperty("--b", colour(state.b));
  box.replaceChildren(...[
    el("label.field.wide", {}, el("span", {}, t("searchLabel")),
      el("input", { id: "search", type: "search", placeholder: t("search"), value: state.search, autocomplete: "off", oninput: (event) => filter({ search: event.target.value }, false) })),
    two ? chooser("a", t("compare"), which, state.a, (at) => filter({ a: Number(at), picked: true }), ".series-a") : null,
    two ? chooser("b", t("with"), which, state.b, (at) => filter({ b: Number(at), picked: true }), ".series-b") : null,
    two ? chooser("outcome", t("outcome"), [["all", t("all")], ["a", t("aWins", a)], ["b", t("bWins", b)], ["tie", t("ties")], ["differ", t("differ")]], state.outcome, (outcome) => filter({ outcome })) : null,
    chooser("result", t("failed"), [["any", t("anyResult")], ["failedA", t("failedBy", a)], ...(two ? [["failedB", t("failedBy", b)], ["failedBoth", t("failedBoth")]] : []), ["foundA", t("foundBy", a)]], state.result, (result) => filter({ result })),
    chooser("why", `${t("why")} (${clipped(data.retrievers[state.a], 13)})`, [["", t("anyWhy")], ...WHYS.filter((why) => data.queries.ids.some((_, at) => reason(state.a, at) === why)).map((why) => [why, whyShort(why)])], state.why, (why) => filter({ why })),
    listed.length ? chooser("slice", t("slice"), [["", t("allSlices")], ...listed.map((each) => [each.key, plain(`${short(each.field)}: ${each.value ?? t("noValue")}`)])], state.slice, (slice) => filter({ slice })) : null,
    el("button", { id: "reset", onclick: () => filter({ ...EVERYTHING, sort: { by: "order", down: false } }) }, t("reset")),
  ].filter(Boolean));
  if (focused && box.querySelector(`#${focused}`)) box.querySelector(`#${focused}`).focus();
}

const WHYS = ["ok", "late", "near", "alike", "kin", "similar", "nothing", "notgold", "empty", "failed", "missing", "unknown", "nogold"];

const EVERYTHING = { search: "", outcome: "all", result: "any", slice: "", why: "" };

/** Change filters; the search field keeps its cursor, as it is not drawn anew. */
function filter(change, redraw = true) {
  Object.assign(state, change);
  state.selected = 0;
  document.getElementById("scroller").scrollTop = 0;
  if (redraw) renderFilters();
  renderQuestions();
}

/** From a link elsewhere: these questions, and scroll to them. */
function showing(change) {
  filter({ ...EVERYTHING, ...change });
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  document.getElementById("questions").scrollIntoView({ behavior: still ? "auto" : "smooth" });
}

function kept(query, wanted, rows) {
  if (wanted && !plainQuestion(query).includes(wanted)) return false;
  if (rows && !rows.has(query)) return false;
  if (state.outcome !== "all") {
    const ahead = lead(state.a, state.b, query);
    if (ahead === null) return false;
    if ({ a: ahead <= 0, b: ahead >= 0, tie: ahead !== 0, differ: ahead === 0 }[state.outcome]) return false;
  }
  if (state.result !== "any") {
    const a = failed(state.a, query), b = failed(state.b, query);
    const hit = reason(state.a, query) === "ok";
    if (!{ failedA: a, failedB: b, failedBoth: a && b, foundA: hit }[state.result]) return false;
  }
  return !state.why || reason(state.a, query) === state.why;
}

let lowered = null;
function plainQuestion(query) {
  lowered ||= data.queries.ids.map((id, at) => `${id}\n${data.queries.texts[at] ?? ""}`.normalize("NFC").toLowerCase());
  return lowered[query];
}

function select() {
  const wanted = state.search.trim().normalize("NFC").toLowerCase();
  const slice = slices().find((each) => each.key === state.slice);
  const rows = slice ? new Set(slice.rows) : null;
  const chosen = [];
  for (let at = 0; at < size(); at += 1) if (kept(at, wanted, rows)) chosen.push(at);
  const { by, down } = state.sort;
  if (by !== "order") {
    const key = {
      question: (at) => plainQuestion(at).split("\n").slice(1).join("\n"),
      lead: (at) => lead(state.a, state.b, at),
      why: (at) => WHYS.indexOf(reason(state.a, at)),
    }[by] || ((at) => value(Number(by), at));
    const keys = new Map(chosen.map((at) => [at, key(at)]));
    chosen.sort((one, other) => {
      const x = keys.get(one), y = keys.get(other);
      if (x === y) return one - other;
      if (x === null) return 1; // what has no value comes last, either way
      if (y === null) return -1;
      return (x < y ? -1 : 1) * (down ? -1 : 1);
    });
  }
  return chosen;
}

function renderQuestions() {
  filtered = select();
  document.getElementById("count").textContent = filtered.length === size() ? t(size() === 1 ? "nQuestions1" : "nQuestions", grouped(size())) : t("shownOf", grouped(filtered.length), grouped(size()));
  renderHead();
  renderRows(true);
}

function renderHead() {
  const sorter = (by, text, cls) => {
    const own = state.sort.by === by;
    return el("th", { scope: "col", class: cls, vars: /^\d+$/.test(by) ? { "--own": colour(Number(by)) } : {}, "aria-sort": own ? (state.sort.down ? "descending" : "ascending") : "none" },
      el("button.sort", { "data-sort": by, title: t("sortBy", typeof text === "string" ? text : by === "why" ? t("result") : plain(data.retrievers[by])), onclick: () => filter({ sort: { by, down: own ? !state.sort.down : by !== "question" && by !== "why" && !/^\d+$/.test(by) } }) },
        text, el("span.arrow", { "aria-hidden": "true" }, own ? (state.sort.down ? "▼" : "▲") : "")));
  };
  document.getElementById("head").replaceChildren(el("tr", {},
    sorter("question", t("question"), "q"),
    present().map((at) => sorter(String(at), [swatch(at), "\u00a0", breakable(data.retrievers[at])], columnClass(at))),
    present().length > 1 ? sorter("lead", t("difference"), "lead") : null,
    sorter("why", phrase("resultOf", breakable(data.retrievers[state.a])), "why")));
}

function columnClass(at) {
  return at === state.a ? "v a" : at === state.b ? "v b" : "v other";
}

function questionRow(query, position) {
  const of = metric(), ahead = lead(state.a, state.b, query), why = reason(state.a, query);
  const text = data.queries.texts[query];
  const chip = () => el("span.chip." + (why || "none"), { title: whyExactly(state.a, query) }, why === "ok" ? t("rank", firstRank(state.a, query)) : why ? whyShort(why) : "–");
  return el("tr", { "data-at": position, tabindex: position === state.selected ? 0 : -1, "aria-rowindex": position + 2, class: position === state.selected ? "selected" : null,
    vars: { "--row": `${rowHeight}px` }, onclick: () => { state.selected = position; openQuestion(query); }, onfocus: () => pick(position, false) },
    el("td.q", {}, el("div.clamp", { dir: "auto" }, text ? el("bdi", {}, shown(text.slice(0, 300))) : null), el("small", {}, name(data.queries.ids[query]), " ", chip())),
    present().map((at) => {
      const own = value(at, query);
      return el("td", { class: columnClass(at) }, own === null ? "–" : [of.unit ? el("i.meter", { vars: { "--share": own, "--own": colour(at) } }) : null, number(own, of)]);
    }),
    present().length > 1 ? el("td.lead", { class: ahead === null || ahead === 0 ? "zero" : ahead > 0 ? "up" : "down" }, ahead === null ? "–" : ahead === 0 ? "=" : signed(ahead, of)) : null,
    el("td.why", {}, chip()));
}

let windowed = [-1, -1];
function renderRows(anew) {
  const scroller = document.getElementById("scroller"), rows = document.getElementById("rows");
  if (!scroller) return;
  const printing = document.documentElement.classList.contains("printing");
  rowHeight = scroller.clientWidth < 640 ? 84 : 60;
  if (!printing) { // whole rows
    const head = document.getElementById("head").offsetHeight, room = Math.min(window.innerHeight * 0.72, 660) - head;
    scroller.style.maxHeight = `${head + Math.max(2, Math.floor(room / rowHeight)) * rowHeight + 2}px`;
  }
  const first = printing ? 0 : Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - 8);
  const last = printing ? Math.min(filtered.length, PRINTED) : Math.min(filtered.length, first + Math.ceil(scroller.clientHeight / rowHeight) + 16);
  if (anew !== true && first === windowed[0] && last === windowed[1]) return;
  windowed = [first, last];
  const focused = rows.contains(document.activeElement);
  const space = (count) => (count && !printing ? [el("tr.space", { "aria-hidden": "true" }, el("td", { style: { height: `${count * rowHeight}px` } }))] : []);
  const body = filtered.slice(first, last).map((query, at) => questionRow(query, first + at));
  if (!filtered.length) body.push(el("tr", {}, el("td.empty", { colspan: 2 }, t("none"))));
  rows.replaceChildren(...space(first), ...body, ...space(filtered.length - last));
  document.getElementById("table").setAttribute("aria-rowcount", filtered.length + 1);
  document.getElementById("printed").textContent = printing && filtered.length > PRINTED ? t("printed", PRINTED, grouped(filtered.length)) : "";
  if (focused) rows.querySelector(`[data-at="${state.selected}"]`)?.focus({ preventScroll: true });
}

/** Make a row the selected one, and bring it into view. */
function pick(position, focus = true) {
  if (!filtered.length) return;
  const rows = document.getElementById("rows"), scroller = document.getElementById("scroller");
  const old = rows.querySelector(".selected");
  state.selected = Math.max(0, Math.min(filtered.length - 1, position));
  if (focus) {
    const head = document.getElementById("head").offsetHeight, top = state.selected * rowHeight;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + rowHeight + head > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + rowHeight + head - scroller.clientHeight;
    renderRows(true);
    rows.querySelector(`[data-at="${state.selected}"]`)?.focus({ preventScroll: true });
  } else if (old?.dataset.at !== String(state.selected)) {
    old?.classList.remove("selected");
    old?.setAttribute("tabindex", -1);
    const row = rows.querySelector(`[data-at="${state.selected}"]`);
    row?.classList.add("selected");
    row?.setAttribute("tabindex", 0);
  }
}
