// The table of questions: filters, sorting, and only the rows in view, so that 10,000 scroll as 60 do.

let filtered = [];
let rowHeight = 60;
const PRINTED = 500;

function questionsSection() {
  return el("section", { id: "questions", "aria-labelledby": "questions-title" },
    el("div.section-head", {}, el("h2", { id: "questions-title" }, t("questions")), el("span.count", { id: "count", role: "status" }), el("span.hint", {}, t("hint"))),
    el("div.filters", { id: "filters" }),
    el("div.scroller", { id: "scroller", onscroll: () => requestAnimationFrame(renderRows) },
      el("table.questions", { id: "table", "aria-labelledby": "questions-title" }, el("thead", { id: "head" }), el("tbody", { id: "rows" }))),
    el("p.legend", { id: "printed" }));
}

// -- filters -----------------------------------------------------------------------------------

function renderFilters() {
  const [a, b] = [state.a, state.b].map((retriever) => plain(retrieverName(retriever))), two = compared().length > 1;
  const chooser = (id, text, options, chosen, choose, cls) => field(text, select({ id }, options, chosen, choose), cls);
  const names = ranked().filter(isCompared).map((retriever) => [retriever, retrieverName(retriever)]);
  const reasons = REASONS.filter((why) => [...questions()].some((query) => reason(state.a, query) === why));
  const box = byId("filters"), focused = document.activeElement?.id, root = document.documentElement.style;
  root.setProperty("--a", colour(state.a));
  root.setProperty("--b", colour(state.b));
  box.replaceChildren(...[
    field(t("searchLabel"), el("input", { id: "search", type: "search", placeholder: t("search"), value: state.search, autocomplete: "off", oninput: (event) => filter({ search: event.target.value }, false) }), ".wide"),
    two && chooser("a", t("compare"), names, state.a, (retriever) => filter({ a: Number(retriever), picked: true, looked: {} }), ".series-a"),
    two && chooser("b", t("with"), names, state.b, (retriever) => filter({ b: Number(retriever), picked: true, looked: {} }), ".series-b"),
    two && chooser("outcome", t("outcome"), [["all", t("all")], ["a", t("aWins", a)], ["b", t("bWins", b)], ["tie", t("ties")], ["differ", t("differ")]], state.outcome, (outcome) => filter({ outcome })),
    chooser("result", t("failed"), [["any", t("anyResult")], ["failedA", t("failedBy", a)], ...(two ? [["failedB", t("failedBy", b)], ["failedBoth", t("failedBoth")]] : []), ["foundA", t("foundBy", a)], ...(leaks(state.a) ? [["leaksA", t("leaksBy", a)]] : []), ...(two && leaks(state.b) ? [["leaksB", t("leaksBy", b)]] : []), ...outcomeFilters(state.a, "A"), ...(two ? outcomeFilters(state.b, "B") : [])], state.result, (result) => filter({ result })),
    chooser("why", `${t("why")} (${clipped(retrieverName(state.a), 13)})`, [["", t("anyWhy")], ...reasons.map((why) => [why, reasonShort(why)])], state.why, (why) => filter({ why })),
    slices().length && chooser("slice", t("slice"), [["", t("allSlices")], ...slices().map(({ key, label: text }) => [key, text])], state.slice, (slice) => filter({ slice })),
    el("button", { id: "reset", onclick: () => filter({ ...EVERYTHING, sort: { by: "order", down: false } }) }, t("reset")),
    el("div.tools", {}, columnChooser(), el("span.grow"), el("span.muted.small", {}, t("export")), exportButtons(), copyButton("copy-page")),
  ].filter(Boolean));
  if (focused) box.querySelector(`#${focused}`)?.focus();
}

/** Change filters; the search field keeps its cursor, as it is not drawn anew. */
function filter(change, redraw = true) {
  Object.assign(state, change);
  state.selected = 0;
  byId("scroller").scrollTop = 0;
  if (redraw) renderFilters();
  renderQuestions();
}

/** From a link elsewhere: these questions, and scroll to them. */
function showing(change) {
  filter({ ...EVERYTHING, ...change });
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId("questions").scrollIntoView({ behavior: still ? "auto" : "smooth" });
}

