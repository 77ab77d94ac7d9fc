// The verdict: which retriever won, whether that is certain, where it fails, and why.

function verdict() {
  const shownMetric = metric(), best = leader(), said = verdictOf(), own = estimate(best);
  const section = el("section.verdict", { "aria-labelledby": "verdict-title" }, el("h2.unseen", { id: "verdict-title" }, t("summary")));
  const open = shownMetric.exact ? compared().map((retriever) => missingHere(retriever, shownMetric)).filter(Boolean) : [];
  if (open.length) return add(section, [open.slice(0, PICTURED), cautions()]);
  const headline = el("p.headline", {}, said ? textNodes(said.headline) : phrase("only", strong(retrieverName(best)), el("strong.metric", {}, state.metric), number(own.value)), " ", badge(said), hasLeaks(best) ? el("span.badge.bad", {}, t("itLeaks")) : null);
  if (missing(own.value) || !compared().length) return add(section, [headline, cautions()]);
  return add(section, [
    el("div.verdict-head", {},
      el("div.figure-number", {}, el("b", {}, number(own.value, shownMetric)), el("span", {}, plainText(own.ends)),
        missing(own.low) ? null : el("small.muted", {}, t("interval", percent(standing().statistics.confidence)))),
      el("div", {}, headline, el("p.muted.small", {}, `${shownMetric.name}: `, meaning(shownMetric)), said?.text ? el("p.how", {}, textNodes(said.text)) : null, missingHere(best, shownMetric))),
    cautions(),
    el("div.verdict-more", {}, leadPanel(said), failures(best)),
    advice(),
  ]);
}

/** Whether the lead is certain. */
const badge = (said) => (said?.badge ? el("span.badge", { class: said.badge[1] ? "yes" : said.lead ? "no" : null }, textNodes(said.badge[0])) : null);

/** How far missing judgements leave the value open. */
function missingHere(retriever, shownMetric) {
  const [low, high] = cell(retriever).bounds[shownMetric.name] || [];
  if (!(high - low > 1e-9)) return null;
  const possible = t("range", number(low, shownMetric), number(high, shownMetric));
  return el("p.how.lost", {}, phrase(shownMetric.exact ? "openHere" : "missingHere", el("strong.metric", {}, shownMetric.name), strong(retrieverName(retriever)), possible));
}

/** The lead over the next best retriever, with its interval drawn beside 0. */
function leadPanel(said) {
  if (!said?.lead) return null;
  const { title, difference, ends, means, lines: [how, ...why], help: chance, bar } = said.lead, best = positionOf(said.best);
  return el("div.panel", {},
    el("h3", {}, textNodes(title)),
    el("p.big", {}, el("b", {}, textNodes(difference)), " ", el("span.muted", {}, plainText(ends))),
    el("ul.both", {}, [best, positionOf(said.next)].map((retriever, at) => el("li", {}, swatch(retriever), " ", el("span.retriever", {}, name(retrieverName(retriever))), " ", el("b", {}, means[at])))),
    missing(bar[1]) ? null : differenceBar(bar, best),
    el("p.muted", {}, textNodes(how), chance ? help(plainText(chance)) : null), why.map((line) => el("p.muted", {}, textNodes(line))));
}

function differenceBar([difference, low, high], retriever) {
  const width = 320, height = 34, most = Math.max(Math.abs(low), Math.abs(high)) * 1.15 || 1;
  const x = (at) => width / 2 + (at / most) * (width / 2);
  return svg("svg.difference", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", style: { color: colour(retriever) } },
    svg("line.axis", { x1: 0, x2: width, y1: 17, y2: 17 }),
    svg("line.zero", { x1: width / 2, x2: width / 2, y1: 4, y2: 30 }),
    svg("rect.interval", { x: x(low), y: 12, width: Math.max(2, x(high) - x(low)), height: 10, rx: 5 }),
    svg("circle.dot", { cx: x(difference), cy: 17, r: 6 }));
}

