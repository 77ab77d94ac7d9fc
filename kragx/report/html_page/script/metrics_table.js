// The tables of retrievers: metrics down, and the slices of one metric; retrievers across.

/** A table of metrics in a box that scrolls by itself, never the page. */
function scrollingTable(titleId, heads, ...bodies) {
  return [
    el("p.scroll-hint", {}, t("scrollHint")),
    el("div.scroll", { tabindex: 0, role: "region", "aria-labelledby": titleId },
      el("table.metrics", { "aria-labelledby": titleId }, el("thead", {}, el("tr", {}, heads)), bodies)),
  ];
}

const retrieverHeads = (retrievers) => retrievers.map((retriever) => el("th", { scope: "col" }, columnHead(retriever)));

const columnHead = (retriever) => [swatch(retriever), "\u00a0", breakable(retrieverName(retriever))];

function metricsTable() {
  const retrievers = state.retrievers ? columns() : ranked();
  const groups = [false, true].map((ofDocuments) => shownMetrics().filter((each) => each.of_documents === ofDocuments)).filter((group) => group.length);
  return el("section", { "aria-labelledby": "metrics-title" },
    el("h2", { id: "metrics-title" }, t("metrics")),
    retrievers.length > LADDER ? metricsAcross(retrievers, groups.flat()) : metricsDown(retrievers, groups),
    flips(false).map((line) => el("p.legend", {}, line)),
    el("p.legend", {}, compared().length < 2 ? null : Object.entries(MARKS).map(([mark, key]) => [el(`span.${key}-mark`, {}, mark), " ", t(`mark_${key}`), "   "]),
      standing() ? t("metricsNote", percent(standing().statistics.confidence)) : t("metricsNotePlain"), standing()?.n_asks ? ` ${t("asksNote")}` : null),
    el("details.meanings", {}, el("summary", {}, t("meanings")), el("dl", {}, data.metrics.map((each) => el("div", {}, el("dt", {}, each.name), el("dd", {}, meaning(each)))))));
}

/** Metrics below each other, a column for each retriever: the best first. */
function metricsDown(retrievers, groups) {
  const view = standing()?.overall, failing = retrievers.some(failuresOf);
  const row = (each) => el("tr", { class: each.name === state.metric ? "chosen" : null },
    el("th", { scope: "row" }, metricHead(each)), retrievers.map((retriever) => metricCell(each, retriever, view)));
  return scrollingTable("metrics-title", [el("th", { scope: "col" }, t("metric")), retrieverHeads(retrievers)], groups.map((group, position) => el("tbody", {},
    position ? el("tr.group", {}, el("th", { colspan: retrievers.length + 1, scope: "colgroup" }, t("ofDocuments"))) : null,
    failing && !position ? el("tr.failures", {}, el("th", { scope: "row" }, t("failuresRow")), retrievers.map(failuresCell)) : null, group.map(row))));
}

/** Retrievers below each other, the best first, and a column for each metric: for many of them. */
function metricsAcross(retrievers, metrics) {
  const view = standing()?.overall, failing = retrievers.some(failuresOf);
  return scrollingTable("metrics-title",
    [el("th", { scope: "col" }, t("retriever")), metrics.map((each) => el("th", { scope: "col", "aria-sort": each.name === state.metric ? (each.higher === false ? "ascending" : "descending") : null }, metricHead(each))), failing ? el("th", { scope: "col" }, t("failuresRow")) : null],
    el("tbody", {}, retrievers.map((retriever) => el("tr", {}, el("th", { scope: "row" }, columnHead(retriever)),
      metrics.map((each) => metricCell(each, retriever, view, each.name === state.metric ? "chosen" : null)), failing ? failuresCell(retriever) : null))));
}

/** A metric's name, to be chosen for the whole page. */
const metricHead = (each) => [
  el("button.link", { id: `by-${each.name}`, title: `${meaning(each)} ${t("choose", each.name)}`, "aria-pressed": String(each.name === state.metric), onclick: () => choosing({ metric: each.name }) }, breakable(each.name)),
  each.higher === false ? el("small.muted", {}, t("lower")) : null];

/** What stands beside a mean, and what it says; who gets which mark is decided once, for every report. */
const MARKS = { "★": "best", "=": "shared", "≈": "tied" };

/** On how many questions a retriever failed. */
function failuresCell(retriever) {
  const own = failuresOf(retriever);
  return el("td", { class: isCompared(retriever) ? null : "lost" },
    el("span.number", {}, !own ? "0" : isNothing(own) ? t("returnedNothing") : t("ofQuestions", grouped(own.n_failed), grouped(own.n_queries))),
    isCompared(retriever) ? null : el("span.interval", {}, `✗ ${t("notCompared")}`));
}

