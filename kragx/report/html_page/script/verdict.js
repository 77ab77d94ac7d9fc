// The verdict, the table of metrics, the slices.

function renderTop() {
  const set = data.dataset, n = size(), names = data.retrievers;
  const choose = (label, options, chosen, change) =>
    el("label.field", {}, el("span", {}, label),
      el("select", { onchange: (event) => change(event.target.value) },
        options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(chosen) }, plain(text)))));
  const dark = document.documentElement.dataset.theme === "dark";
  const top = document.getElementById("top");
  top.replaceChildren(
    el("div.brand", {},
      el("p.kind", {}, t("title")),
      el("h1", {}, name(set.name || "gold"), set.version ? el("small", {}, t("version", plain(set.version))) : null),
      el("p", { title: plain(match().label) }, phrase("intro", t(n === 1 ? "nQuestions1" : "nQuestions", grouped(n)), t(names.length === 1 ? "nRetrievers1" : "nRetrievers", names.length), name(match().name)))),
    el("div.controls", {},
      data.matches.length > 1
        ? choose(t("matcher"), data.matches.map((each, at) => [at, each.name]), state.match, (at) => choosing({ match: Number(at) }))
        : null,
      choose(t("metric"), data.metrics.map((each) => [each.name, each.name]), state.metric, (chosen) => choosing({ metric: chosen })),
      el("button", { id: "language", title: t("languageHint"), lang: state.language === "en" ? "ko" : "en", onclick: () => choosing({ language: state.language === "en" ? "ko" : "en" }) }, t("language")),
      el("button", { id: "theme", "aria-label": `${t("theme")}: ${dark ? t("light") : t("dark")}`, onclick: () => setTheme(dark ? "light" : "dark") }, dark ? `☀ ${t("light")}` : `☾ ${t("dark")}`),
      el("button.printing", { onclick: () => window.print() }, t("print"))),
  );
  document.getElementById("skip").textContent = t("skip");
  document.documentElement.lang = state.language;
}

const bold = (at) => el("strong.retriever", {}, name(data.retrievers[at]));
const listing = (names) => {
  const nodes = [];
  names.forEach((each, at) => nodes.push(at === 0 ? "" : at === names.length - 1 ? t("and") : ", ", el("strong.retriever", {}, name(each))));
  return nodes;
};

/** Which retriever won, whether that is certain, where it fails, and why. */
function verdict() {
  const of = metric(), best = leader(), view = standing()?.overall;
  const lead = view?.leaders[of.name];
  const own = view ? estimate(view, best, of.name) : { value: cell(best).mean[of.name] };
  const named = el("strong.metric", {}, of.name);
  const section = el("section.verdict", { "aria-labelledby": "verdict-title" }, el("h2.unseen", { id: "verdict-title" }, t("summary")));
  if (own?.value === null || own?.value === undefined) {
    const gold = data.queries.ids.some((_, at) => !["", "nogold"].includes(reason(best, at)));
    return add(section, [el("p.headline", {}, phrase("novalue", named)), gold ? null : el("p.how", {}, t("noneGold"))]);
  }
  const certain = lead?.decided;
  const equal = lead ? present().filter((at) => starred(lead, at, of)) : [];
  let headline, badge = null, how = null;
  if (of.higher === null) headline = phrase("neither", named);
  else if (!lead) headline = phrase("only", bold(best), named, el("strong", {}, number(own.value, of)));
  else if (equal.length > 1) headline = phrase("share", listing(equal.map((at) => data.retrievers[at])), named);
  else headline = phrase(certain || !lead.tested ? "wins" : of.higher === false && WORDS[state.language].leadsLow ? "leadsLow" : "leads", bold(best), named);
  if (lead && lead.differences.length) {
    const beaten = lead.differences.filter((each) => !lead.tied.includes(each.against)).map((each) => each.against);
    const apart = lead.tied.filter((each) => !equal.some((at) => data.retrievers[at] === each));
    badge = !lead.tested ? el("span.badge", {}, t("asIs")) : certain ? el("span.badge.yes", {}, t("certain")) : el("span.badge.no", {}, t("uncertain"));
    how = !lead.tested ? phrase("how_asis")
      : certain ? (beaten.length === 1 ? phrase("how_certain1", listing(beaten)) : phrase("how_certain"))
      : beaten.length ? phrase("how_partly", listing(beaten), listing(lead.tied))
      : phrase("how_uncertain", listing(apart.length ? apart : lead.tied));
  }
  add(section, [
    el("div.verdict-head", {},
      el("div.figure-number", {}, el("b", {}, number(own.value, of)), el("span", {}, range(own.low, own.high, of)),
        own.low === null || own.low === undefined ? null : el("small.muted", {}, t("interval", Math.round(standing().statistics.confidence * 100)))),
      el("div", {}, el("p.headline", {}, headline, " ", badge), el("p.muted.small", {}, `${of.name}: `, meaning(of)), how ? el("p.how", {}, how) : null)),
    el("div.verdict-more", {}, closest(lead, of), failures(best, of)),
    advice(),
  ]);
  return section;
}