/** On how many questions the best retriever fails, for which reasons, and some of them. */
function failures(best) {
  const withGold = [...questions()].filter((query) => hasGold(best, query));
  const lost = withGold.filter((query) => failed(best, query)), within = reach(), winner = strong(retrieverName(best));
  const box = el("div.panel", {}, el("h3", {}, t("fails")), data.queries.sample ? el("p.muted", {}, t("sampledHere", grouped(size()))) : null);
  if (!withGold.length) return add(box, [el("p", {}, t("noGold"))]);
  const bare = [...questions()].filter((query) => !isUnanswerable(query) && reason(best, query) === "nogold").length;
  const without = [bare ? el("p.muted", {}, t(bare === 1 ? "withoutGold1" : "withoutGold", grouped(bare))) : null, unanswerable(best)];
  if (!lost.length) return add(box, [el("p", {}, phrase(within ? "failsNoneK" : "failsNone", winner, grouped(withGold.length), within)), without]);
  const worst = hardest(lost, withGold);
  const reasons = [...counts(lost.map((query) => reason(best, query)))].sort((one, other) => other[1] - one[1]);
  return add(box, [
    el("p", {}, phrase(within ? "failsHeadK" : "failsHead", winner, el("b", {}, grouped(lost.length)), grouped(withGold.length), within), asksShare(lost, withGold)),
    el("div.share", { "aria-hidden": "true" }, reasons.map(([why, count]) => el("span." + why, { style: { flexGrow: count } })),
      el("span.rest", { style: { flexGrow: withGold.length - lost.length } })),
    el("ul.reasons", {}, reasons.map(([why, count]) =>
      el("li", {}, el("button.reason", { title: reasonHint(why), onclick: () => showing({ result: "failedA", why, a: best }) },
        el("i." + why, { "aria-hidden": "true" }), el("b", {}, grouped(count)), " ", reasonText(why), " ", el("span.show", {}, t("show")))))),
    el("ul.examples", {}, examples(lost, best, reasons.map(([why]) => why)).map((query) =>
      el("li", {}, questionLink(query, el("bdi", {}, beginning(query))), " ", el("small.muted", {}, rankOrReason(best, query))))),
    worst ? el("p.muted", {}, phrase("failsWhere", el("button.link", { onclick: () => showing({ result: "failedA", a: best, slice: worst.key }) }, worst.label), grouped(worst.lost), grouped(worst.n))) : null,
    without,
  ]);
}

/** For how many questions that nothing answers it retrieves something none the less. */
function unanswerable(best) {
  const all = data.queries.unanswerable, anyway = all.filter((query) => reason(best, query) === "anyway");
  if (!all.length) return null;
  return el("p.muted", {}, phrase("unanswerables", grouped(all.length), strong(retrieverName(best)), grouped(anyway.length)), " ",
    anyway.length ? el("button.link", { onclick: () => showing({ why: "anyway", a: best }) }, t("show")) : null);
}

const EXAMPLES = 4;

/** A few failing questions, of each reason in turn. */
function examples(lost, best, reasons) {
  const queues = reasons.map((why) => lost.filter((query) => reason(best, query) === why)), chosen = [];
  while (chosen.length < EXAMPLES && queues.some((queue) => queue.length)) {
    for (const queue of queues) if (queue.length && chosen.length < EXAMPLES) chosen.push(queue.shift());
  }
  return chosen.sort((one, other) => one - other);
}

const beginning = (query) => shown((data.queries.texts[query] ?? data.queries.ids[query]).slice(0, 80));

/** The slice with the largest share of failures, of those with five questions or more. */
function hardest(lost, withGold) {
  const isLost = new Set(lost), isAsked = new Set(withGold);
  const shares = slices().filter((slice) => slice.value !== null).map(({ key, label, rows }) => {
    const asked = rows.filter((query) => isAsked.has(query)), count = asked.filter((query) => isLost.has(query)).length;
    return { key, label, lost: count, n: asked.length, share: count / asked.length };
  }).filter((slice) => slice.n >= 5 && slice.lost > 1 && slice.n < withGold.length);
  return shares.reduce((worst, slice) => (!worst || slice.share > worst.share ? slice : worst), null);
}
