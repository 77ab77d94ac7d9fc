// Grids: which setting to take and how sure that is, what each axis does, what a matcher's setting turns round.

const SETTINGS = 12; // that are not folded away, the best first

function tuningSection() {
  const tuning = data.tunings[match().name], grids = data.matcher_grids.filter(({ matches }) => matches.includes(match().name));
  if (!tuning && !grids.length) return null;
  return el("section.tuning", { "aria-labelledby": "tuning-title" }, el("h2", { id: "tuning-title" }, t(tuning ? "tuning" : "matcherTitle")),
    tuning ? tuned(tuning) : null, grids.map(({ parts: [sentence, table] }) => [el("p.headline", {}, textNodes(sentence.text)), tableNodes("tuning-title", table)]));
}

function tuned({ sentence, take, verdict: kind, confirmed, settings, curves, confidence }) {
  const isOpen = ["open", "too_few", "none"].includes(kind), badgeOf = isOpen ? el("span.badge.no", {}, t("uncertain")) : kind === "simplest" && confirmed ? el("span.badge.yes", {}, t("tuningConfirmed")) : null;
  const isFirst = ([{ text }], place) => place < SETTINGS || plainText(text) === take, split = ({ rows, ...rest }) => [true, false].map((wanted) => ({ ...rest, rows: rows.filter((row, place) => isFirst(row, place) === wanted) }));
  const [first, rest] = settings.length ? split(settings[0]) : [];
  return [
    el("p.headline", {}, textNodes(sentence), " ", badgeOf, hasLeaks(positionOf(take)) ? el("span.badge.bad", {}, t("itLeaks")) : null),
    first ? tableNodes("tuning-title", first) : null,
    rest?.rows.length ? el("details", { ontoggle: scrollHints }, el("summary", {}, t("tuningMore", rest.rows.length)), tableNodes("tuning-title", rest)) : null,
    curves.length ? el("div.multiples", {}, curves.map((curve) => curvePanel(curve, curves))) : null,
    curves.length ? el("p.legend", {}, t("tuningCurves", percent(confidence))) : null,
  ];
}

/** The means along one axis, with their intervals, on the scale of all axes. */
function curvePanel({ of, axis, points }, curves) {
  const ends = curves.flatMap((curve) => curve.points.flatMap(({ mean: own, low, high }) => [own, low ?? own, high ?? own]));
  const least = Math.max(0, Math.floor(Math.min(...ends) * 10) / 10), most = Math.max(least + 0.1, Math.ceil(Math.max(...ends) * 10) / 10);
  const width = 340, height = 190, left = 44, right = 16, top = 10, bottom = 34;
  const x = (place) => left + ((place + 0.5) / points.length) * (width - left - right);
  const y = (value) => top + ((most - value) / (most - least)) * (height - top - bottom);
  const parts = [least, (least + most) / 2, most].flatMap((at) => [line("grid", left, width - right, y(at), y(at)), tick(left - 8, y(at) + 4, at < 100 ? number(at).slice(0, 4) : number(at), "end")]);
  const spoken = points.map(({ value, mean: own, low, high }, place) => {
    const said = `${plain(value)}: ${number(own)} ${missing(low) ? "" : `[${number(low)}, ${number(high)}]`}`;
    const stroke = { stroke: colour(0) };
    if (place) parts.push(line("whisker", x(place - 1), x(place), y(points[place - 1].mean), y(own), { ...stroke, strokeWidth: 1.2, opacity: 0.55 }));
    if (!missing(low)) parts.push(line("whisker", x(place), x(place), y(low), y(high), stroke, said));
    parts.push(marker(0, x(place), y(own), said), tick(x(place), height - 18, clipped(value, Math.floor(52 / points.length))));
    return said;
  });
  return panel(`${plain(of)}: ${plain(axis)}`, drawing(width, height, `${plain(axis)}. ${spoken.join("; ")}`, parts));
}
