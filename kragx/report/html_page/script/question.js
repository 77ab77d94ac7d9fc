// One question: gold and the lists of retrievers side by side, with what they share marked.

let latest = 0; // the latest request to draw wins
let isLeaving = false; // on the way back in the history, from a question that was closed

// -- opening and closing -------------------------------------------------------------------------

async function openQuestion(query) {
  const dialog = byId("detail"), request = ++latest;
  state.open = query;
  state.gold = null;
  if (!dialog.open) {
    byId("opened").replaceChildren(el("p.loading", {}, t("loading")));
    dialog.showModal();
    document.documentElement.classList.add("locked");
  }
  visiting(query);
  await drawQuestion(request);
  dialog.scrollTop = 0;
}

/** An opened question is a place in the browser's history, so that Back closes it. */
function visiting(query) {
  const id = data.queries.ids[query], before = history.state?.query;
  if (isLeaving) return; // `travelled` sees to it
  try {
    if (before !== id) history[before === undefined ? "pushState" : "replaceState"]({ query: id }, "", `#${address()}`);
  } catch { /* where a page has no history, Back leaves it */ }
  remember();
}

/** Back and forward: the question that the place in the history names, or none. An address typed in says all. */
function travelled() {
  const dialog = byId("detail"), typed = !history.state && location.hash.includes("="), hasLeft = isLeaving;
  isLeaving = false;
  if (hasLeft && !typed && state.open !== null) return visiting(state.open); // opened before the way back was over
  const query = typed ? adopt(location.hash) ?? -1 : data.queries.ids.indexOf(history.state?.query);
  if (typed) {
    try { history.replaceState({ page: true, ...(query >= 0 ? { query: data.queries.ids[query] } : {}) }, ""); } catch { /* as in remember */ }
    renderAll();
  }
  if (query >= 0 && (typed || state.open !== query)) openQuestion(query);
  else if (query < 0 && dialog.open) dialog.close();
  else remember();
}

const closeQuestion = () => byId("detail").close();

/** The dialog has closed: back to the row that was open. */
function closed() {
  if (byId("detail").open) return; // opened anew before it was told
  document.documentElement.classList.remove("locked");
  if (history.state?.query !== undefined && !isLeaving) {
    isLeaving = true;
    history.back();
  }
  const position = filtered.indexOf(state.open);
  state.open = null;
  if (history.state?.query === undefined) remember();
  if (position >= 0) pick(position);
}

function step(by) {
  const position = filtered.indexOf(state.open) + by;
  if (position < 0 || position >= filtered.length) return;
  state.selected = position;
  openQuestion(filtered[position]);
}

/** The lists that are open: of the two compared, and of those that the reader added. */
function openLists() {
  const sides = [...new Set([sideOf("a"), sideOf("b")])];
  return [...sides, ...state.lists.filter((retriever) => cell(retriever) && !sides.includes(retriever))]
    .map((retriever, place) => ({ retriever, side: place < sides.length ? ["a", "b"][place] : "more", id: place < sides.length ? ["a", "b"][place] : `more-${place}` }));
}

/** Add the list of a retriever beside the others, or take it away. */
function toggleList(retriever) {
  if (state.lists.includes(retriever)) state.lists = state.lists.filter((other) => other !== retriever);
  else state.lists = [...state.lists, retriever];
  remember();
  drawQuestion();
}

/** Another retriever in place of one that is open. */
function replaceList(before, retriever) {
  if (before.side !== "more") return pickSide(before.side, retriever);
  state.lists = [...new Set(state.lists.map((each) => (each === before.retriever ? retriever : each)))];
  remember();
  return drawQuestion();
}

/** Another retriever on one side, `a` or `b`, here and in the table; one that is no result here alone. */
function pickSide(side, retriever) {
  const { [side]: _, ...others } = state.looked;
  Object.assign(state, isCompared(retriever) ? { [side]: retriever, picked: true, looked: others } : { looked: { ...others, [side]: retriever } });
  state.lists = state.lists.filter((other) => other !== retriever);
  renderFilters();
  renderQuestions();
  drawQuestion();
}

// -- drawing -------------------------------------------------------------------------------------

