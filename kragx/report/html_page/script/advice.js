// What follows from the comparison, in the words of the page; kragx's own sentence where a kind is new.

const value_ = (shownValue) => number(shownValue, null);
const sliceOf = (v) => el("bdi", {}, sliceLabel(v));
const fewQuestions = ([path, slice, n]) => plain(`${fieldName(path)}: ${slice ?? t("noValue")} (${n})`);

/** The first ids of some questions, each to be opened. */
function idLinks(ids, most = 5) {
  const queries = new Map(data.queries.ids.map((id, query) => [id, query]));
  const links = ids.slice(0, most).map((id) => (queries.has(id) ? questionLink(queries.get(id), name(id)) : name(id)));
  return [...joined(links, ", "), ids.length > most ? ` +${ids.length - most}` : ""];
}

/** A link that opens a question. */
const questionLink = (query, ...text) => el("button.link", { onclick: () => { filter(EVERYTHING); openQuestion(query); } }, text);

/** The sentence of each kind, from the values of the recommendation. */
const ADVICE = {
  winner: (v) => phrase("advice_winner", strong(v.best), v.metric, value_(v.value), strong(v.next),
    `${signed(v.difference)} ${interval({ low: v.difference_low, high: v.difference_high }, null, signed)}`.trim(), whoFailed(), hasLeaks(positionOf(v.best)) ? t("whichLeaks") : ""),
  no_winner: (v) => (v.nothing_found ? phrase("advice_nothing", v.metric, whoFailed())
    : v.found_in ? phrase(v.deeper ? "advice_lower" : "advice_elsewhere", v.metric, v.found_in, value_(v.found), strong(v.found_by), whoFailed()) : v.best ? phrase("advice_undecided", v.metric, listed(v.shared), value_(v.value), tiedWith(v), rival(v)) : v.silent ? phrase(`advice_silent_${v.cost}`, v.metric, listed(v.without), grouped(v.silent)) : phrase(v.directed ? "advice_no_value" : "advice_no_winner", v.metric)),
  one_retriever: (v) => (v.failed?.length ? phrase("advice_only", listed(compared().map(retrieverName))) : phrase(v.earlier ? "advice_one_and_before" : "advice_one_retriever")),
  setting: () => t("advice_setting"),
  over_all: (v) => phrase("advice_over_all", strong(v.best), v.metric),
  equal: (v) => [phrase("advice_equal", joined(v.groups.map((names) => el("span", {}, listed(names))), "; ")),
    v.slower.map((own) => [" ", phrase("advice_cost", strong(own.slow), own.ratio.toFixed(1), strong(own.fast), duration(own.slow_seconds), duration(own.fast_seconds), own.metric)])],
  cost: (v) => phrase(v.tied ? "advice_cost_tied" : "advice_cost", strong(v.best), v.ratio.toFixed(1), strong(v.fastest), duration(v.best_seconds), duration(v.fastest_seconds), v.metric, standing().metrics[0]),
  price: (v) => phrase(`advice_price${v.tied ? "_tied" : ""}${v.dearer ? "" : "_less"}`, strong(v.best), v.ratio < 100 ? v.ratio.toFixed(1) : grouped(Math.round(v.ratio)), strong(v.other), value_(v.best_cost), value_(v.other_cost), v.metric, standing().metrics[0]),
  routing: (v) => phrase("advice_routing", sliceOf(v), strong(v.best), v.metric, plain(fieldName(v.field))),
  no_routing: (v) => phrase("advice_no_routing", v.fields.map((path) => plain(fieldName(path))).join(", "), v.metric),
  weak_slice: (v) => phrase("advice_weak_slice", strong(v.retriever), sliceOf(v), v.metric, value_(v.mean), v.n, value_(standing().overall.means[v.retriever]?.[v.metric]?.value)),
  small_slices: (v) => phrase("advice_small_slices", v.slices.map(fewQuestions).join(", "), data.limits.few),
  saturated: (v) => phrase("advice_saturated", v.metrics.join(", "), whoFailed()),
  unfound: (v) => phrase(compared().length > 1 ? "advice_unfound" : "advice_unfound_one", v.n, v.of, v.metric, idLinks(v.query_ids), whoFailed()),
  combination: (v) => phrase("advice_combination", v.metric, strong(v.best), v.query_ids.length, idLinks(v.query_ids)),
  reranking: (v) => phrase("advice_reranking", strong(v.retriever), v.far, value_(v.far_value), v.near, value_(v.near_value), value_(v.far_value - v.near_value)),
};

