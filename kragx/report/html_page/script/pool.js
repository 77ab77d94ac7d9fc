// A judged pool: what the gold is where a judge made it, how deep, how much of it is known.

function poolSection() {
  const { pool } = match();
  if (!pool) return null;
  const { human, judge, missing: open } = pool.labels, known = pool.documents - open;
  const rows = [
    [t("poolDepth"), pool.depth === null ? t("reach_all") : t("poolDepthK", grouped(pool.depth))],
    [t("poolDocuments"), grouped(pool.documents)],
    [t("poolRelevant"), relevantInPool()],
    [t("poolLabels"), [human ? t("poolHuman", grouped(human)) : null, judge ? t("poolJudge", grouped(judge)) : null].filter(Boolean).join(", ") || "–"],
    [t("poolKnown"), `${t("ofQuestions", grouped(known), grouped(pool.documents))}${pool.documents ? ` (${percent(known / pool.documents)}%)` : ""}`],
    [t("poolHash"), el("code", {}, pool.hash)],
  ];
  return el("section.pool", { "aria-labelledby": "pool-title" },
    el("h2", { id: "pool-title" }, t("pool")),
    el("p.muted", {}, t("poolNote", pool.rel)),
    el("dl.facts", {}, rows.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text)))),
    ownTable("pool-title", [t("retriever"), t("poolShare"), `${state.metric}: ${t("poolBounds")}`], ranked().map(poolRow)));
}

/** How many documents of the questions that the page holds were judged relevant; grades are -1 below the cut. */
function relevantInPool() {
  const lists = present().map((retriever) => cell(retriever).first);
  const count = [...questions()].reduce((sum, query) => sum + ((lists.find((first) => first[query])?.[query] ?? []).filter((rank) => rank !== -1).length), 0);
  return grouped(count);
}

/** How much of a retriever's lists was judged, and between which values its mean must lie. */
function poolRow(retriever) {
  const { counts: own, bounds } = cell(retriever), [low, high] = bounds[state.metric] || [];
  return [columnHead(retriever), missing(own.judged_share) ? "–" : `${(100 * own.judged_share).toFixed(1)}%`,
    [el("span.number", {}, number(mean(retriever), metric())), el("span.interval", {}, high - low > 1e-9 ? t("possible", t("range", number(low, metric()), number(high, metric()))) : t("poolExact"))]];
}