async function drawQuestion(request = ++latest) {
  const query = state.open, detail = await detailOf(query), pool = detail.pool[state.match];
  const lists = openLists().map((list) => listOf(detail, list));
  const gold = pool || detail.gold;
  const alternatives = gold.map((item) => [[item.id, item.text], ...(item.alternatives || [])]);
  const texts = await textsOf([...alternatives.flat().map(([, text]) => text), ...lists.flatMap(docsOf).map((doc) => doc.text)]);
  const metadata = await textsOf(lists.flatMap(docsOf).map((doc) => doc.metadata), "metadata");
  if (request !== latest || state.open !== query) return;
  const items = gold.map((item, index) => ({
    ...item, index, alternatives: item.alternatives || [], phrase: detail.phrases[state.match].includes(index),
    relevant: pool ? cell(present()[0]).first[query]?.[index] !== -1 : item.grade > 0,
    texts: alternatives[index].filter(([, text]) => text >= 0).map(([, text]) => texts.get(text)),
  }));
  const relevant = items.filter((item) => item.relevant);
  relevant.forEach((item, position) => { item.label = `G${position + 1}`; });
  const compared = state.gold === null ? relevant : relevant.filter((item) => item.index === state.gold);
  const dialog = byId("detail"), scrolled = dialog.scrollTop, focused = document.activeElement?.id;
  byId("opened").replaceChildren();
  add(byId("opened"), [questionHead(query), questionBody({ query, items, relevant, compared, lists, texts, metadata }, detail)]);
  dialog.scrollTop = scrolled;
  if (focused) dialog.querySelector(`#${CSS.escape(focused)}`)?.focus();
}

/** All documents of a list, and of the searches behind it. */
const docsOf = ({ docs, searches }) => [...docs, ...(searches?.docs ?? [])];

/** What a retriever returned, with the scores, judgements and decisions of its documents. */
function listOf(detail, { retriever, side, id }) {
  const column = present().indexOf(retriever), run = detail.runs[retrieverName(retriever)];
  const flat = detail.pairs[state.match][column] || [], scores = [];
  for (let start = 0; start < flat.length; start += 3) scores.push({ doc: flat[start], gold: flat[start + 1], score: flat[start + 2] });
  return {
    side, id, retriever, run, scores, searches: searchesOf(run, detail.searched?.[state.match][column]),
    docs: (run?.docs || []).map(([docId, text, score, metadata, repeated]) => ({ id: docId, text, score, metadata, repeated })),
    held: detail.held[state.match][column] || [],
    judgements: (detail.reasons[state.match][column] || []).map(([doc, gold, grade, why]) => ({ doc, gold, grade, why })),
    decisions: (detail.decided[state.match][column] || []).map(([doc, gold, verdict, ...steps]) => ({ doc, gold, verdict, steps })),
  };
}

function questionHead(query) {
  const position = filtered.indexOf(query), text = data.queries.texts[query], id = data.queries.ids[query];
  return el("header.detail-head", {},
    el("div.detail-bar", {},
      el("span.muted", {}, name(id), position >= 0 ? ` · ${t("of", grouped(position + 1), grouped(filtered.length))}` : ""),
      el("span.grow"),
      copyButton("copy-question"),
      el("button", { id: "previous", "aria-label": t("previous"), disabled: position <= 0, onclick: () => step(-1), "aria-keyshortcuts": "k ArrowLeft" }, "‹ ", el("span", {}, t("previous"))),
      el("button", { id: "next", "aria-label": t("next"), disabled: position < 0 || position >= filtered.length - 1, onclick: () => step(1), "aria-keyshortcuts": "j ArrowRight" }, el("span", {}, t("next")), " ›"),
      el("button", { id: "close", onclick: closeQuestion, "aria-label": t("close") }, "✕")),
    el("h2", { id: "detail-title", dir: "auto", tabindex: -1, autofocus: true }, text ? shown(text) : name(id)),
    el("div.tags", {}, data.queries.weights ? el("span.tag", {}, nAsks(String(data.queries.weights[query]))) : null, slices().filter((slice) => slice.value !== null && slice.rows.includes(query)).map((slice) => el("span.tag", {}, `${plain(fieldName(slice.field))}: `, name(slice.value)))));
}

const ownColour = (retriever) => ({ vars: { "--own": colour(retriever) } });
const HELD = new Map([[1, "held"], [0.5, "partlyHeld"], [0, "notHeld"], [null, "notKnownHeld"]]);

/** What was said before the question. */
const historyList = (history) => (history?.length ? el("details.history", { open: history.length <= 4 }, el("summary", {}, t("history", history.length)),
  el("ol", {}, history.map(([role, content]) => el("li", { dir: "auto" }, el("strong", {}, ["user", "assistant"].includes(role) ? t(`role_${role}`) : plain(role)), ": ", shown(content))))) : null);

