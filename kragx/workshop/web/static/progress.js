// How far the set is, by type and difficulty, by person; how well people agree, and what still decides.

import { el, fill, name } from "./dom.js";
import { decidesWords, decimal, inOrder, labelOf, percent, t } from "./words.js";

export async function show(main, app) {
  const { totals, decides, by = {}, agreement, leak } = await app.read("api/progress");
  fill(main, el("h1", {}, t("view_progress")),
    el("div.numbers", {}, number(totals.mine, t("byYou")), number(totals.judged, t("pairsJudged"), t("ofPairs", totals.pairs)),
      number(totals.questions_with_relevant, t("questionsWithGold"), t("ofQuestions", totals.questions)), number(totals.conflicts, t("openConflicts"))),
    el("section", {}, el("h2", {}, t("whatDecides")), el("p", {}, decidesWords(decides)),
      totals.judged == null || decides.outcome === "decided" ? null : el("p.muted", {}, t("pairsLeft", totals.pairs - totals.judged, totals.pairs))),
    Object.entries(by).filter(([, rows]) => rows.length).map(([key, rows]) => shares(key, rows)),
    agreement ? el("section", {}, el("h2", {}, t("agreement")), agreementWords(agreement).map((line) => el("p", {}, line))) : null,
    app.me.person.role === "owner" && leak?.mean != null ? el("section", {}, el("h2", {}, t("leak")), el("p", {}, t("leakMean", percent(leak.mean)), " ",
      leak.target != null ? t(leak.mean > leak.target ? "leakAbove" : "leakBelow", percent(leak.target)) : "", " ", t("leakWhat"))) : null);
}

const number = (value, words, of) => value == null ? null : el("p.number", {}, el("b", {}, value), el("span", {}, words), of && el("small.muted", {}, of));

/** Of each value's questions those that have an answer as a bar, and how many there are beside the share that is aimed at. */
function shares(key, rows) {
  return el("section", {}, el("h2", {}, t(key)), el("div.shares", {}, (rows.some(({ target }) => target != null) ? rows : inOrder(key, rows, ({ value }) => value)).map(({ value, questions, share, target, judged, answered }) => el("div.share-row", {},
    el("span", {}, value == null ? t("noValue") : name(labelOf(value))),
    answered == null ? el("span") : el("div.meter", { role: "img", "aria-label": t("shareWords", answered, questions), vars: { "--share": questions && answered / questions } }, el("i")),
    el("small", {}, answered == null ? "" : `${t("answered", answered, questions)} · ${t("nJudged", judged)} · `,
      `${t(questions === 1 ? "nQuestions1" : "nQuestions", questions)} (${target == null ? percent(share) : t("shareOf", percent(share), percent(target))})`)))));
}

/** Alpha in words that need no statistics: customary bounds are .8 and .667 (Krippendorff, Content Analysis, 2004). */
export function agreementWords({ value, interval, pairs, questions, least }) {
  if (pairs && pairs < least) return [t("agreeFew", pairs, least)];
  if (value == null) return [t(pairs ? "agreeSame" : "agreeNone", pairs)];
  const level = value >= 0.8 ? "agreeGood" : value >= 0.667 ? "agreeFair" : "agreePoor";
  return [el("strong", {}, t(level)), t("agreeFigures", decimal(value), pairs, questions) + (interval ? ` ${t("agreeInterval", ...interval.map(decimal))}` : ` ${t("agreeTooFew")}`)];
}
