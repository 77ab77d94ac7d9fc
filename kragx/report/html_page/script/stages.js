// Stages of chains: where the gold is lost, retriever by retriever and step by step.

const LINKED = 6; // questions that stand beside a loss

function stagesSection() {
  const { tables, retrievers: all } = data.losses[match().name];
  if (!all.length) return null;
  return el("section.stages", { "aria-labelledby": "stages-title" }, el("h2", { id: "stages-title" }, t("stages")), tables.map((table) => partNodes("stages-title", table)),
    all.map(({ retriever, summary, parts, lost }, place) => el("details", { open: all.length <= 3 && place === 0, ontoggle: scrollHints },
      el("summary", {}, strong(retriever), ": ", textNodes(summary)), parts.map((part) => partNodes("stages-title", part)),
      lost.length ? el("ul.lost-gold", {}, lost.map(({ n, text, query_ids: ids }) => el("li", {}, el("strong", {}, grouped(n)), " · ", textNodes(text), ": ", questionLinks(ids)))) : null)));
}

function questionLinks(ids) {
  const held = ids.filter((id) => data.queries.ids.includes(id)).slice(0, LINKED), more = ids.length - held.length;
  return [joined(held.map((id) => el("button.link", { onclick: () => openQuestion(data.queries.ids.indexOf(id)) }, breakable(id))), ", "), more ? ` ${t("andMore", grouped(more))}` : null];
}