function questionBody(question, { facts, reference, history }) {
  const { compared, lists } = question, shared = vocabulary(compared.flatMap((item) => item.texts));
  return [
    historyList(history),
    whatWentWrong(question),
    el("p.marks", {}, t("marked"), match().members ? ` ${t("deciding")}` : "", lists.some(({ searches }) => searches) ? ` ${t("dotsNote")}` : ""),
    allRetrievers(question.query, lists),
    el("div.sides" + (lists.length > 2 ? ".many" : lists.length > 1 ? ".two" : ""), lists.length > 2 ? { tabindex: 0, role: "region", "aria-label": t("sideBySide", lists.length) } : {}, goldSide(question), lists.map((list) => listSide(question, list, shared))),
    el("section.notes", {},
      facts?.length ? [el("h3", {}, t("facts")), el("ul", {}, facts.map(([fact, vital], number) => el("li", { dir: "auto" }, shown(fact), vital ? null : el("span.muted", {}, ` (${t("okay")})`),
        lists.map(({ held, retriever }) => held.length ? el("span.held", ownColour(retriever), ` ${plain(retrieverName(retriever))}: ${t(HELD.get(held[number]))}`) : null))))] : null,
      reference ? [el("h3", {}, t("reference")), el("p", { dir: "auto" }, shown(reference))] : null),
  ];
}

/** In a sentence or two for each list that fails: which gold it misses, its first document, the closest. */
function whatWentWrong(question) {
  const lost = question.lists.filter((list) => failed(list.retriever, question.query) && list.docs.length);
  if (!lost.length || !question.relevant.length) return null;
  return el("div.told", { role: "note" }, lost.map((list) => el("p", ownColour(list.retriever), whatIsMissing(question, list), whatCameLater(question, list))));
}

/** What of the gold that a list lacks another search brought. */
function whatCameLater(question, list) {
  const steps = stepsOfGold(question, list);
  return question.relevant.filter(({ index }) => steps.has(index)).map(({ index, label: named }) => ` ${t("told_later", named, steps.get(index))}`);
}

function whatIsMissing({ query, relevant, texts }, { retriever, docs }) {
  const result = cell(retriever), who = strong(retrieverName(retriever)), why = reason(retriever, query);
  const quoted = (text) => el("bdi", {}, "“", shown(text.trim().slice(0, 40)), text.trim().length > 40 ? "…" : "", "”");
  const named = (id, text) => (id ? name(id) : quoted(text || ""));
  const doc = (rank) => { const own = docs[rank - 1]; return own ? named(own.id, texts.get(own.text)) : "…"; };
  const gold = (items) => (relevant.length > 1 ? items.map((item) => item.label).join(", ") : named(relevant[0].id, relevant[0].texts[0]));
  if (why === "late") {
    const rank = firstRank(retriever, query), hit = relevant.find((item) => ranksOf(retriever)[query][item.index] === rank);
    return phrase("told_late", who, gold([hit]), rank, metric().name, reach());
  }
  if (why === "unknown") return [who, ": ", reasonText(why)];
  const parts = [phrase("told", who, gold(relevant)), " ", phrase("told_first", doc(1)), " "];
  const { threshold } = match(), scored = threshold === null ? [] : relevant.map((item) => closest(retriever, query, item.index));
  const { score, rank } = scored.sort((one, other) => (other.score ?? 0) - (one.score ?? 0))[0] || {};
  if (score > 0) parts.push(rank === 1 ? phrase("told_itself", score, threshold) : phrase("told_scored", doc(rank), rank, score, threshold), " ");
  const kin = result.kin[query], alike = result.alike[query];
  if (kin) parts.push(phrase("told_kin", kin[0], doc(kin[0])));
  else if (["alike", "similar"].includes(why)) parts.push(phrase("told_share", doc(alike[0]), alike[0], percent(alike[1])));
  return parts;
}

