// What the page knows and what is chosen in it.

let data = null; // the index
const state = {
  language: "en", theme: null, match: 0, metric: null, a: 0, b: 0, picked: false, curve: null, field: null,
  search: "", outcome: "all", result: "any", slice: "", why: "", sort: { by: "order", down: false },
  selected: 0, open: null, gold: null,
};

const match = () => data.matches[state.match];
const cell = (retriever) => data.cells[state.match][retriever];
const metric = () => data.metrics.find((each) => each.name === state.metric);
const standing = () => data.standings[match().name];
const present = () => data.retrievers.map((_, at) => at).filter((at) => cell(at));
const size = () => data.queries.ids.length;

/** Metrics that have a value for single questions under this matcher. */
const perQuery = () => data.metrics.filter((each) => present().some((at) => cell(at).values[each.name]));

const value = (retriever, query) => cell(retriever)?.values[state.metric]?.[query] ?? null;

/** How much better `a` is than `b` on a question; null where either has no value. */
function lead(a, b, query) {
  const one = value(a, query), other = value(b, query);
  if (one === null || other === null) return null;
  const difference = one - other;
  if (Math.abs(difference) <= 1e-9) return 0;
  return metric().higher === false ? -difference : difference;
}

/** The first rank at which a question's gold is found: 0 if it is not, null if that is not known. */
function firstRank(retriever, query) {
  const ranks = cell(retriever)?.first[query];
  if (!ranks) return 0;
  const hits = ranks.filter((rank) => rank > 0);
  if (hits.length) return Math.min(...hits);
  return ranks.includes(null) ? null : 0;
}

/** The rank at which the metric stops reading a list; null if it reads all of it. */
function cutOf(retriever, query) {
  const of = metric();
  if (!of?.budget) return of?.k ?? null;
  return cell(retriever).cuts[of.name]?.[query] ?? null;
}

const reasons = new Map();

/** Why a retriever finds no gold where the metric looks: a key of the words "why_...". */
function reason(retriever, query) {
  const key = `${state.match}/${retriever}/${metric()?.budget ? metric().name : metric()?.k}`;
  if (!reasons.has(key)) reasons.set(key, data.queries.ids.map((_, at) => found(retriever, at, cutOf(retriever, at))));
  return reasons.get(key)[query];
}

/** Where a metric looks, in words: "its first 5 documents"; empty if it reads all of the list. */
function reach({ k, budget } = metric()) {
  if (budget) return t(`reach_${budget.unit}`, grouped(budget.n));
  return k === null ? "" : k === 1 ? t("reach_1") : t("reach", grouped(k));
}

/** A reason in words. */
function whyText(why) {
  const { threshold, near, top } = match();
  if (why === "late") return t("why_late", reach());
  if (why === "near") return t(top > 1 ? "why_nearGrade" : "why_near", number_(near), number_(threshold));
  if (why === "nothing" && threshold !== null && near > threshold / 2 + 1e-9) return t("why_far", number_(near));
  return t(`why_${why}`);
}

/** The same in two or three. */
const whyShort = (why) => (why === "late" && metric().k === null ? t("short_beyond") : t(`short_${why}`, metric().k));

/** The limits of a reason, for those who ask for them. */
function whyHint(why) {
  const { alike, similar } = data.limits, percent = (share) => number_(share * 100), { threshold, near } = match();
  if (why === "alike") return t("hint_alike", percent(alike));
  if (why === "similar") return t("hint_similar", percent(similar), percent(alike));
  if (why === "nothing") return [threshold === null ? "" : t("hint_below", number_(near)), t("hint_nothing", percent(similar))].filter(Boolean).join(" ");
  return why === "kin" ? t("hint_kin") : whyText(why);
}

/** The reason for one question, with the rank or share that it rests on. */
function whyExactly(retriever, query) {
  const why = reason(retriever, query), of = cell(retriever);
  if (why === "kin") return t("why_kinAt", of.kin[query][0]);
  if (why === "similar" || why === "alike") return t(`why_${why}At`, Math.round(of.alike[query][1] * 100), of.alike[query][0]);
  return whyText(why);
}

function found(retriever, query, k) {
  const of = cell(retriever);
  if (!of || !of.first[query]) return "";
  const gold = of.first[query].map((rank, at) => [rank, of.best[query][2 * at]]).filter(([rank]) => rank !== -1);
  if (!gold.length) return "nogold";
  const status = { m: "missing", f: "failed", e: "empty" }[of.status[query]];
  if (status) return status;
  const rank = firstRank(retriever, query);
  if (rank) return k === null || rank <= k ? "ok" : "late";
  if (rank === null) return "unknown";
  const threshold = match().threshold;
  if (threshold !== null && Math.max(...gold.map(([, score]) => score ?? 0)) >= match().near) return "near";
  const share = of.alike[query]?.[1] ?? null, { alike, similar } = data.limits;
  if (share >= alike) return "alike";
  if (of.kin[query]) return "kin";
  if (share >= similar) return "similar";
  return share === null && threshold === null ? "notgold" : "nothing";
}

const failed = (retriever, query) => !["ok", "nogold", ""].includes(reason(retriever, query));

/** Retrievers as columns; where there is room for one or two, the leader comes first. */
const columns = () => (narrow() ? [...new Set([leader(), ...present()])] : present());

/** The retriever that leads the metric, by position; by its mean where it is not compared. */
function leader() {
  const of = standing()?.overall.leaders[state.metric];
  if (of) return data.retrievers.indexOf(of.best);
  const sense = metric().higher === false ? -1 : 1;
  const mean = (at) => (cell(at).mean[state.metric] ?? null) === null ? -Infinity : sense * cell(at).mean[state.metric];
  return present().reduce((one, other) => (mean(other) > mean(one) ? other : one));
}

/** What the statistics say of a retriever: {value, low, high, n}. */
function estimate(view, retriever, metricName) {
  return view?.means[data.retrievers[retriever]]?.[metricName] ?? null;
}

// -- texts -----------------------------------------------------------------------------------

const opened = new Map();

/** A block, inflated; the latest ones are kept. */
async function opening(id) {
  if (!opened.has(id)) {
    if (opened.size > 60) opened.delete(opened.keys().next().value);
    opened.set(id, unpacked(block(id)));
  }
  return opened.get(id);
}

async function detailOf(query) {
  const part = await opening(`detail-${Math.floor(query / data.per_block)}`);
  return part[query % data.per_block];
}

/** Texts by their numbers: {text, length} with the length that it had before it was cut. */
async function textsOf(numbers) {
  const texts = new Map();
  for (const at of new Set(numbers)) {
    if (at < 0) continue;
    let low = 0, high = data.text_starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (data.text_starts[middle] <= at) low = middle;
      else high = middle - 1;
    }
    const text = (await opening(`texts-${low}`))[at - data.text_starts[low]];
    texts.set(at, Array.isArray(text) ? { text: text[0], length: text[1] } : { text, length: text.length });
  }
  return texts;
}
