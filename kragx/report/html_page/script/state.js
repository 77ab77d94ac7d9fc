// What the page knows and what is chosen in it. Retrievers and questions are named by position.

let data = null; // the index
const EVERYTHING = { search: "", outcome: "all", result: "any", slice: "", why: "" };
const state = {
  language: "en", theme: null, match: 0, metric: null, a: 0, b: 0, picked: false, looked: {}, lists: [], curve: null, field: null,
  retrievers: null, metrics: null, choosing: false, // columns that the reader chose; null for the best, and for all
  ...EVERYTHING, sort: { by: "order", down: false }, selected: 0, open: null, gold: null,
};

const match = () => data.matches[state.match];
const cell = (retriever) => data.cells[state.match][retriever];
const metric = () => data.metrics.find(({ name: metricName }) => metricName === state.metric);
const standing = () => data.standings[match().name];
const size = () => data.queries.ids.length;
/** How many questions there are, though the page may hold only some. */
const total = () => data.queries.sample?.n ?? size();
const questions = () => data.queries.ids.keys();
const isUnanswerable = (query) => (data.marked ??= new Set(data.queries.unanswerable)).has(query);
/** So many asks, as they are written. */
const nAsks = (n) => t(n === "1" ? "asks1" : "asks", n);
/** Of how many asks the numbers are; empty where all questions weigh alike. */
function asksText() {
  const asks = standing()?.n_asks;
  if (!asks) return "";
  return ` · ${asks < standing().n_queries ? t("weightsSum", asWritten(asks)) : nAsks(grouped(asks))}`; // shares are no asks
}
const asksOf = (queries) => queries.reduce((sum, query) => sum + data.queries.weights[query], 0);
/** Which share of the asks of some questions others of them stand for; empty likewise. */
const asksShare = (queries, among) => (data.queries.weights && asksOf(among) ? ` (${t("asksShare", percent(asksOf(queries) / asksOf(among)))})` : "");
const retrieverName = (retriever) => data.retrievers[retriever];
const positionOf = (named) => data.retrievers.indexOf(named);
const fieldName = (path) => path.replace(/^metadata\./, "");

/** The retrievers that have results under this matcher. */
const present = () => [...data.retrievers.keys()].filter(cell);

/** On how many questions a retriever failed; null where it did not. */
const failuresOf = (retriever) => (standing()?.failures || []).find(({ retriever: failed }) => failed === retrieverName(retriever)) ?? null;
const isCompared = (retriever) => failuresOf(retriever)?.tolerated !== false;

/** The retrievers whose failures are no more than is tolerated: others are no result. */
const compared = () => present().filter(isCompared);
const lost = () => present().filter((retriever) => !isCompared(retriever));

/** The retriever whose list stands on a side, `a` or `b`: one that is no result can be looked at there. */
const sideOf = (side) => state.looked[side] ?? state[side];

/** A phone: figures are drawn smaller, so that their letters are not. */
const narrow = () => window.innerWidth < 640;

/** The slices of the comparison, each with a key and a label. */
const slices = () => (standing()?.slices || []).map((slice, position) => ({ ...slice, key: String(position), label: sliceLabel(slice) }));
const sliceLabel = ({ field: path, value }) => plain(`${fieldName(path)}: ${value ?? t("noValue")}`);

const mean = (retriever, { name: metricName } = metric()) => cell(retriever).mean[metricName] ?? null;

/** The mean as people read it; of what must not be found, where some is not known, between which values it lies. */
function meanText(retriever, each = metric()) {
  const bounds = each.exact && cell(retriever).bounds[each.name];
  return bounds ? t("range", number(bounds[0], each), number(bounds[1], each)) : number(mean(retriever, each), each);
}