function passes(query, wanted, rows) {
  if (wanted && !searchable(query).includes(wanted)) return false;
  if (rows && !rows.has(query)) return false;
  if (state.outcome !== "all") {
    const ahead = lead(state.a, state.b, query);
    if (ahead === null || !{ a: ahead > 0, b: ahead < 0, tie: ahead === 0, differ: ahead !== 0 }[state.outcome]) return false;
  }
  if (state.result !== "any") {
    const a = failed(state.a, query), b = failed(state.b, query);
    if (!{ failedA: a, failedB: b, failedBoth: a && b, foundA: reason(state.a, query) === "ok", leaksA: leaksIn(state.a, query), leaksB: leaksIn(state.b, query), ...broughtTo(query) }[state.result]) return false;
  }
  return !state.why || reason(state.a, query) === state.why;
}

/** As people take texts for the same: composed or not, wide or narrow, in capitals or not. */
const normalised = (text) => text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ");

let lowered = null;
function searchable(query) {
  lowered ||= data.queries.ids.map((id, each) => `${normalised(id)}\n${normalised(data.queries.texts[each] ?? "")}`);
  return lowered[query];
}

/** The questions that pass the filters, in the order that was chosen. */
function filteredAndSorted() {
  const wanted = normalised(state.search.trim()), slice = slices().find(({ key }) => key === state.slice);
  const rows = slice ? new Set(slice.rows) : null;
  const chosen = [...questions()].filter((query) => passes(query, wanted, rows));
  const { by, down } = state.sort;
  if (by === "order") return chosen;
  const key = {
    question: (query) => searchable(query).split("\n").slice(1).join("\n"),
    asks: (query) => data.queries.weights?.[query] ?? null,
    lead: (query) => lead(state.a, state.b, query),
    why: (query) => REASONS.indexOf(reason(state.a, query)),
  }[by] || ((query) => value(Number(by), query));
  const keys = new Map(chosen.map((query) => [query, key(query)]));
  return chosen.sort((one, other) => {
    const x = keys.get(one), y = keys.get(other);
    if (x === y) return one - other;
    if (x === null) return 1; // what has no value comes last, either way
    if (y === null) return -1;
    return (x < y ? -1 : 1) * (down ? -1 : 1);
  });
}

// -- the table ---------------------------------------------------------------------------------

function renderQuestions() {
  filtered = filteredAndSorted();
  byId("count").textContent = filtered.length === size() ? nQuestions() : t("shownOf", grouped(filtered.length), grouped(size())) + asksShare(filtered, [...questions()]);
  renderHead();
  renderRows(true);
  remember();
}

function renderHead() {
  const button = (by, text, title) => {
    const own = state.sort.by === by, fallsFirst = by === "lead" || by === "asks";
    return el("button.sort", { "data-sort": by, title: t("sortBy", title), onclick: () => filter({ sort: { by, down: own ? !state.sort.down : fallsFirst } }) },
      text, el("span.arrow", { "aria-hidden": "true" }, own ? (state.sort.down ? "▼" : "▲") : ""));
  };
  const sorter = (by, text, cls, title, retriever = null, also = null) =>
    el("th", { scope: "col", class: cls, vars: retriever === null ? {} : { "--own": colour(retriever) }, "aria-sort": [by, also].includes(state.sort.by) ? (state.sort.down ? "descending" : "ascending") : "none" },
      button(by, text, title), also ? button(also, t("asksSort"), t("asksSort")) : null);
  tableColumns = columns(roomForColumns());
  const isRoomy = byId("main").clientWidth >= BESIDE + tableColumns.length * WIDE_COLUMN;
  byId("table").className = `questions${isClose() ? " close" : isRoomy ? " roomy" : ""}`;
  byId("table").style.setProperty("--columns", tableColumns.length);
  byId("head").replaceChildren(el("tr", {},
    sorter("question", t("question"), "q", t("question"), null, data.queries.weights ? "asks" : null),
    tableColumns.map((retriever) => sorter(String(retriever), columnHead(retriever), columnClass(retriever), plain(retrieverName(retriever)), retriever)),
    compared().length > 1 ? sorter("lead", t("difference"), "lead", t("difference")) : null,
    sorter("why", phrase("resultOf", breakable(retrieverName(state.a))), "why", t("result"))));
}

let tableColumns = []; // retrievers
const columnClass = (retriever) => (retriever === state.a ? "v a" : retriever === state.b ? "v b" : "v other");