/** A chip for each retriever: its value, the rank of its first gold; click to add its list, or to take it away. */
function allRetrievers(query, lists) {
  if (present().length < 3) return null;
  return el("div.all-retrievers", { role: "group", "aria-label": t("allRetrievers") }, ranked().map((retriever) => {
    const side = lists.find((list) => list.retriever === retriever)?.side, fixed = side === "a" || side === "b";
    return el("button." + (side ? `side-${side}` : "free"), { id: `retriever-${retriever}`, ...ownColour(retriever), title: fixed ? null : t(side ? "listAway" : "listAdd"), "aria-pressed": String(Boolean(side)), "aria-disabled": fixed ? "true" : null, onclick: () => { if (!fixed) toggleList(retriever); } },
      swatch(retriever), el("span.retriever", {}, name(retrieverName(retriever))), el("b", {}, valueText(retriever, query)), hasFailed(retriever, query) ? null : el("small", {}, rankOrReason(retriever, query)));
  }));
}

// -- gold ----------------------------------------------------------------------------------------

function goldSide(question) {
  const { query, items, relevant, texts } = question, pooled = Boolean(match().pool);
  const others = pooled ? [] : items.filter((item) => !item.relevant);
  return el("section.side.gold", { "aria-labelledby": "gold-title" }, el("div.stay", {}, el("h3", { id: "gold-title" }, t(pooled ? "relevantPool" : "golds"), help(t("help_grade"))),
    relevant.length ? null : el("p.muted", {}, t(isUnanswerable(query) ? "unanswerable" : reason(present()[0], query) === "nogold" ? "noGold" : "texts")),
    relevant.map((item) => goldCard(question, item)),
    others.length ? el("details", {}, el("summary", {}, t("notGoldItem"), ` (${others.length})`), others.map((item) =>
      el("article.card", {}, el("div.card-head", {}, gradeChip(item), idOf(item)), textBlock(item.text, texts, null, t("textUnknown"))))) : null));
}

const gradeChip = ({ grade }) => el("span.chip.none", {}, t("grade", grade));
const idOf = ({ id }) => (id ? el("small.id", {}, name(id)) : null);

function goldCard(question, item) {
  const { query, relevant, lists, texts } = question;
  const near = lists.map((list) => nearestDoc(item, list)).filter((doc) => doc?.text >= 0);
  const shared = vocabulary(near.map((doc) => texts.get(doc.text))), pressed = state.gold === item.index;
  const choose = () => { state.gold = pressed ? null : item.index; drawQuestion(); };
  return el("article.card", {},
    el("div.card-head", {},
      relevant.length > 1 ? el("button.gold-mark", { id: `gold-${item.index}`, "aria-pressed": String(pressed), title: t("compareGold"), onclick: choose }, item.label) : el("span.gold-mark", {}, item.label),
      item.grade !== 1 || match().pool ? gradeChip(item) : null,
      idOf(item)),
    textBlock(item.text, texts, shared, item.id ? t("textUnknown") : t("noText")),
    item.phrase ? el("p.muted", {}, t("shortGold")) : null,
    item.alternatives.length ? el("details", { open: item.text < 0 }, el("summary", {}, `${t("alternatives")} (${item.alternatives.length})`),
      item.alternatives.map(([id, text]) => el("div.alternative", {}, idOf({ id }), textBlock(text, texts, shared, t("textUnknown"))))) : null,
    el("ul.ranks", {}, lists.map((list) => el("li", ownColour(list.retriever), rankOf(query, item, list.retriever, stepsOfGold(question, list).get(item.index))))));
}

/** The document that matches a gold item, or else comes nearest, by score. */
function nearestDoc(item, { scores, docs }) {
  const own = scores.filter(({ gold, score }) => gold === item.index && score !== null);
  return own.length ? docs[own.reduce((best, other) => (other.score > best.score ? other : best)).doc] : null;
}

function rankOf(query, item, retriever, searched) {
  const who = plain(retrieverName(retriever)), { threshold, top } = match();
  const first = cell(retriever).first[query]?.[item.index], { score, rank } = closest(retriever, query, item.index);
  if (first === null) return el("span", {}, t("unknownAt", who));
  if (first > 0) return el("span.hit", {}, t("foundAt", who, first));
  if (searched) return el("span.hit", {}, t("foundInStep", who, searched));
  if (threshold !== null && score > 0) return el("span.miss", {}, t(top > 1 ? "nearestGrade" : "nearest", who, score, rank, threshold));
  return el("span.miss", {}, t("notIn", who));
}

// -- a retriever's list --------------------------------------------------------------------------

