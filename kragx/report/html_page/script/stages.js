// Stages of chains: where the gold is lost, retriever by retriever and step by step.

const LOSSES = ["never_retrieved", "fused_away", "cut", "lowered", "always_low", "unread", "failed", "missing"];
const LINKED = 6; // questions that stand beside a loss

function stagesSection() {
  const all = data.losses[match().name] || [];
  if (!all.length) return null;
  const known = all.filter(({ stages }) => stages.length), depths = [...new Set(known.map(({ k }) => k))], unsaid = all.filter(({ stages }) => !stages.length);
  return el("section.stages", { "aria-labelledby": "stages-title" },
    el("h2", { id: "stages-title" }, t("stages"), depths.filter(isDeep).map((k) => [" ", el("small", {}, t("stagesWithin", k))])),
    depths.map((k) => reasonsTable(known.filter((losses) => losses.k === k))),
    known.map((losses, position) => el("details", { open: known.length <= 3 && position === 0, ontoggle: scrollHints },
      el("summary", {}, strong(losses.retriever), ": ", t("stagesOf", losses.stages.filter(({ name: own }) => own !== "answer").length)), stageTable(losses), lostList(losses),
      losses.remarks.map((text) => el("p.legend", {}, inWords(text))))),
    depths.map((k) => el("p.legend", {}, isDeep(k) ? t("stagesNote", k) : t("stagesNoteSearches"))),
    unsaid.map(({ retriever, remarks }) => el("p.legend", {}, strong(retriever), ": ", joined(remarks.map(inWords), "; "))));
}

/** Whether an answer is looked at to some depth; that of somebody who searches is what was read. */
const isDeep = (k) => k !== null;

/** A table in a box that scrolls sideways. */
const stageBox = (label, head, rows) => [
  el("p.scroll-hint", {}, t("scrollHint")),
  el("div.scroll", { tabindex: 0, role: "region", "aria-label": label }, el("table.metrics", { "aria-label": label },
    el("thead", {}, el("tr", {}, head.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows))),
];

const lossText = (reason, k) => t(`lost_${reason}`, k);

/** Retrievers below one another, the reasons for which they lose gold across. */
function reasonsTable(known) {
  const { k } = known[0], reasons = LOSSES.filter((reason) => known.some(({ items }) => items.some((item) => item.reason === reason)));
  const row = ({ retriever, n_gold: gold, n_found: found, items }) => el("tr", {},
    el("th", { scope: "row" }, swatch(positionOf(retriever)), "\u00a0", breakable(retriever)),
    shareCell(found, gold), reasons.map((reason) => shareCell(items.filter((item) => item.reason === reason).length, gold)), el("td", {}, el("span.number", {}, grouped(gold))));
  return stageBox(t("stages"), [t("retrieved"), isDeep(k) ? t("stagesFound", k) : t("stagesReached"), ...reasons.map((reason) => lossText(reason, k)), t("stagesGold")], known.map(row));
}

const shareCell = (part, whole) => el("td", {}, el("span.number", {}, grouped(part)),
  el("span.interval", {}, whole ? `${percent(part / whole)}%` : "–"));

/** The stages of one retriever: what is behind each, and what it does to the gold that reached it. */
function stageTable({ retriever, stages, k }) {
  const metrics = Object.keys(stages[0].means);
  const row = (stage) => el("tr", {},
    el("th", { scope: "row" }, stageName(stage.name, k), el("small.muted", { style: { display: "block" } }, stage.inputs.length ? ["← ", joined(stage.inputs.map((own) => stageName(own, k)), ", ")] : t("stageSearches"))),
    metrics.map((each) => el("td", {}, el("span.number", {}, number(stage.means[each])))),
    el("td", {}, el("span.number", {}, t("ofQuestions", grouped(stage.n_kept), grouped(stage.n_reached))),
      el("span.interval", {}, stage.n_reached ? `${percent(stage.n_kept / stage.n_reached)}%` : "–")),
    isDeep(k) ? el("td", {}, el("span.number", {}, stage.inputs.length ? `+${stage.n_lifted} / −${stage.n_lowered}` : "–")) : null,
    el("td", {}, el("span.number", {}, missing(stage.milliseconds) ? "–" : duration(stage.milliseconds / 1000))));
  return stageBox(plain(`${t("stages")}: ${retriever}`), [t("stage"), ...metrics, t("stageKept"), ...(isDeep(k) ? [t("stageMoved", k)] : []), t("seconds")], stages.map(row));
}

const stageName = (named, k) => (named === "answer" ? t(isDeep(k) ? "stageAnswer" : "stageRead") : named === "all searches" && !isDeep(k) ? t("stageAll") : breakable(named));

/** What is lost, the most first, with questions to open. */
const lostList = ({ losses, k }) => (losses.length ? el("ul.lost-gold", {}, losses.map(({ reason, stage, n, query_ids: ids }) => el("li", {},
  el("strong", {}, grouped(n)), " · ", lossText(reason, k), stage ? [" · ", el("strong", {}, stageName(stage, k))] : null, ": ", questionLinks(ids)))) : null);

function questionLinks(ids) {
  const shownIds = ids.filter((id) => data.queries.ids.includes(id)).slice(0, LINKED), more = ids.length - shownIds.length;
  return [joined(shownIds.map((id) => el("button.link", { onclick: () => openQuestion(data.queries.ids.indexOf(id)) }, breakable(id))), ", "),
    more ? ` ${t("andMore", grouped(more))}` : null];
}
