// The questions that the filters leave, as files made in the browser: nothing is asked of any server.

/** Save a text under a name. */
function save(filename, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: filename }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  say(t("saved", filename, nQuestions(filtered.length)));
}

const fileName = (ending) => `${(data.dataset.name || "kragx").normalize("NFC").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 60) || "kragx"}-${state.metric.replace(/[^\w.@-]+/g, "-")}.${ending}`;

/** The first rank of gold; null where none is found or it is not known. */
const foundRank = (retriever, query) => firstRank(retriever, query) || null;

/** By question the values of the fields that slices are made of. */
function fieldsOf() {
  const fields = new Map();
  for (const { field: path, value: own, rows } of slices()) for (const query of rows) fields.set(query, { ...fields.get(query), [fieldName(path)]: own });
  return (query) => fields.get(query) ?? {};
}

/** The table as it is seen: the chosen metric of the columns shown, each with rank and reason. */
function exportCsv() {
  const shown = columns(roomForColumns()), fields = [...new Set(slices().map((slice) => fieldName(slice.field)))], two = compared().length > 1, slicesOf = fieldsOf();
  const weights = data.queries.weights, head = ["query_id", "query", ...(weights ? ["weight"] : []), ...fields,
    ...shown.flatMap((retriever) => [state.metric, "rank", "reason"].map((what) => `${retrieverName(retriever)}: ${what}`)),
    ...(two ? [`${t("difference")}: ${retrieverName(state.a)} − ${retrieverName(state.b)}`] : [])];
  const lines = filtered.map((query) => {
    const own = slicesOf(query);
    return [data.queries.ids[query], data.queries.texts[query], ...(weights ? [weights[query]] : []), ...fields.map((path) => own[path]),
      ...shown.flatMap((retriever) => [value(retriever, query), foundRank(retriever, query), reasonText(reason(retriever, query))]),
      ...(two ? [lead(state.a, state.b, query)] : [])];
  });
  // Excel takes a file for UTF-8 by its mark.
  save(fileName("csv"), "text/csv;charset=utf-8", "\uFEFF" + [head, ...lines].map((line) => `${line.map(csvCell).join(",")}\n`).join(""));
}

// What spreadsheets take for a formula, as in kragx's own CSV files (kragx/data/formats/cells.py).
const FORMULA = /^'*(?:[\t\r\n]|[\s\u0000-\u001F\u0085\uFEFF\u200B]*[=+\-@＝＋－＠])/;
const NUMBER = /^\s*[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?$/;
const QUOTED = /[",;\u0000-\u001F\u0085\u2028\u2029]|^\s|\s$/;

function csvCell(entry) {
  if (missing(entry)) return "";
  if (typeof entry === "number") return String(entry);
  const text = String(entry).normalize("NFC"), safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The same questions with every metric, of every retriever of this matcher. */
function exportJson() {
  const slicesOf = fieldsOf();
  const questions = filtered.map((query) => ({
    query_id: data.queries.ids[query], query: data.queries.texts[query] ?? null, ...(data.queries.weights ? { weight: data.queries.weights[query] } : {}), slices: slicesOf(query),
    retrievers: Object.fromEntries(present().map((retriever) => [retrieverName(retriever), {
      metrics: Object.fromEntries(data.metrics.map((each) => [each.name, valueOf(each, retriever, query)])),
      rank: foundRank(retriever, query), reason: reason(retriever, query) || null,
      ...(leaksIn(retriever, query) ? { leaks: leaksIn(retriever, query).map(([at, document, kinds]) => ({ rank: at, document, kinds })) } : {}),
    }])),
  }));
  const { search, outcome, result, why } = state;
  const text = JSON.stringify({
    dataset: data.dataset, match: match().label, metric: state.metric, compared: [state.a, state.b].map(retrieverName),
    filters: { search, outcome, result, why, slice: slices().find(({ key }) => key === state.slice)?.label ?? null }, n: filtered.length, of: size(), questions,
  }, null, 1);
  save(fileName("json"), "application/json", text);
}

const exportButtons = () => [
  el("button", { id: "csv", title: t("exportCsv"), onclick: exportCsv }, "CSV"), el("button", { id: "json", title: t("exportJson"), onclick: exportJson }, "JSON")];