function listSide(question, list, shared) {
  const { query } = question, { side, id, retriever, run, docs } = list, named = retrieverName(retriever);
  const choose = present().length > 1
    ? [swatch(retriever), select({ id: `list-${id}`, "aria-label": t("retrieved") }, ranked().map((each) => [each, retrieverName(each)]), retriever, (chosen) => replaceList(list, Number(chosen)))]
    : el("strong", {}, name(named));
  const result = cell(retriever), seconds = result.seconds?.[query], status = result.status[query], why = reason(retriever, query);
  const head = el("div.side-head", {}, choose, el("b", {}, valueText(retriever, query)),
    el("span.muted", {}, metric().name, missing(seconds) ? "" : ` · ${duration(seconds)}`, isCompared(retriever) ? "" : ` · ✗ ${t("notCompared")}`), help(scoreHelp()),
    side === "more" ? el("button.away", { id: `away-${retriever}`, "aria-label": `${t("listAway")}: ${plain(named)}`, onclick: () => toggleList(retriever) }, "✕") : null);
  const cut = metric().list ? null : cutOf(retriever, query);
  const cutLine = () => el("p.cut", {}, el("span", {}, t("cutLine", metric().name)));
  let body;
  if (!data.kept.texts && !run) body = el("p.muted", {}, t("texts"));
  else if (status === "m" || status === "-" || !run) body = el("p.problem", {}, t("missingList"));
  else if (status === "f") body = el("p.problem", {}, phrase("failedList", el("code", {}, shown(run.error || ""))));
  else if (list.searches && !list.searches.list.length && !docs.length) body = null; // that no search was made is said above
  else if (!docs.length) body = el("p.problem", {}, t("emptyList"));
  else body = [cut === 0 ? cutLine() : null,
    docs.map((doc, position) => [docCard(question, list, doc, position, shared), position + 1 === cut && cut < run.n ? cutLine() : null]),
    run.n > docs.length ? el("p.muted", {}, t("docsLeft", docs.length + 1, run.n)) : null];
  return el("section.side.list.series-" + side, { "aria-label": plain(named), ...ownColour(retriever) }, head,
    ["ok", ""].includes(why) ? null : el("p.why-line", {}, el("span.chip." + why, { title: reasonHint(why) }, reasonExactly(retriever, query))), searchLine(question, list, shared), list.searches && docs.length ? el("h4", {}, t(`documents_${data.basis}`), metric().list ? "" : t("documentsLooked", metric().name)) : null, body);
}

/** What stands beside documents: scores against the threshold, or a plain yes. */
function scoreHelp() {
  const { threshold, near, top, pool, label: matcher } = match();
  if (pool) return t("help_pool", pool.rel);
  return threshold === null ? t("help_yes", matcher) : t(top > 1 ? "help_gradeScore" : "help_score", matcher, asWritten(threshold), asWritten(near));
}

function docCard(question, list, doc, position, shared) {
  const { query, relevant, compared, texts } = question, { threshold, near, pool } = match();
  const labels = new Map(relevant.map((item) => [item.index, item.label]));
  const ofDoc = (entries) => entries.filter((entry) => entry.doc === position);
  const least = threshold ?? (pool ? 1 : 1e-9), pairs = ofDoc(list.scores).filter(({ gold }) => labels.has(gold));
  const isHit = ({ score }) => score !== null && score >= least, isMatch = pairs.some(isHit);
  const chips = pairs.sort((one, other) => (other.score ?? -1) - (one.score ?? -1)).slice(0, 4).map((pair) => {
    const { gold, score } = pair, hit = isHit(pair), yes = hit ? ` ✓ ${t("isMatch")}` : "";
    const said = score === null ? t("notKnown") : threshold === null ? `✓ ${t("isMatch")}` : `${score} ${hit ? "≥" : "<"} ${threshold}${yes}`;
    const kind = hit ? "ok" : score === null ? "unknown" : score >= (near ?? least) ? "near" : "none";
    return el("span.chip." + kind, {}, `${labels.get(gold)} ${said}`);
  });
  const decided = decisions(ofDoc(list.decisions), labels);
  const text = texts.get(doc.text) ?? null, wanted = compared.flatMap((item) => item.texts);
  const compare = text !== null && !decided.length && threshold === null && !isMatch && wanted.length;
  const share = compare ? Math.max(...wanted.map((each) => overlap(each, text))) : 0, { alike, similar } = data.limits;
  return el("article.card" + (isMatch && !doc.repeated ? ".hit" : ""), {},
    el("div.card-head", {}, el("span.rank", {}, position + 1), idOf(doc), el("span.grow"),
      leakChip(leakAmong(list.retriever, query, doc, position)),
      chips, (doc.notes ?? []).map((note) => el("span.chip.none", {}, note)),
      share >= 0.1 ? el("span.chip." + (share >= alike ? "alike" : share >= similar ? "similar" : "none"), {}, t("shared", percent(share))) : null,
      !list.isSearch && cell(list.retriever).kin[query]?.includes(position + 1) ? el("span.chip.kin", { title: t("hint_kin") }, t("sameSource")) : null,
      doc.repeated ? el("span.chip.none", {}, t("repeated")) : null),
    textBlock(doc.text, texts, shared, t("noText")),
    decided,
    ofDoc(list.judgements).filter(({ why }) => why).map(({ gold, grade, why }) => el("p.judge", { dir: "auto" },
      el("b", {}, t("judge"), labels.has(gold) && labels.size > 1 ? ` ${labels.get(gold)}` : "", grade === null ? "" : `, ${t("gradeGiven", grade)}`, ": "), shown(why))),
    missing(doc.score) ? null : el("small.muted", {}, t(rises(list.docs) ? "retrieverDistance" : "retrieverScore", +Number(doc.score).toPrecision(4))),
    metadataOf(doc, question.metadata));
}