/** What a metric says, in a sentence; of one unknown to the page, kragx's own words. */
function meaning(of) {
  const key = `is_${of.name.split(/[@(]/)[0]}`;
  return WORDS.en[key] ? t(key, reach(of) || t("reach_all")) : of.about;
}

/** Whether a retriever has the best value, in the digits that are shown. */
function starred(lead, at, of) {
  const mean = (each) => number(cell(each).mean[of.name] ?? null, of), own = data.retrievers[at];
  return Boolean(lead) && (lead.best === own || (lead.tied.includes(own) && mean(at) === mean(data.retrievers.indexOf(lead.best))));
}

/** The lead over the next best retriever, with its interval drawn beside 0. */
function closest(lead, of) {
  if (!lead || !lead.tested || !lead.differences.length) return null;
  const sense = of.higher === false ? -1 : 1;
  const known = lead.differences.filter((each) => each.value !== null);
  const apart = known.filter((each) => number(Math.abs(each.value), of) !== number(0, of));
  const next = (apart.length ? apart : known).sort((one, other) => sense * (one.value - other.value))[0];
  if (!next) return null;
  const inside = next.low !== null && next.low <= 0 && next.high >= 0;
  const confidence = standing().statistics.confidence;
  return el("div.panel", {},
    el("h3", {}, phrase("againstNext", el("span.retriever", {}, name(next.against)))),
    el("p.big", {}, el("b", {}, signed(next.value, of)), " ", el("span.muted", {}, signedRange(next.low, next.high, of))),
    el("ul.both", {}, [data.retrievers.indexOf(lead.best), data.retrievers.indexOf(next.against)].map((at) => el("li", {}, swatch(at), " ", el("span.retriever", {}, name(data.retrievers[at])), " ", el("b", {}, number(cell(at).mean[of.name] ?? null, of))))),
    next.low === null ? null : differenceBar(next, data.retrievers.indexOf(lead.best)),
    el("p.muted", {}, next.low === null ? null : [t("interval", Math.round(confidence * 100)), ": ", inside ? t("includes0") : t("excludes0"), " · "],
      next.p_adjusted === null ? null : [next.p_adjusted < 0.001 ? t("pLess", "0.001") : t("p", next.p_adjusted.toFixed(3)), help(t(`help_p_${standing().statistics.correction}`, nTests())), " · "],
      t("wlt", next.wins, next.ties, next.losses)),
    !inside && next.low !== null && next.verdict === "undecided" ? el("p.muted", {}, t(next.p > 1 - confidence ? "testSays" : "corrected", (1 - confidence).toFixed(2), nTests())) : null);
}

/** How many tests are corrected together: in each metric the best against each other. */
function nTests() {
  const all = Object.values(standing().overall.leaders).flatMap((each) => each.differences);
  return all.filter((each) => each.p !== null).length;
}

function differenceBar(difference, at) {
  const width = 320, height = 34, reach = Math.max(Math.abs(difference.low), Math.abs(difference.high)) * 1.15 || 1;
  const x = (value) => width / 2 + (value / reach) * (width / 2);
  return svg("svg.difference", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", style: { color: colour(at) } },
    svg("line.axis", { x1: 0, x2: width, y1: 17, y2: 17 }),
    svg("line.zero", { x1: width / 2, x2: width / 2, y1: 4, y2: 30 }),
    svg("rect.interval", { x: x(difference.low), y: 12, width: Math.max(2, x(difference.high) - x(difference.low)), height: 10, rx: 5 }),
    svg("circle.dot", { cx: x(difference.value), cy: 17, r: 6 }));
}

