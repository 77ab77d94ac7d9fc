// Which retrievers and metrics the tables and figures show: the best, until the reader chooses.

const PICTURED = 8; // retrievers in figures and slices: more lines than these nobody follows
const LADDER = 6; // above so many, retrievers stand below each other in the table of metrics
const COLUMN = 104, WIDE_COLUMN = 132, BESIDE = 560; // pixels of a retriever's column, and of the others of the questions' table

/** The retrievers that have results under this matcher, the best by the chosen metric first. */
function ranked() {
  const sense = metric()?.higher === false ? 1 : -1;
  const place = (retriever) => (!isCompared(retriever) ? Infinity : mean(retriever) === null ? 1e300 : sense * mean(retriever));
  return present().map((retriever) => [place(retriever), retriever])
    .sort(([one, first], [other, second]) => (one === other ? first - second : one < other ? -1 : 1)).map(([, retriever]) => retriever);
}

/** The retrievers to show, the best first: those chosen, or else the two compared, the one sorted by, and the best. */
function columns(most = PICTURED) {
  const all = ranked();
  if (state.retrievers) return all.filter((retriever) => state.retrievers.includes(retriever));
  const sorted = all.filter((retriever) => String(retriever) === state.sort.by);
  const held = new Set([state.a, state.b, ...sorted, ...all].slice(0, Math.max(2, most)));
  for (const retriever of all) if (held.size < most) held.add(retriever);
  return all.filter((retriever) => held.has(retriever));
}

/** As many columns as leave the questions a width at which they can be read. */
const roomForColumns = () => Math.max(2, Math.floor((byId("main").clientWidth - BESIDE) / COLUMN));

/** Whether not even the two compared have room beside question, lead and reason: all stand closer then. */
const isClose = () => byId("main").clientWidth < BESIDE + 2 * COLUMN;

const shownMetrics = () => (state.metrics ? data.metrics.filter((each) => state.metrics.includes(each.name)) : data.metrics);

/** Retrievers and metrics to be ticked. */
function columnChooser() {
  const all = ranked();
  if (all.length < 2) return null;
  const shown = columns(roomForColumns()), metrics = shownMetrics().map((each) => each.name);
  const ticked = (list, entry) => (list.includes(entry) ? list.filter((other) => other !== entry) : [...list, entry]);
  const box = (id, checked, onchange, ...text) => el("label.tick", {}, el("input", { id, type: "checkbox", checked, onchange }), el("span", {}, text));
  const retrievers = (list) => choosing({ retrievers: list });
  return el("details.chooser", { id: "chooser", open: state.choosing, ontoggle: (event) => { state.choosing = event.target.open; } },
    el("summary", { id: "chooser-title" }, t("columns", shown.length, all.length)),
    el("div.chooser-body", {},
      el("fieldset", {}, el("legend", {}, t("retrieversShown")),
        el("p.ticks-all", {},
          el("button.link", { id: "columns-best", "aria-pressed": String(!state.retrievers), onclick: () => retrievers(null) }, t("columnsBest")), " · ",
          el("button.link", { id: "columns-all", onclick: () => retrievers(all) }, t("columnsAll")), " · ",
          el("button.link", { id: "columns-pair", onclick: () => retrievers([...new Set([state.a, state.b])]) }, t("columnsPair"))),
        all.map((retriever) => box(`shown-${retriever}`, shown.includes(retriever), () => retrievers(keepingOne(ticked(shown, retriever), shown)),
          swatch(retriever), " ", name(retrieverName(retriever)), " ", el("span.muted", {}, meanText(retriever))))),
      data.metrics.length < 2 ? null : el("fieldset", {}, el("legend", {}, t("metricsShown")),
        data.metrics.map((each, position) => box(`metric-${position}`, metrics.includes(each.name),
          () => choosing({ metrics: keepingOne(ticked(metrics, each.name), metrics) }), each.name)))));
}

/** At least one column stays. */
const keepingOne = (list, before) => (list.length ? list : before);

/** Where figures and slices leave retrievers out, that they do, and where to choose. */
function leftOut() {
  const shown = columns().length, all = present().length;
  if (shown === all) return null;
  return el("p.legend", {}, t("columnsOf", shown, all), " ", el("button.link", { onclick: openChooser }, t("columnsChoose")));
}

function openChooser() {
  const box = byId("chooser");
  box.open = true;
  box.scrollIntoView({ block: "start" });
  byId("chooser-title").focus({ preventScroll: true });
}

/** A click elsewhere closes what lies over the page; Escape does, too. */
function closeChooser(focus) {
  const box = byId("chooser");
  if (!box?.open) return false;
  box.open = state.choosing = false;
  if (focus) byId("chooser-title").focus();
  return true;
}