function questionRow(query, position) {
  const ahead = lead(state.a, state.b, query), why = reason(state.a, query), text = data.queries.texts[query];
  const chip = () => el("span.chip." + (why || "none"), { title: reasonExactly(state.a, query) }, why === "late" ? reasonShort(why) : rankOrReason(state.a, query));
  const selected = position === state.selected;
  return el("tr", { "data-at": position, tabindex: selected ? 0 : -1, "aria-rowindex": position + 2, class: selected ? "selected" : null,
    vars: { "--row": `${rowHeight}px` }, onclick: () => { state.selected = position; openQuestion(query); }, onfocus: () => pick(position, false) },
    el("td.q", {}, el("div.clamp", { dir: "auto" }, text ? el("bdi", {}, shown(text.slice(0, 300))) : null), el("small", {}, el("span.id", {}, name(data.queries.ids[query])), data.queries.weights ? ` · ${nAsks(asWritten(data.queries.weights[query]))}` : null, " ", chip())),
    tableColumns.map((retriever) => {
      if (hasFailed(retriever, query)) return el("td.lost", { class: columnClass(retriever) }, valueText(retriever, query));
      const own = value(retriever, query), share = own !== null && metric().unit;
      return el("td", { class: columnClass(retriever) }, share ? el("i.meter", { vars: { "--share": own, "--own": colour(retriever) } }) : null, valueText(retriever, query));
    }),
    compared().length > 1 ? el("td.lead", { class: !ahead ? "zero" : ahead > 0 ? "up" : "down" }, ahead === 0 ? "=" : signed(ahead, metric())) : null,
    el("td.why", {}, chip()));
}

let windowed = [-1, -1];
function renderRows(anew) {
  const scroller = byId("scroller"), rows = byId("rows");
  if (!scroller) return;
  const printing = document.documentElement.classList.contains("printing");
  rowHeight = !isClose() ? 60 : scroller.clientWidth < 480 ? 92 : 76;
  if (!printing) { // whole rows
    const head = byId("head").offsetHeight, room = Math.min(window.innerHeight * 0.72, 660) - head;
    scroller.style.maxHeight = `${head + Math.max(2, Math.floor(room / rowHeight)) * rowHeight + 2}px`;
  }
  const first = printing ? 0 : Math.max(0, Math.floor(scroller.scrollTop / rowHeight) - 8);
  const last = Math.min(filtered.length, printing ? PRINTED : first + Math.ceil(scroller.clientHeight / rowHeight) + 16);
  if (anew !== true && first === windowed[0] && last === windowed[1]) return;
  windowed = [first, last];
  const focused = rows.contains(document.activeElement);
  const space = (count) => (count && !printing ? [el("tr.space", { "aria-hidden": "true" }, el("td", { style: { height: `${count * rowHeight}px` } }))] : []);
  const body = filtered.slice(first, last).map((query, position) => questionRow(query, first + position));
  if (!filtered.length) body.push(el("tr", {}, el("td.empty", { colspan: tableColumns.length + 3 }, t("none"))));
  rows.replaceChildren(...space(first), ...body, ...space(filtered.length - last));
  byId("table").setAttribute("aria-rowcount", filtered.length + 1);
  byId("printed").textContent = printing && filtered.length > PRINTED ? t("printed", PRINTED, grouped(filtered.length)) : "";
  if (focused) selectedRow()?.focus({ preventScroll: true });
}

const selectedRow = () => byId("rows").querySelector(`[data-at="${state.selected}"]`);

/** Make a row the selected one, and bring it into view. */
function pick(position, focus = true) {
  if (!filtered.length) return;
  const scroller = byId("scroller"), before = byId("rows").querySelector(".selected");
  state.selected = Math.max(0, Math.min(filtered.length - 1, position));
  if (focus) {
    const head = byId("head").offsetHeight, top = state.selected * rowHeight, bottom = top + rowHeight + head;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (bottom > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom - scroller.clientHeight;
    renderRows(true);
    selectedRow()?.focus({ preventScroll: true });
  } else if (before?.dataset.at !== String(state.selected)) {
    before?.classList.remove("selected");
    before?.setAttribute("tabindex", -1);
    selectedRow()?.classList.add("selected");
    selectedRow()?.setAttribute("tabindex", 0);
  }
}