function failures(best, of) {
  const asked = data.queries.ids.map((_, at) => at).filter((at) => !["", "nogold"].includes(reason(best, at)));
  const lost = asked.filter((at) => failed(best, at));
  const counts = new Map();
  for (const at of lost) counts.set(reason(best, at), (counts.get(reason(best, at)) || 0) + 1);
  const within = reach();
  const box = el("div.panel", {}, el("h3", {}, t("fails")));
  if (!asked.length) return add(box, [el("p", {}, t("noGold"))]);
  const bare = data.queries.ids.filter((_, at) => reason(best, at) === "nogold").length;
  const without = bare ? el("p.muted", {}, t(bare === 1 ? "withoutGold1" : "withoutGold", grouped(bare))) : null;
  if (!lost.length) return add(box, [el("p", {}, phrase(within ? "failsNoneK" : "failsNone", bold(best), grouped(asked.length), within)), without]);
  const worst = hardest(lost, asked);
  const list = [...counts].sort((one, other) => other[1] - one[1]);
  return add(box, [
    el("p", {}, phrase(within ? "failsHeadK" : "failsHead", bold(best), el("b", {}, grouped(lost.length)), grouped(asked.length), within)),
    el("div.share", { "aria-hidden": "true" }, list.map(([why, count]) => el("span." + why, { style: { flexGrow: count } })),
      el("span.rest", { style: { flexGrow: asked.length - lost.length } })),
    el("ul.reasons", {}, list.map(([why, count]) =>
      el("li", {}, el("button.reason", { title: whyHint(why), onclick: () => showing({ result: "failedA", why, a: best }) },
        el("i." + why, { "aria-hidden": "true" }), el("b", {}, grouped(count)), " ", whyText(why), " ", el("span.show", {}, t("show")))))),
    el("ul.examples", {}, examples(lost, best, list.map(([why]) => why)).map((at) => el("li", {}, questionLink(at, el("bdi", {}, clippedText(at))), " ", el("small.muted", {}, reasonText(best, at, firstRank(best, at)))))),
    worst ? el("p.muted", {}, phrase("failsWhere", el("button.link", { onclick: () => showing({ result: "failedA", a: best, slice: worst.key }) }, plain(worst.label)), grouped(worst.lost), grouped(worst.asked))) : null,
    without,
  ]);
}

/** A few failing questions, of each reason in turn. */
function examples(lost, best, whys) {
  const queues = whys.map((why) => lost.filter((at) => reason(best, at) === why)), chosen = [];
  while (chosen.length < EXAMPLES && queues.some((each) => each.length)) {
    for (const queue of queues) if (queue.length && chosen.length < EXAMPLES) chosen.push(queue.shift());
  }
  return chosen.sort((one, other) => one - other);
}

const EXAMPLES = 4;

const clippedText = (at) => shown((data.queries.texts[at] ?? data.queries.ids[at]).slice(0, 80));

/** The slice with the largest share of failures, of those with five questions or more. */
function hardest(lost, asked) {
  const gone = new Set(lost), there = new Set(asked);
  let worst = null;
  for (const slice of slices()) {
    if (slice.value === null) continue;
    const own = slice.rows.filter((at) => there.has(at));
    const count = own.filter((at) => gone.has(at)).length;
    const share = count / own.length;
    if (own.length >= 5 && count > 1 && own.length < asked.length && (!worst || share > worst.share)) {
      worst = { share, lost: count, asked: own.length, key: slice.key, label: `${short(slice.field)}: ${slice.value}` };
    }
  }
  return worst;
}

const short = (field) => field.replace(/^metadata\./, "");

/** The slices of the comparison, each with a key. */
function slices() {
  return (standing()?.slices || []).map((each, at) => ({ ...each, key: String(at) }));
}

// -- the table of metrics ----------------------------------------------------------------------

