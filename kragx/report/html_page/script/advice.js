// What the comparison recommends, in the words of the page; kragx's own sentence where a kind is new.

const who = (named) => el("strong.retriever", {}, name(named));
const several = (names) => names.flatMap((each, at) => [at ? ", " : "", who(each)]);
const value_ = (value) => number(value, null);
const lag = (v) => (v.difference_low === null ? signed(v.difference) : `${signed(v.difference)} ${signedRange(v.difference_low, v.difference_high)}`);
const sliceName = (v) => el("bdi", {}, plain(`${short(v.field)}: ${v.value ?? t("noValue")}`));
const wholeMean = (v) => value_(standing().overall.means[v.retriever]?.[v.metric]?.value);
const more = (v) => v.queries_needed !== null && v.queries_needed > v.n;
const level = (v) => v.difference === 0 && v.difference_low === 0 && v.difference_high === 0;

/** The first ids of some questions, each to be opened. */
function idLinks(ids, most = 5) {
  const at = new Map(data.queries.ids.map((id, query) => [id, query]));
  const links = ids.slice(0, most).flatMap((id, i) => [i ? ", " : "", at.has(id) ? questionLink(at.get(id), name(id)) : name(id)]);
  return ids.length > most ? [...links, ` +${ids.length - most}`] : links;
}

/** A link that opens a question. */
const questionLink = (query, ...said) => el("button.link", { onclick: () => { filter({ ...EVERYTHING }); openQuestion(query); } }, said);

const ADVICE = {
  en: {
    winner: (v) => ["Use ", who(v.best), `: in ${v.metric} it is better than every other retriever (${value_(v.value)}). The next is `, who(v.next), `; the lead is ${lag(v)}.`],
    no_winner: (v) => !v.best ? [`${v.metric} has no direction or no value, so it does not say which retriever is best.`]
      : ["Which retriever is best in ", v.metric, " is not decided: ", who(v.best), ` has the best value, ${value_(v.value)}, but `, v.difference_low === null && v.p_adjusted === null ? "it is a number of the whole run, which is not tested." : ["cannot be told from ", several(v.tied), "."],
        more(v) ? [" If the difference to ", who(v.next), ` is as large as it seems (${signed(v.difference)}), about ${grouped(v.queries_needed)} questions would show it; there are ${grouped(v.n)}.`] : level(v) ? [" ", who(v.next), " has the same value for every question."] : ""],
    one_retriever: () => ["There is one retriever, and so nothing to choose between; add another to compare."],
    cost: (v) => v.tied ? ["Of those that cannot be told apart, ", who(v.fastest), ` is the fastest: ${duration(v.fastest_seconds)} a question against ${duration(v.best_seconds)} of `, who(v.best), ` (${v.ratio.toFixed(1)} times less, ${v.metric}).`]
      : [who(v.best), ` takes ${v.ratio.toFixed(1)} times as long as `, who(v.fastest), `: ${duration(v.best_seconds)} a question against ${duration(v.fastest_seconds)} (${v.metric}).`],
    routing: (v) => ["For ", sliceName(v), " ", who(v.best), ` is better than every other retriever in ${v.metric}, unlike over all questions. Consider choosing the retriever by ${plain(short(v.field))}.`],
    no_routing: (v) => [`The data does not support choosing a retriever by ${v.fields.map((each) => plain(short(each))).join(", ")}: nowhere is another one clearly best in ${v.metric}.`],
    weak_slice: (v) => [who(v.retriever), " is clearly worse for ", sliceName(v), `: ${v.metric} is ${value_(v.mean)} on its ${v.n} questions, against ${wholeMean(v)} over all. Look there first.`],
    small_slices: (v) => [`Too few questions to say anything about ${v.slices.map(([field, value, n]) => plain(`${short(field)}: ${value ?? t("noValue")} (${n})`)).join(", ")}; add questions until each has ${data.limits.few} or more.`],
    saturated: (v) => [`Every retriever has nearly the highest value in ${v.metrics.join(", ")}: harder questions or a smaller k would tell them apart.`],
    unfound: (v) => [`${v.query_ids.length} of ${v.n} questions have ${v.metric} = 0 ${present().length > 1 ? "for every retriever" : "for the retriever"} (`, idLinks(v.query_ids), "): look at their gold and at the corpus before tuning a retriever."],
    combination: (v) => [`Of the questions with ${v.metric} = 0 for `, who(v.best), `, another retriever finds something for ${v.query_ids.length} (`, idLinks(v.query_ids), "); a combination could gain those at most."],
    reranking: (v) => [who(v.retriever), ` finds more gold further down: ${v.far} is ${value_(v.far_value)}, ${v.near} is ${value_(v.near_value)}. Reranking could raise ${v.near} by ${value_(v.far_value - v.near_value)} at most.`],
  },
  ko: {
    winner: (v) => [who(v.best), ` 사용을 권합니다. ${v.metric} 기준으로 다른 모든 검색기보다 낫습니다(${value_(v.value)}). 다음은 `, who(v.next), `이며 차이는 ${lag(v)}입니다.`],
    no_winner: (v) => !v.best ? [`${v.metric}: 좋고 나쁨이 없거나 값이 없어 어느 검색기가 나은지 알 수 없습니다.`]
      : [`${v.metric} 기준으로 어느 검색기가 가장 나은지 판단할 수 없습니다. 값이 가장 좋은 검색기는 `, who(v.best), `(${value_(v.value)})이지만, `, v.difference_low === null && v.p_adjusted === null ? "실행 전체에서 나온 수치라 검정하지 않습니다." : ["다음 검색기와 구별되지 않습니다: ", several(v.tied), "."],
        more(v) ? [" ", who(v.next), ` 대비 차이가 지금 보이는 만큼(${signed(v.difference)})이라면, 이를 확인하는 데 질문이 약 ${grouped(v.queries_needed)}개 필요합니다(현재 ${grouped(v.n)}개).`] : level(v) ? [" ", who(v.next), " 쪽도 모든 질문에서 값이 같습니다."] : ""],
    one_retriever: () => ["검색기가 하나뿐이라 고를 것이 없습니다. 하나를 더 추가하면 비교할 수 있습니다."],
    cost: (v) => v.tied ? ["구별되지 않는 검색기 가운데 가장 빠른 것은 ", who(v.fastest), `입니다. 질문당 ${duration(v.fastest_seconds)}가 걸리며, `, who(v.best), ` 쪽은 ${duration(v.best_seconds)}로 ${v.ratio.toFixed(1)}배입니다(${v.metric}).`]
      : [who(v.best), " 쪽은 ", who(v.fastest), `보다 ${v.ratio.toFixed(1)}배 오래 걸립니다. 질문당 ${duration(v.best_seconds)} 대 ${duration(v.fastest_seconds)}(${v.metric}).`],
    routing: (v) => [sliceName(v), ` 질문에서는 전체와 달리 ${v.metric} 기준으로 `, who(v.best), ` 쪽이 다른 모든 검색기보다 낫습니다. ${plain(short(v.field))}에 따라 검색기를 고르는 것을 고려해 보세요.`],
    no_routing: (v) => [`${v.fields.map((each) => plain(short(each))).join(", ")}에 따라 검색기를 고를 근거는 없습니다. 어느 유형에서도 ${v.metric} 기준으로 다른 검색기가 확실히 1위는 아닙니다.`],
    weak_slice: (v) => [who(v.retriever), ": ", sliceName(v), ` 질문에서 뚜렷하게 약합니다. 이 질문 ${v.n}개의 ${v.metric} 평균은 ${value_(v.mean)}, 전체는 ${wholeMean(v)}입니다. 여기부터 살펴보세요.`],
    small_slices: (v) => [`질문이 너무 적어 판단할 수 없는 유형: ${v.slices.map(([field, value, n]) => plain(`${short(field)}: ${value ?? t("noValue")} (${n})`)).join(", ")}. 각각 ${data.limits.few}개 이상이 되도록 질문을 추가하세요.`],
    saturated: (v) => [`모든 검색기의 값이 거의 최고입니다: ${v.metrics.join(", ")}. 더 어려운 질문이나 더 작은 k를 써야 구별됩니다.`],
    unfound: (v) => [`질문 ${v.n}개 중 ${v.query_ids.length}개는 ${present().length > 1 ? "모든 검색기에서 " : ""}${v.metric} = 0입니다(`, idLinks(v.query_ids), "). 검색기를 조정하기 전에 이 질문들의 정답과 말뭉치를 먼저 확인하세요."],
    combination: (v) => [who(v.best), `: ${v.metric} = 0인 질문 가운데 ${v.query_ids.length}개는 다른 검색기가 찾습니다(`, idLinks(v.query_ids), "). 검색기를 결합하면 많아야 그만큼 더 찾을 수 있습니다."],
    reranking: (v) => [who(v.retriever), `: 정답이 더 아래 순위에도 있습니다. ${v.far} ${value_(v.far_value)}, ${v.near} ${value_(v.near_value)}. 재순위화로 ${v.near} 값을 최대 ${value_(v.far_value - v.near_value)} 높일 수 있습니다.`],
  },
};

