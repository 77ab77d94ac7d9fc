// What follows from the comparison.

/** A link that opens a question. */
const questionLink = (query, ...text) => el("button.link", { onclick: () => { filter(EVERYTHING); openQuestion(query); } }, text);

function adviceLine({ text, supported, kind, metric: own }) {
  const isOfOther = own && own !== state.metric && kind !== "cost";
  return el("li", { class: supported ? null : "muted" }, textNodes(text), isOfOther ? el("small.muted", {}, ` (${t("otherMetric", own, state.metric)})`) : null);
}

// What helps most comes first; what stands in the verdict already, or says what is not there, last.
const USEFUL = ["over_all", "weak_slice", "routing", "unfound", "reranking", "cost", "winner", "no_winner", "one_retriever", "setting"];
const UNFOLDED = 2;

function advice() {
  const isVerdict = ({ kind, metric: own }) => ["winner", "no_winner", "one_retriever"].includes(kind) && [null, state.metric].includes(own);
  const lines = standing().advice.filter((own) => !isVerdict(own)).sort((one, other) => USEFUL.indexOf(one.kind) - USEFUL.indexOf(other.kind)).map(adviceLine);
  if (!lines.length) return null;
  const rest = lines.splice(UNFOLDED);
  return el("div.advice", {}, el("h3", {}, t("advice")), el("ul", {}, lines),
    rest.length ? el("details", {}, el("summary", {}, t("adviceMore", rest.length)), el("ul", {}, rest)) : null);
}