/** The value of a list; none where the retriever failed, as what a failure scores is no value of it. */
const value = (retriever, query) => valueOf(metric(), retriever, query);
const valueOf = (each, retriever, query) => (hasFailed(retriever, query, each) ? null : cell(retriever)?.values[each.name]?.[query] ?? null);
const hasFailed = (retriever, query, each = metric()) => cell(retriever)?.status[query] === "f" && !each.of_documents;
const valueText = (retriever, query) => (hasFailed(retriever, query) ? t("short_failed") : number(value(retriever, query), metric()));

/** What the statistics say of a retriever; its mean alone where it is not compared. */
function estimate(retriever, each = metric()) {
  const [own, low, high, ends] = standing()?.estimates[retrieverName(retriever)]?.[each.name] ?? [mean(retriever, each), null, null, ""];
  return { value: own, low, high, ends };
}

const verdictOf = () => standing().verdicts[state.metric] ?? standing().verdicts[""];

/** How much better `a` is than `b` on a question; null where either has no value. */
function lead(a, b, query) {
  const values = [value(a, query), value(b, query)];
  if (values.includes(null)) return null;
  const difference = values[0] - values[1];
  if (Math.abs(difference) <= 1e-9) return 0;
  return metric().higher === false ? -difference : difference;
}

/** The retriever that leads the metric; by its mean where it is not compared. */
function leader() {
  const { best: leads } = verdictOf() ?? {};
  if (leads) return positionOf(leads);
  const sense = metric().higher === false ? -1 : 1;
  const goodness = (retriever) => (mean(retriever) === null ? -Infinity : sense * mean(retriever));
  return (compared().length ? compared() : present()).reduce((best, retriever) => (goodness(retriever) > goodness(best) ? retriever : best));
}

/** By question the first rank of each gold item in the list that the metric is about; of searches the step. */
const ranksOf = (retriever) => (metric()?.list ? cell(retriever)?.ranks?.[metric().list] : null) ?? cell(retriever)?.first;
const isOfSteps = () => metric()?.list === "steps";

/** The first rank at which a question's gold is found: 0 if it is not, null if that is not known. */
function firstRank(retriever, query) {
  const ranks = ranksOf(retriever)?.[query];
  if (!ranks) return 0;
  const hits = ranks.filter((rank) => rank > 0);
  if (hits.length) return Math.min(...hits);
  return ranks.includes(null) ? null : 0;
}

/** The rank at which the metric stops reading a list; null if it reads all of it. */
function cutOf(retriever, query) {
  const { name: metricName, k, budget, list } = metric();
  if (list && budget) return null;
  return budget ? cell(retriever).cuts[metricName]?.[query] ?? null : k;
}

/** A gold item's highest score in a list, and its rank: {score, rank}. */
const closest = (retriever, query, item) => {
  const [score, rank] = cell(retriever).best[query]?.slice(2 * item, 2 * item + 2) ?? [];
  return { score, rank };
};

// -- texts -----------------------------------------------------------------------------------

/** What a compressed block holds. */
async function unpacked(base64) {
  const letters = atob(base64), bytes = new Uint8Array(letters.length);
  for (let position = 0; position < letters.length; position += 1) bytes[position] = letters.charCodeAt(position);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const opened = new Map();

/** A block, inflated; the latest ones are kept. */
async function opening(id) {
  if (!opened.has(id)) {
    if (opened.size > 60) opened.delete(opened.keys().next().value);
    opened.set(id, unpacked(byId(id).textContent));
  }
  return opened.get(id);
}

async function detailOf(query) {
  const block = await opening(`detail-${Math.floor(query / data.per_block)}`);
  return block[query % data.per_block];
}

/** Texts by their numbers. */
async function textsOf(numbers, kind = "texts") {
  const texts = new Map(), starts = data.starts[kind];
  for (const number of new Set(numbers)) {
    if (number < 0) continue;
    const block = starts.filter((start) => start <= number).length - 1;
    texts.set(number, (await opening(`${kind}-${block}`))[number - starts[block]]);
  }
  return texts;
}
