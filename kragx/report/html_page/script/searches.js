// Searches of those who ask several times: what was found by which step, above the questions; and an
// opened question as a line of searches.

const BROUGHT = ["rescued", "in_vain", "wasted", "unread"]; // what a question's searches can come to
const DOTS = 12; // documents of a search that are drawn
const WHOLE = 8; // searches of a question that are all shown; of more, those that brought nothing are folded
const FOLDED = 3; // so many of them in a row

/** The questions of one outcome, as far as the page holds them. */
const searchesWith = (outcome, retriever) => cell(retriever)?.searches?.[outcome] ?? [];

/** Whether a question's searches came to each outcome, by its filter. */
const broughtTo = (query) => Object.fromEntries(BROUGHT.flatMap((outcome) => ["a", "b"].map((side) => [outcome + side.toUpperCase(), searchesWith(outcome, state[side]).includes(query)])));

/** The filters of a side, `a` or `b`: [value, text] pairs of what there is. */
const outcomeFilters = (retriever, side) => BROUGHT.filter((outcome) => searchesWith(outcome, retriever).length)
  .map((outcome) => [outcome + side, t(`${outcome}By`, plain(retrieverName(retriever)))]);

/** The list that metrics are about which name none, in words; empty where nobody searches twice. */
const basisText = () => (data.basis ? t(`basis_${data.basis}`) : "");

// -- above the questions -----------------------------------------------------------------------

function searchesSection() {
  const { searches: table, outcomes, steps, unmeasured } = match(), searching = ranked().filter((retriever) => cell(retriever).searches);
  if (!searching.length) return null;
  const lacking = searching.map((retriever) => [retriever, unmeasured[retrieverName(retriever)]]).filter(([, text]) => text);
  return el("section.searches", { "aria-labelledby": "searches-title" },
    el("h2", { id: "searches-title" }, t("searches")), el("p.muted", {}, basisText()),
    el("div.searches-body", {}, stepsFigure(searching.slice(0, PICTURED), steps),
      el("div", {}, tableNodes("searches-title", counted(chosenOf(table, { retriever: searching.map(retrieverName) }), outcomes)),
        el("details.meanings", {}, el("summary", {}, t("outcomes")), el("dl", {}, BROUGHT.map((outcome) => el("div", {}, el("dt", {}, t(outcome)), el("dd", {}, t(`${outcome}Hint`)))))),
        lacking.map(([retriever, text]) => el("p.legend", {}, strong(retrieverName(retriever)), ": ", textNodes(text))))));
}

function stepsFigure(searching, table) {
  const series = searching.filter(isCompared).map((retriever) => ({ retriever, ...cell(retriever).searches.found })).filter(({ values }) => values.some((own) => own !== null));
  if (!series.length) return null;
  const { steps } = series.reduce((longest, own) => (own.steps.length > longest.steps.length ? own : longest));
  return figure("figure-steps", t("figSteps"), t("figStepsD"),
    lineChart(t("figSteps"), t("step"), steps, series, (n) => t("nthStep", n)),
    el("details", { ontoggle: scrollHints }, el("summary", {}, t("figNumbers")), tableNodes("figure-steps-title", chosenOf(table, { retriever: series.map(({ retriever }) => retrieverName(retriever)) }))));
}

/** A table of retrievers whose last columns count questions by outcome: a count shows its questions. */
function counted({ rows, ...rest }, outcomes) {
  const link = (retriever, outcome, own) => {
    const n = searchesWith(outcome, retriever).length, show = () => showing({ result: `${outcome}A`, a: retriever, b: retriever === state.b ? state.a : state.b, picked: true });
    return n && isCompared(retriever) ? { ...own, nodes: el("span.number", {}, el("button.link", { title: t("showAll", nQuestions(n)), onclick: show }, plainText(own.text))) } : own;
  };
  const first = rest.columns.length - outcomes.length;
  return { ...rest, rows: rows.map((row) => row.map((own, at) => (at < first ? own : link(positionOf(plainText(row[0].text)), outcomes[at - first], own)))) };
}

// -- an opened question ------------------------------------------------------------------------

/** What somebody searched for a question, by step; null for whoever has a list alone. */
function searchesOf(run, flat = []) {
  if (!run?.searches) return null;
  const { docs, list, read, unmatched } = run.searches, golds = docs.map(() => []);
  for (let start = 0; start < flat.length; start += 3) golds[flat[start]].push({ gold: flat[start + 1], score: flat[start + 2] });
  return {
    docs: docs.map(([id, text, score, metadata]) => ({ id, text, score, metadata })), golds, read: read && new Set(read), nRead: read?.length, unmatched: Boolean(unmatched),
    list: list.map(([query, tool, own, lane, seconds, tokens, error, measured, numbers, n]) => ({ query, tool, step: own, lane, seconds, tokens, error, measured, numbers, n })),
  };
}