const tiedWith = (v) =>
  v.difference_low === null && v.p_adjusted === null ? t("advice_untested")
    : areAllShared(v) ? t("advice_each_other") : phrase("advice_tied", listed(behind(v.tied, v.shared)));

/** Whether all that tie with the best have its value, too. */
const areAllShared = ({ tied, shared }) => tied.every((other) => shared.includes(other));

/** Of retrievers that tie with the best those whose value is lower, if there are any. */
const behind = (tied, shared) => {
  const lower = tied.filter((other) => !shared.includes(other));
  return lower.length ? lower : tied;
};

const isFar = (v) => Boolean(v.many_more) || !missing(v.queries_needed);

/** Whether more questions would decide against the next best, or nothing differs. */
function rival(v) {
  if (isFar(v)) return t(`advice_needed${needed(v)}`, grouped(v.queries_needed ?? 0), grouped(v.queries_needed_at_most ?? 0), grouped(v.n));
  return v.difference === 0 && v.difference_low === 0 && v.difference_high === 0 ? phrase("advice_level", strong(v.next)) : "";
}

const needed = (v) => (v.n < data.limits.telling ? "_few" : !missing(v.queries_needed_at_most) ? (v.queries_needed === v.queries_needed_at_most ? "_about" : "") : missing(v.queries_needed) ? "_many" : "_more");

function adviceLine({ kind, supported, text, values }) {
  const other = values.metric && values.metric !== state.metric && kind !== "cost" && kind !== "price";
  return el("li", { class: supported ? null : "muted" }, ADVICE[kind] ? ADVICE[kind](values) : el("span", { lang: "en" }, plain(text)),
    other ? el("small.muted", {}, ` (${t("otherMetric", values.metric, state.metric)})`) : null);
}

// What helps most comes first; what stands in the verdict already, or says what is not there, last.
const USEFUL = ["over_all", "equal", "weak_slice", "undecided", "routing", "unfound", "combination", "reranking", "price", "cost", "saturated", "small_slices", "winner", "no_routing", "no_winner", "one_retriever", "setting"];
const UNFOLDED = 2;

/** Whether the head of the verdict says all of it: that the metric chosen decides nothing, and what would. */
const isOfVerdict = ({ metric: own, tied }) => own === state.metric && tied?.length > 0;

function advice() {
  const use = ({ kind, values }) => USEFUL.indexOf(kind === "no_winner" && values.best && isFar(values) ? "undecided" : kind);
  const told = ({ kind, values }) => kind === "no_winner" && isOfVerdict(values) && standing().overall.leaders[state.metric]?.tested;
  const lines = (standing()?.advice || []).filter((own) => !told(own)).sort((one, other) => use(one) - use(other)).map(adviceLine);
  if (!lines.length) return null;
  const rest = lines.splice(UNFOLDED);
  return el("div.advice", {}, el("h3", {}, t("advice")), el("ul", {}, lines),
    rest.length ? el("details", {}, el("summary", {}, t("adviceMore", rest.length)), el("ul", {}, rest)) : null);
}

/** The orders that another threshold turns round, of the metric chosen or of the others. */
function flips(chosen) {
  return (standing()?.flips || []).filter((flip) => (flip.metric === state.metric) === chosen).map((flip) => {
    const [better, worse, threshold] = flip.swapped.find((names) => names.slice(0, 2).includes(flip.leader)) || flip.swapped[0];
    return phrase("flip", strong(better), strong(worse), flip.metric, asWritten(flip.chosen), asWritten(threshold));
  });
}
