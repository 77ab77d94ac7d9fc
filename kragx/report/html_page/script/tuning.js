// Grids: which setting to take and how sure that is, what each axis does, what a matcher's setting turns round.

const SETTINGS = 12; // that are not folded away, the best first

function tuningSection() {
  const tuning = data.tunings[match().name];
  const grids = data.matcher_grids.filter(({ of_grid: { settings } }) => settings.includes(match().name));
  if (!tuning && !grids.length) return null;
  return el("section.tuning", { "aria-labelledby": "tuning-title" }, el("h2", { id: "tuning-title" }, t(tuning ? "tuning" : "matcherTitle")),
    tuning ? tuned(tuning) : null, grids.map(matcherGrid));
}

function tuned(tuning) {
  const { settings, curves } = tuning;
  const shownFirst = settings.filter((own, place) => place < SETTINGS || own.name === tuning.take), rest = settings.filter((own) => !shownFirst.includes(own));
  return [
    el("p.headline", {}, tuningChoice(tuning), " ", tuningBadge(tuning), hasLeaks(positionOf(tuning.take)) ? el("span.badge.bad", {}, t("itLeaks")) : null), el("p.how", {}, tuningWorth(tuning)),
    settings.length ? settingsTable(tuning, shownFirst) : null,
    rest.length ? el("details", { ontoggle: scrollHints }, el("summary", {}, t("tuningMore", rest.length)), settingsTable(tuning, rest)) : null,
    settings.length ? el("p.legend", {}, t("tuningNote", percent(tuning.confidence))) : null,
    curves.length ? el("div.multiples", {}, curves.map((curve) => curvePanel(curve, tuning))) : null,
    curves.length ? el("p.legend", {}, t("tuningCurves", percent(tuning.confidence))) : null,
  ];
}

const tuningValue = (value) => number(value, data.metrics.find(({ name: own }) => own === data.tunings[match().name].metric));
const settingOf = ({ settings }, named) => settings.find(({ name: own }) => own === named);

/** Which to take, in a sentence. */
function tuningChoice(tuning) {
  const { verdict: kind, take, best, n_choosing: n, n_candidates: alike, n_failed: failed } = tuning, all = tuning.n_settings - failed;
  if (kind === "none") return t("tuning_none");
  if (kind === "too_few") return t("tuning_too_few", grouped(n));
  if (kind === "only" && failed) return phrase("tuning_only_left", strong(take));
  if (kind === "best" && alike === 1) return phrase("tuning_best_alone", strong(take), all);
  const most = settingOf(tuning, take).at_most;
  const risk = take === best ? "" : missing(most) ? t("tuningRiskUnknown") : t("tuningRisk", tuningValue(most));
  return phrase(`tuning_${kind}`, strong(take), kind === "best" ? alike - 1 : alike, all, best ? strong(best) : "", risk, grouped(n));
}

/** What was tested on the questions held out is a simpler setting than the best, and nothing else. */
function tuningBadge({ verdict: kind, held_out: held }) {
  if (kind === "open" || kind === "too_few" || kind === "none") return el("span.badge.no", {}, t("uncertain"));
  return kind === "simplest" && held?.simpler ? el("span.badge.yes", {}, t("tuningConfirmed")) : null;
}

/** Both numbers: on the questions that chose, and on those held out, shrunk where they decided by a test. */
function tuningWorth(tuning) {
  const { held_out: held, take, best, metric: named, n_choosing: n, n_held_out: rest, n_failed: lost } = tuning;
  if (!held || !take) return null;
  const bounds = missing(held.low) ? "" : ` [${tuningValue(held.low)}, ${tuningValue(held.high)}]`;
  const by = tuningValue(held.shrunk_by);
  const worth = phrase(held.shrunk_by >= 0.0001 ? "tuningShrunk" : "tuningWorth", el("strong.metric", {}, named), el("b", {}, tuningValue(settingOf(tuning, take).mean)), grouped(n),
    el("b", {}, tuningValue(held.mean)), bounds, grouped(rest), by);
  return [worth, ...tuningTest(tuning), lost ? ` ${t(lost === 1 ? "tuningFailed1" : "tuningFailed", lost)}` : ""];
}

/** What became of a simpler setting than the best on the questions held out. */
function tuningTest({ held_out: held, best, better, verdict: kind }) {
  if (!held.simpler) return [];
  const ahead = (held.difference > 0) === (better === "higher"), by = tuningValue(Math.abs(held.difference));
  if (kind === "refuted") return [" ", phrase("tuningRefuted", strong(held.simpler), by)];
  if (Math.abs(held.difference) <= 1e-9) return [" ", phrase("tuningSame", strong(best))];
  return [" ", phrase(ahead ? "tuningAhead" : "tuningBehind", strong(best), by)];
}