/** Each search with what of its documents is new: gold that no step before had, and documents that came before. */
function brought({ list, golds }, isGold) {
  const found = new Set(), came = new Set();
  return bySteps(list).flatMap((group) => {
    const told = group.map((search, at) => {
      const places = search.numbers.map((doc) => ({ doc, items: [...new Set(golds[doc].filter(isGold).map(({ gold }) => gold))], before: came.has(doc) }));
      const items = [...new Set(places.flatMap((place) => place.items))];
      return { ...search, places, fresh: items.filter((item) => !found.has(item)), again: items.filter((item) => found.has(item)), isRetry: at > 0 && group[at - 1].lane === search.lane };
    });
    told.forEach(({ fresh, numbers }) => { fresh.forEach((item) => found.add(item)); numbers.forEach((doc) => came.add(doc)); });
    return told;
  });
}

const bySteps = (list) => [...list.reduce((groups, search) => groups.set(search.step, [...(groups.get(search.step) ?? []), search]), new Map()).values()];

/** Each search of a retriever with what it brought of a question's gold. */
function broughtOf({ relevant }, { searches }) {
  const { threshold, pool } = match(), least = threshold ?? (pool ? 1 : 1e-9), items = new Set(relevant.map(({ index }) => index));
  return brought(searches, ({ gold, score }) => items.has(gold) && score !== null && score >= least);
}

/** The step that brought each gold item; of those that were found. */
const stepsOfGold = (question, list) => (list.searches ? new Map(broughtOf(question, list).flatMap(({ fresh, step: own }) => fresh.map((item) => [item, own]))) : new Map());

/** The line of searches of one retriever. */
function searchLine(question, list, shared) {
  const { searches } = list;
  if (!searches) return null;
  const labels = new Map(question.relevant.map((item) => [item.index, item.label])), told = broughtOf(question, list);
  const groups = bySteps(told), isDull = (group) => group.every(({ fresh }) => !fresh.length), lost = (run) => run.flat().filter(({ error }) => error).length;
  const n = groups.flatMap(lanesOf).length, steps = groups.length, gold = new Set(told.flatMap(({ fresh }) => fresh)).size;
  if (!n) return el("p.small.muted", {}, t("noSearch"));
  const draw = (group) => stepItem(question, list, group, labels, shared);
  return el("div.search-line", {},
    el("p.small", {}, el("strong", {}, t(n === 1 ? "nSearches1" : "nSearches", n)), steps < n ? ` ${t(steps === 1 ? "inSteps1" : "inSteps", steps)}` : "", searches.unmatched ? ` · ${t("goldUnknown")}` : labels.size ? ` · ${t("goldOf", gold, labels.size)}` : "",
      searches.read ? ` · ${t("nRead", searches.nRead)}` : searches.unmatched ? "" : ` · ${t("readNotKnown")}`, ["tokens", "seconds"].map((cost) => costOf(told, cost))),
    el("ol.steps", { "aria-label": t("searchesIn", plain(retrieverName(list.retriever))) }, (n > WHOLE ? inRuns(groups, isDull) : groups.map((group) => [group])).map((run) => (run.length < FOLDED ? run.map(draw)
      : el("li.folded-steps", {}, el("details", {}, el("summary", {}, t(searches.unmatched ? "someSteps" : "dullSteps", run[0][0].step, run.at(-1)[0].step), lost(run) ? ` (${t("searchesFailed", lost(run))})` : ""), el("ol.steps", { start: run[0][0].step }, run.map(draw))))))));
}

/** Steps in runs: those that brought nothing together, all others and the last by themselves. */
function inRuns(groups, isDull) {
  const runs = [];
  groups.forEach((group, at) => {
    const dull = at > 0 && at < groups.length - 1 && isDull(group);
    if (dull && runs.at(-1)?.dull) runs.at(-1).run.push(group);
    else runs.push({ dull, run: [group] });
  });
  return runs.map(({ run }) => run);
}

/** What all searches cost together; nothing where it is not known of one. */
function costOf(told, cost) {
  if (told.some((search) => missing(search[cost]))) return "";
  if (cost === "tokens") return ` · ${t("nTokens", grouped(told.reduce((sum, { tokens }) => sum + tokens, 0)))}`;
  return ` · ${duration(bySteps(told).reduce((sum, group) => sum + Math.max(...lanesOf(group).map((lane) => lane.reduce((all, { seconds }) => all + seconds, 0))), 0))}`;
}

