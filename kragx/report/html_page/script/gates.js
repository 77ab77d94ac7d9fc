// Gates: what the numbers were held against, what failed first.

const GATES = 6; // that failed and are not folded away

function gatesSection() {
  const { gates } = data, failing = gates.filter(({ passed }) => !passed), passing = gates.filter(({ passed }) => passed);
  if (!gates.length) return null;
  const badge = failing.length ? el("span.badge.no", {}, t("gatesFailed", failing.length, gates.length)) : el("span.badge.yes", {}, t("gatesPassed", gates.length));
  return el("section.gates", { "aria-labelledby": "gates-title" }, el("h2", { id: "gates-title" }, t("gates"), " ", badge),
    failing.length ? el("ul", {}, failing.slice(0, GATES).map(gateLine)) : null,
    gatesFolded("gatesMore", failing.slice(GATES)), gatesFolded("gatesPassing", passing));
}

const gatesFolded = (key, gates) =>
  gates.length ? el("details", {}, el("summary", {}, t(key, gates.length)), el("ul", {}, gates.map(gateLine))) : null;

/** What a gate asks for, of whom, and what was found: the condition as it was written. */
function gateLine({ metric: asked, condition, match: matched, retriever, slice, said, passed }) {
  const within = [data.matches.length > 1 ? matched : null, slice ? `${fieldName(slice.field)}: ${slice.value}` : null].filter(Boolean);
  return el("li", {}, passed ? "✓ " : "✗ ", el("code.asked", { lang: "en" }, plain(`${asked} ${condition}`)), " · ", strong(retriever),
    within.length ? [" · ", name(within.join(" · "))] : null, el("p.muted.small", {}, inWords(said)));
}
