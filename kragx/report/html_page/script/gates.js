// Gates: what the numbers were held against, what failed first.

function gatesSection() {
  const { parts, passed } = data.gates;
  if (!parts.length && !passed.length) return null;
  return el("section.gates", { "aria-labelledby": "gates-title" }, el("h2", { id: "gates-title" }, t("gates")), parts.map((part) => partNodes("gates-title", part)),
    passed.length ? el("details", { ontoggle: scrollHints }, el("summary", {}, t("gatesPassing", passed[0].rows.length)), partNodes("gates-title", passed[0])) : null);
}