/** The searches of a step by lane: one that failed and its retries ran one after the other. */
const lanesOf = (group) => [...group.reduce((lanes, search) => lanes.set(search.lane, [...(lanes.get(search.lane) ?? []), search]), new Map()).values()];

function stepItem(question, list, group, labels, shared) {
  const n = lanesOf(group).length;
  return el("li.step", { value: group[0].step }, el("span.step-number", { "aria-hidden": "true" }, group[0].step),
    el("div.step-searches", {}, n > 1 ? el("p.small.muted", {}, t("sideBySideStep", n)) : null, group.map((search) => searchItem(question, list, search, labels, shared))));
}

function searchItem(question, list, search, labels, shared) {
  const { query, tool, error, measured, fresh, again, places, n } = search, { read } = list.searches;
  const named = (items) => items.map((item) => labels.get(item)).join(", "), nRead = read ? places.filter(({ doc }) => read.has(doc)).length : null;
  const facts = [missing(search.tokens) ? null : t("nTokens", grouped(search.tokens)), missing(search.seconds) ? null : duration(search.seconds), read && places.length ? t("nRead", nRead) : null].filter(Boolean);
  const head = [
    el("span.words", { dir: "auto" }, query ? shown(query) : el("span.muted", {}, t("wordsUnknown"))), tool ? el("span.tag", {}, name(tool)) : null, search.isRetry ? el("span.chip.none", {}, t("searchRetried")) : null,
    error ? el("span.chip.failed", { title: plain(error) }, t("searchFailed")) : !measured ? el("span.chip.none", { title: t("unmeasuredHint") }, t("unmeasured")) : !places.length ? el("span.chip.empty", {}, t("searchEmpty")) : null,
    fresh.length ? el("span.chip.ok", {}, t("freshGold", named(fresh))) : null, again.length ? el("span.chip.again", {}, t("againGold", named(again))) : null,
    measured && places.length && labels.size && !list.searches.unmatched && !fresh.length && !again.length ? el("span.chip.none", {}, t("noFreshGold")) : null,
    places.length ? dots(places, fresh, labels, read, list.searches.docs) : null,
    facts.length ? el("small.muted", {}, facts.join(" · ")) : null];
  if (error || !places.length) return el("div.search", {}, el("div.search-head", {}, head), error ? el("p.problem", {}, el("code", {}, shown(error))) : null);
  const body = el("div.search-docs"), fill = () => { if (!body.childNodes.length) add(body, [searchDocs(question, list, search, labels, shared), n > places.length ? el("p.muted", {}, t("docsLeft", places.length + 1, n)) : null]); };
  return el("details.search", { ontoggle: ({ target }) => { if (target.open) fill(); } }, el("summary.search-head", {}, head), body);
}

/** A mark for each document, by rank: filled for gold, hollow for one that came before, with a foot where it was read. */
function dots(places, fresh, labels, read, docs) {
  const kind = ({ items, before }) => (items.some((item) => fresh.includes(item)) ? "new" : items.length ? "again" : before ? "before" : "none");
  const said = ({ doc, items, before }, at) => [`${at + 1}. ${docs[doc].id === null ? "" : plain(docs[doc].id)}`, items.map((item) => labels.get(item)).join(", "), before ? t("cameBefore") : "", read?.has(doc) ? t("wasRead") : ""].filter(Boolean).join(" · ");
  return el("span.dots", { role: "img", "aria-label": places.map(said).join("; ") }, places.slice(0, DOTS).map((place, at) => el(`i.dot-${kind(place)}${read?.has(place.doc) ? ".read" : ""}`, { title: said(place, at) })),
    places.length > DOTS ? el("small.muted", {}, `+${places.length - DOTS}`) : null);
}

/** The documents of a search, as those of a list. */
function searchDocs(question, list, { places }, labels, shared) {
  const { docs, golds, read } = list.searches;
  const scores = places.flatMap(({ doc }, rank) => golds[doc].map((pair) => ({ ...pair, doc: rank })));
  const ofSearch = { ...list, scores, judgements: [], decisions: [], docs: places.map(({ doc }) => docs[doc]), isSearch: true };
  return places.map(({ doc, before }, rank) => docCard(question, ofSearch, { ...docs[doc], notes: [before ? t("cameBefore") : null, read?.has(doc) ? t("wasRead") : null].filter(Boolean) }, rank, shared));
}
