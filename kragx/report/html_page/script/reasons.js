// Why a retriever finds no gold where the metric looks: a key of the words "why_...", and in words.

// From the best to what concerns no retriever; the order of sorting and of the filter.
const REASONS = ["ok", "late", "near", "alike", "kin", "similar", "nothing", "notgold", "empty", "failed", "missing", "unknown", "abstained", "anyway", "nogold"];
const WITHOUT_GOLD = ["", "abstained", "anyway", "nogold"];

const known = new Map();

/** The reason of a retriever on a question; empty where it has no result. */
function reason(retriever, query) {
  const { name: metricName, k, budget, list } = metric() ?? {};
  const key = `${state.match}/${retriever}/${budget ? metricName : k}/${list ?? ""}`;
  if (!known.has(key)) known.set(key, [...questions()].map((each) => reasonAt(retriever, each, cutOf(retriever, each))));
  return known.get(key)[query];
}

const hasGold = (retriever, query) => !WITHOUT_GOLD.includes(reason(retriever, query));
const failed = (retriever, query) => hasGold(retriever, query) && reason(retriever, query) !== "ok";

function reasonAt(retriever, query, k) {
  const result = cell(retriever);
  if (!result?.first?.[query]) return "";
  const gold = [...result.first[query].keys()].filter((item) => result.first[query][item] !== -1);
  if (!gold.length) return (isUnanswerable(query) && { e: "abstained", a: "anyway" }[result.status[query]]) || "nogold";
  const status = { m: "missing", f: "failed", e: "empty" }[result.status[query]];
  const rank = firstRank(retriever, query);
  if (status && !(status === "empty" && rank > 0)) return status;
  if (rank) return k === null || rank <= k ? "ok" : "late";
  if (rank === null) return "unknown";
  const { threshold, near } = match(), { alike, similar } = data.limits;
  if (threshold !== null && gold.some((item) => closest(retriever, query, item).score >= near)) return "near";
  const share = result.alike[query]?.[1] ?? null;
  if (share >= alike) return "alike";
  if (result.kin[query]) return "kin";
  if (share >= similar) return "similar";
  return share === null && threshold === null ? "notgold" : "nothing";
}

/** Where a metric looks, in words: "its first 5 documents"; empty if it reads all of the list. */
function reach({ k, budget } = metric()) {
  if (budget) return t(`reach_${budget.unit}`, grouped(budget.n));
  return k === null ? "" : k === 1 ? t("reach_1") : t("reach", grouped(k));
}

/** A reason in words. */
function reasonText(why) {
  const { threshold, near, top } = match();
  if (why === "late") return t("why_late", reach());
  if (why === "near") return t(top > 1 ? "why_nearGrade" : "why_near", asWritten(near), asWritten(threshold));
  if (why === "nothing" && threshold !== null && near > threshold / 2 + 1e-9) return t("why_far", asWritten(near));
  return t(`why_${why}`);
}

/** The same in two or three. */
const reasonShort = (why) => (why === "late" && metric().k === null ? t("short_beyond") : t(`short_${why}`, metric().k));

/** The rank of the first gold, or else the reason in short. */
function rankOrReason(retriever, query) {
  const why = reason(retriever, query);
  if (why === "ok" || why === "late") return t(isOfSteps() ? "nthStep" : "rank", firstRank(retriever, query));
  return why ? reasonShort(why) : "–";
}

/** The limits of a reason, for those who ask for them. */
function reasonHint(why) {
  const [alike, similar] = [data.limits.alike, data.limits.similar].map((share) => asWritten(share * 100));
  const { threshold, near } = match();
  if (why === "alike") return t("hint_alike", alike);
  if (why === "similar") return t("hint_similar", similar, alike);
  if (why === "nothing") return (threshold === null ? "" : `${t("hint_below", asWritten(near))} `) + t("hint_nothing", similar);
  return why === "kin" ? t("hint_kin") : reasonText(why);
}

/** The reason for one question, with the rank or share that it rests on. */
function reasonExactly(retriever, query) {
  const why = reason(retriever, query), { kin, alike } = cell(retriever);
  if (why === "kin") return t("why_kinAt", kin[query][0]);
  if (why === "similar" || why === "alike") return t(`why_${why}At`, percent(alike[query][1]), alike[query][0]);
  return reasonText(why);
}