// What helps most comes first; what stands in the verdict already, or says what is not there, last.
const USEFUL = ["weak_slice", "undecided", "routing", "unfound", "combination", "reranking", "cost", "saturated", "small_slices", "winner", "no_routing", "no_winner", "one_retriever"];
const UNFOLDED = 2;

function adviceLine(each) {
  const own = ADVICE[state.language][each.kind];
  const of = each.values.metric, other = of && of !== state.metric && each.kind !== "cost";
  return el("li", { class: each.supported ? null : "muted" }, own ? own(each.values) : el("span", { lang: "en" }, plain(each.text)),
    other ? el("small.muted", {}, ` (${t("otherMetric", of, state.metric)})`) : null);
}

function advice() {
  const use = (each) => USEFUL.indexOf(each.kind === "no_winner" && each.values.best && more(each.values) ? "undecided" : each.kind);
  const listed = [...(standing()?.advice || [])].sort((one, other) => use(one) - use(other));
  if (!listed.length) return null;
  const first = listed.slice(0, UNFOLDED), rest = listed.slice(UNFOLDED);
  return el("div.advice", {}, el("h3", {}, t("advice")), el("ul", {}, first.map(adviceLine)),
    rest.length ? el("details", {}, el("summary", {}, t("adviceMore", rest.length)), el("ul", {}, rest.map(adviceLine))) : null);
}

// -- where the order depends on the threshold ----------------------------------------------------

/** The order that another threshold turns round, of the metric chosen or of another. */
function flips(chosen) {
  return (standing()?.flips || []).filter((each) => (each.metric === state.metric) === chosen).map((each) => {
    const [better, worse, at] = each.swapped.find(([one, other]) => one === each.leader || other === each.leader) || each.swapped[0];
    return phrase("flip", who(better), who(worse), each.metric, number_(each.chosen), number_(at));
  });
}