function settingsTable(tuning, settings) {
  const head = [t("tuningSetting"), t("tuningChoosing", tuning.metric), t("tuningHeldOut"), t("tuningAtMost"), t("tuningTokens"), t("tuningTime"), t("tuningVerdict")];
  const cellOf = (text, below) => el("td", {}, el("span.number", {}, text), below ? el("span.interval", {}, below) : null);
  const verdictOf = (own) => [
    own.name === tuning.take ? el("span.badge.yes", {}, t("tuningTake")) : null, " ",
    own.failed ? ["✗ ", inWords(own.failed)] : own.told_apart ? t("tuningApart") : own.name === tuning.best ? t("tuningBest") : t("tuningAlike"),
    own.on_front ? ` ◆` : ""];
  const row = (own) => el(own.name === tuning.take ? "tr.chosen" : "tr", {}, el("th", { scope: "row" }, breakable(own.name)),
    cellOf(tuningValue(own.mean), missing(own.low) ? "" : `[${tuningValue(own.low)}, ${tuningValue(own.high)}]`), cellOf(tuningValue(own.held_out)),
    cellOf(tuningValue(own.at_most)), cellOf(missing(own.tokens) ? "–" : grouped(own.tokens)), cellOf(duration(own.seconds)), el("td.decided", {}, verdictOf(own)));
  return stageBox(t("tuning"), head, settings.map(row));
}

/** The means along one axis, with their intervals, on the scale of all axes. */
function curvePanel({ of, axis, points }, { curves }) {
  const ends = curves.flatMap((curve) => curve.points.flatMap(({ mean: own, low, high }) => [own, low ?? own, high ?? own]));
  const least = Math.max(0, Math.floor(Math.min(...ends) * 10) / 10), most = Math.max(least + 0.1, Math.ceil(Math.max(...ends) * 10) / 10);
  const width = 340, height = 190, left = 44, right = 16, top = 10, bottom = 34;
  const x = (place) => left + ((place + 0.5) / points.length) * (width - left - right);
  const y = (value) => top + ((most - value) / (most - least)) * (height - top - bottom);
  const parts = [least, (least + most) / 2, most].flatMap((at) => [line("grid", left, width - right, y(at), y(at)), tick(left - 8, y(at) + 4, at < 100 ? number(at).slice(0, 4) : number(at), "end")]);
  const spoken = points.map(({ value, mean: own, low, high, told_apart: apart }, place) => {
    const said = `${plain(value)}: ${number(own)} ${missing(low) ? "" : `[${number(low)}, ${number(high)}]`}${apart ? ` ▼` : ""}`;
    const stroke = { stroke: colour(0) };
    if (place) parts.push(line("whisker", x(place - 1), x(place), y(points[place - 1].mean), y(own), { ...stroke, strokeWidth: 1.2, opacity: 0.55 }));
    if (!missing(low)) parts.push(line("whisker", x(place), x(place), y(low), y(high), stroke, said));
    parts.push(marker(0, x(place), y(own), said), tick(x(place), height - 18, clipped(value, Math.floor(52 / points.length)) + (apart ? " ▼" : "")));
    return said;
  });
  return panel(`${plain(of)}: ${plain(axis)}`, drawing(width, height, `${plain(axis)}. ${spoken.join("; ")}`, parts));
}

// -- a matcher's settings ------------------------------------------------------------------------

function matcherGrid({ match_name: of, values, of_grid: { metric: named, settings, orders, certain, swapped } }) {
  const names = Object.keys(values);
  const key = names.length < 2 ? "matcherOne" : swapped.length ? "matcherOrder" : "matcherSame";
  const pairs = joined(swapped.slice(0, 4).map(([one, other]) => el("span", {}, strong(one), " ↔ ", strong(other))), ", ");
  const mark = (place, retriever) => (orders[place].length && orders[place][0].includes(retriever) ? (certain[place] ? " ★" : " =") : "");
  const cellOf = (place, retriever, mean) => el("td", {}, missing(mean) ? "–" : number(mean) + mark(place, retriever));
  const row = (setting, place) => el("tr", {}, el("th", { scope: "row" }, breakable(setting)),
    names.map((retriever) => cellOf(place, retriever, values[retriever][named][place])));
  return [
    el("p.headline", {}, phrase(key, el("strong.metric", {}, named), strong(of), settings.length, pairs)),
    el("p.how", {}, t("matcherRight")),
    stageBox(t("matcherTitle"), [t("tuningSetting"), ...names.map((own) => breakable(own))], settings.map(row)),
    el("p.legend", {}, t("matcherMarks")),
  ];
}
