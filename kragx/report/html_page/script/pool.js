// A judged pool: what the gold is where a judge made it, how deep, how much of it is known.

function poolSection() {
  const { pool_table: table, pool_facts: facts, pool_note: note } = match();
  if (!table) return null;
  return el("section.pool", { "aria-labelledby": "pool-title" },
    el("h2", { id: "pool-title" }, t("pool")),
    el("p.muted", {}, textNodes(note)),
    el("dl.facts", {}, facts.map(([term, text]) => el("div", {}, el("dt", {}, textNodes(term)), el("dd", {}, textNodes(text))))),
    tableNodes("pool-title", chosenOf(table, { retriever: ranked().map(retrieverName), metric: [state.metric] })));
}