/** Whether scores rise down a list, as distances do. */
const rises = (docs) => docs[0].score < docs.at(-1).score && docs.every(({ score }, at) => at === 0 || docs[at - 1].score <= score);

/** What a document carries beside its text, folded: texts as text, anything else as JSON. */
function metadataOf(doc, metadata) {
  if (!(doc.metadata >= 0)) return null;
  const { entries, more } = JSON.parse(metadata.get(doc.metadata)), first = entries.slice(0, 2).map(([key]) => plain(key)).join(", ");
  return el("details.metadata", {}, el("summary", {}, t("metadata"), el("span.muted", {}, ` ${first}${entries.length + more > 2 ? " …" : ""}`)),
    el("dl", {}, entries.map(([key, text, left]) => el("div", {}, el("dt", {}, name(key)), el("dd", { dir: "auto" }, shown(text), left ? el("span.muted", {}, " ", t("cut", grouped(left))) : null)))),
    more ? el("p.muted.small", {}, t("metadataMore", more)) : null);
}

/** Of a combination: who decided each match, or else what came furthest, and why. */
function decisions(ofDoc, labels) {
  const own = ofDoc.filter(({ gold }) => labels.has(gold)), matches = own.filter(({ verdict }) => verdict !== "n");
  const reached = ({ steps }) => steps.length + (steps[steps.length - 1]?.[1] ?? 0) / 100;
  const told = matches.length ? matches : own.sort((one, other) => reached(other) - reached(one)).slice(0, 1);
  const between = match().method === "cascade" ? " → " : " · ";
  return told.map(({ gold, verdict, steps }) => el("p.decision", {}, labels.size > 1 ? `${labels.get(gold)}: ` : "",
    joined(steps.map((stepOf) => el(stepOf[3] ? "b" : "span", {}, stepText(...stepOf))), between),
    " → ", t(`verdict_${verdict}`)));
}

/** What one member of a combination said of a pair. */
function stepText(member, score, verdict) {
  const [named, accept, reject] = match().members[member], who = plain(named);
  if (verdict === "u") return `${who}: ${t("notKnown")}`;
  if (verdict === "o") return `${who} ${score} (${reject === null ? t("openBelow", accept) : accept === null ? t("openAbove", reject) : t("openBetween", reject, accept)})`;
  const limit = verdict === "m" || reject === null ? accept : reject;
  return limit === null ? `${who}: ${t(`verdict_${verdict}`)}` : `${who} ${score} ${verdict === "m" ? "≥" : "<"} ${limit}`;
}

const LONG = 420;

/** A text by its number, folded if it is long. */
function textBlock(text, texts, shared, instead) {
  if (text < 0) return el("p.muted.small", {}, instead);
  const trimmed = texts.get(text).trim(), body = el("p.text", { dir: "auto" }, marked(trimmed, shared));
  if (trimmed.length <= LONG) return body;
  body.classList.add("folded");
  const button = el("button.link.fold", { "aria-expanded": "false", onclick: () => {
    const folded = body.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!folded));
    button.textContent = t(folded ? "more" : "less");
  } }, t("more"));
  return [body, button];
}