function metricsTable() {
  const view = standing()?.overall, shownAt = columns();
  const confidence = standing() ? Math.round(standing().statistics.confidence * 100) : null;
  const row = (each) => {
    const lead = view?.leaders[each.name];
    return el("tr", { class: each.name === state.metric ? "chosen" : null },
      el("th", { scope: "row" }, el("button.link", { title: `${meaning(each)} ${t("choose", each.name)}`, onclick: () => choosing({ metric: each.name }) }, breakable(each.name)),
        each.higher === false ? el("small.muted", {}, t("lower")) : null),
      shownAt.map((at) => metricCell(each, at, view, lead)));
  };
  const kinds = ["metric", "measure"].map((kind) => data.metrics.filter((each) => each.kind === kind));
  const groups = kinds.filter((group) => group.length);
  return el("section", { "aria-labelledby": "metrics-title" },
    el("h2", { id: "metrics-title" }, t("metrics")),
    el("p.scroll-hint", {}, t("scrollHint")),
    el("div.scroll", { tabindex: 0, role: "region", "aria-labelledby": "metrics-title" },
      el("table.metrics", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("metric")), shownAt.map((at) => el("th", { scope: "col" }, swatch(at), "\u00a0", breakable(data.retrievers[at]))))),
        groups.map((group, at) => el("tbody", {},
          at ? el("tr.group", {}, el("th", { colspan: shownAt.length + 1, scope: "colgroup" }, t("measures"))) : null,
          group.map(row))))),
    flips(false).map((each) => el("p.legend", {}, each)),
    el("p.legend", {}, shownAt.length < 2 ? null : [el("span.best-mark", {}, "★"), " ", t("best"), "   ", el("span.tie-mark", {}, "≈"), " ", t("tied"), "   "],
      confidence === null ? t("metricsNotePlain") : t("metricsNote", confidence)),
    el("details.meanings", {}, el("summary", {}, t("meanings")), el("dl", {}, data.metrics.map((each) => el("div", {}, el("dt", {}, each.name), el("dd", {}, meaning(each)))))));
}

function metricCell(each, at, view, lead) {
  const mean = cell(at).mean[each.name] ?? null;
  const own = estimate(view, at, each.name);
  const retriever = data.retrievers[at];
  const isBest = starred(lead, at, each), isTied = !isBest && lead?.tied.includes(retriever);
  const bounds = cell(at).bounds[each.name], most = cell(at).maximum[each.name];
  const mark = mean === null ? null : isBest ? el("span.best-mark", { title: t("best") }, "★", el("span.unseen", {}, t("best")))
    : isTied ? el("span.tie-mark", { title: t("tied") }, "≈", el("span.unseen", {}, t("tied"))) : null;
  return el("td", { class: isBest ? "best" : isTied ? "tied" : null },
    el("span.number", {}, mark, number(mean, each)),
    el("span.interval", {}, own ? range(own.low, own.high, each) : ""),
    most === undefined ? null : el("span.interval", {}, t("ofMax", number(most, each))),
    bounds && bounds[1] - bounds[0] > 1e-9 ? el("span.interval", { title: t("boundsHint", range(bounds[0], bounds[1], each)) }, t("possible", range(bounds[0], bounds[1], each))) : null);
}

// -- slices ------------------------------------------------------------------------------------

function slicesSection() {
  const listed = slices();
  if (!listed.length) return null;
  const fields = [...new Set(listed.map((each) => each.field))];
  if (!fields.includes(state.field)) state.field = fields[0];
  const of = metric(), at = columns();
  const tabs = el("div.tabs", { role: "group", "aria-label": t("sliceField") }, fields.map((field) =>
    el("button", { "aria-pressed": String(field === state.field), onclick: () => choosing({ field }) }, plain(short(field)))));
  const rows = listed.filter((each) => each.field === state.field).map((each) => {
    const lead = each.leaders[of.name];
    return el("tr", {},
      el("th", { scope: "row" }, el("button.link", { onclick: () => showing({ slice: each.key }) }, each.value === null ? t("noValue") : breakable(String(each.value)))),
      el("td.n", {}, grouped(each.n)),
      at.map((retriever) => {
        const own = estimate(each, retriever, of.name), who = data.retrievers[retriever];
        const decided = lead?.decided && lead.best === who;
        return el("td", { class: decided ? "best" : null }, el("span.number", {}, decided ? el("span.best-mark", {}, "★") : null, number(own?.value, of)),
          el("span.interval", {}, range(own?.low, own?.high, of)));
      }),
      at.length > 1 ? el("td.decided", {}, lead?.decided ? el("strong.retriever", {}, name(lead.best)) : el("span.muted", {}, t("notDecided"))) : null);
  });
  return el("section", { "aria-labelledby": "slices-title" },
    el("h2", { id: "slices-title" }, t("slices"), " ", el("small", {}, of.name)),
    tabs,
    el("p.scroll-hint", {}, t("scrollHint")),
    el("div.scroll", { tabindex: 0, role: "region", "aria-labelledby": "slices-title" },
      el("table.metrics", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, plain(short(state.field))), el("th.n", { scope: "col" }, t("n")),
        at.map((retriever) => el("th", { scope: "col" }, swatch(retriever), "\u00a0", breakable(data.retrievers[retriever]))), at.length > 1 ? el("th.decided", { scope: "col" }, t("sliceBest")) : null)),
        el("tbody", {}, rows))),
    at.length > 1 ? el("p.legend", {}, t("slicesNote")) : null);
}