/** The mark of a retriever among those of a view, and the class of its cell. */
function markOf(view, each, retriever) {
  const mark = view?.leaders[each.name]?.marks[retrieverName(retriever)], key = MARKS[mark];
  return { key, shown: key ? el(`span.${key}-mark`, { title: t(`mark_${key}`) }, mark, el("span.unseen", {}, t(`mark_${key}`))) : null };
}

/** The lowest and the highest mean of the runs of a retriever that was asked several times; empty of one. */
function runsText(retriever, each) {
  const known = (cell(retriever).runs?.mean[each.name] || []).filter((value) => !missing(value));
  if (!known.length) return "";
  const low = Math.min(...known), high = Math.max(...known);
  return t("runs", cell(retriever).runs.n, low === high ? t("runsAlike") : t("range", number(low, each), number(high, each)));
}

function metricCell(each, retriever, view, cls = null) {
  if (!isCompared(retriever)) return el("td.lost", {}, "–");
  const { key, shown: mark } = markOf(view, each, retriever);
  const [low, high] = cell(retriever).bounds[each.name] || [], most = cell(retriever).maximum[each.name];
  const possible = t("range", number(low, each), number(high, each));
  return el("td", { class: [key, cls].filter(Boolean).join(" ") || null },
    el("span.number", {}, mark, meanText(retriever, each)), asideOf(retriever, each) ? el("span.interval", {}, asideOf(retriever, each)) : null,
    el("span.interval", {}, ends(estimate(view, retriever, each), each)),
    runsText(retriever, each) ? el("span.interval", { title: t("runsHint") }, runsText(retriever, each)) : null,
    most === undefined ? null : el("span.interval", {}, t("ofMax", number(most, each))),
    each.exact || !(high - low > 1e-9) ? null : el("span.interval", { title: t("boundsHint", possible) }, t("possible", possible)));
}

/** What stands beside a mean: the step that it stands for, how many searches were in vain; in place of none "never". */
const asideOf = (retriever, { name: metricName }) => { const said = cell(retriever).asides?.[metricName]; return said ? inWords(said) : null; };

function slicesTable() {
  const shownMetric = metric(), retrievers = columns(), several = compared().length > 1;
  const large = slices().filter((slice) => scored(slice, shownMetric) >= data.limits.few);
  const fields = [...new Set(large.map((slice) => slice.field))];
  if (!fields.length) return null;
  if (!fields.includes(state.field)) state.field = fields[0];
  const isOf = (slice) => slice.field === state.field, small = slices().filter(isOf).length - large.filter(isOf).length;
  const row = (slice) => {
    const leads = slice.leaders[shownMetric.name], winner = leads?.decided ? leads.best : null;
    return el("tr", {},
      el("th", { scope: "row" }, el("button.link", { onclick: () => showing({ slice: slice.key }) }, slice.value === null ? t("noValue") : breakable(String(slice.value)))),
      el("td.n", {}, grouped(scored(slice, shownMetric)), missing(slice.share?.[shownMetric.name]) ? null : el("span.interval", {}, t("asksShare", percent(slice.share[shownMetric.name])))),
      retrievers.map((retriever) => {
        const own = estimate(slice, retriever, shownMetric), { key, shown: mark } = markOf(slice, shownMetric, retriever);
        return el("td", { class: key },
          el("span.number", {}, mark, number(own?.value, shownMetric)),
          el("span.interval", {}, ends(own, shownMetric)));
      }),
      several ? el("td.decided", {}, winner ? strong(winner) : el("span.muted", {}, t(!foundNothing(slice) ? "notDecided" : foundElsewhere(slice) ? "allZero" : "noneFound"))) : null);
  };
  return el("section", { "aria-labelledby": "slices-title" },
    el("h2", { id: "slices-title" }, t("slices"), " ", el("small", {}, shownMetric.name)),
    tabs({ "aria-label": t("sliceField") }, fields.map((path) => [path, plain(fieldName(path))]), state.field, (chosen) => choosing({ field: chosen })),
    scrollingTable("slices-title",
      [el("th", { scope: "col" }, plain(fieldName(state.field))), el("th.n", { scope: "col" }, t("n")), retrieverHeads(retrievers),
        several ? el("th.decided", { scope: "col" }, t("sliceBest")) : null],
      el("tbody", {}, large.filter(isOf).map(row))),
    several ? el("p.legend", {}, t("slicesNote")) : null, small ? el("p.legend", {}, t(small === 1 ? "slicesSmall1" : "slicesSmall", small, data.limits.few)) : null, leftOut());
}
