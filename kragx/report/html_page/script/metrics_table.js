// The tables of retrievers: metrics down, and the slices of one metric; retrievers across.

const columnHead = (retriever) => [swatch(retriever), "\u00a0", breakable(retrieverName(retriever))];

/** A metric's name, to be chosen for the whole page. */
const metricHead = (each) => [
  el("button.link", { id: `by-${each.name}`, title: `${meaning(each)} ${t("choose", each.name)}`, "aria-pressed": String(each.name === state.metric), onclick: () => choosing({ metric: each.name }) }, breakable(each.name)),
  each.higher === false ? el("small.muted", {}, t("lower")) : null];

/** What a metric says, in a sentence, which the metric brings along. */
const meaning = (each) => plainText(each.meaning).replace("{}", reach(each) || t("reach_all"));

function metricsTable() {
  const retrievers = state.retrievers ? columns() : ranked(), [ofMatches, ofDocuments] = [false, true].map((wanted) => shownMetrics().filter((each) => each.of_documents === wanted).map((each) => each.name));
  const table = chosenOf(standing().means, { retriever: retrievers.map(retrieverName), metric: [...ofMatches, ...ofDocuments] });
  return el("section", { "aria-labelledby": "metrics-title" },
    el("h2", { id: "metrics-title" }, t("metrics")),
    // Many retrievers stand below each other.
    retrievers.length > LADDER ? tableNodes("metrics-title", turned(table, t("retriever"))) : tableNodes("metrics-title", table, ofMatches.length && ofDocuments.length ? { [ofDocuments[0]]: t("ofDocuments") } : {}),
    el("details.meanings", {}, el("summary", {}, t("meanings")), el("dl", {}, data.metrics.map((each) => el("div", {}, el("dt", {}, each.name), el("dd", {}, meaning(each)))))));
}

/** The slices of one field: each one's row of the chosen metric, and who is best there. */
function slicesTable() {
  const fields = standing().fields, { field: path, places, n_small: small, best, means } = fields.find((own) => own.field === state.field) ?? fields[0] ?? {};
  if (!path) return null;
  const rowOf = ({ rows }) => rows.find(([head]) => plainText(head.text) === state.metric), names = { retriever: columns().map(retrieverName) };
  const bestOf = rowOf(best), several = compared().length > 1;
  const link = (place) => el("button.link", { onclick: () => showing({ slice: String(places[place]) }) }, breakable(plainText(best.columns[place + 1])));
  const table = bestOf && chosenOf({
    columns: [fieldName(path), ...means[0].columns.slice(1), ...(several ? [t("sliceBest")] : [])], words: 1, note: best.note,
    rows: means.map((own, place) => [{ text: "", nodes: link(place) }, ...rowOf(own).slice(1), ...(several ? [bestOf[place + 1]] : [])]) }, names);
  return el("section", { "aria-labelledby": "slices-title" },
    el("h2", { id: "slices-title" }, t("slices"), " ", el("small", {}, state.metric)),
    tabs({ "aria-label": t("sliceField") }, fields.map((own) => [own.field, plain(fieldName(own.field))]), path, (chosen) => choosing({ field: chosen })),
    table ? tableNodes("slices-title", table) : null,
    small ? el("p.legend", {}, t(small === 1 ? "slicesSmall1" : "slicesSmall", small, data.limits.few)) : null, leftOut());
}
