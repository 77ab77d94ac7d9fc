// One question: gold and two retrievers' lists side by side, with what they share marked.

let opening_ = 0; // the latest request wins

async function openQuestion(query) {
  const dialog = document.getElementById("detail");
  const own = ++opening_;
  state.open = query;
  state.gold = null;
  if (!dialog.open) {
    dialog.replaceChildren(el("p.loading", {}, t("loading")));
    dialog.showModal();
    if (history.state?.query === undefined) visiting(query, "pushState");
    document.documentElement.classList.add("locked");
  }
  if (history.state?.query !== data.queries.ids[query]) visiting(query, "replaceState");
  await drawDetail(own);
  dialog.scrollTop = 0;
}

/** An opened question is a place in the browser's history, so that Back closes it. */
function visiting(query, how) {
  const id = data.queries.ids[query];
  try { history[how]({ query: id }, "", `#q=${encodeURIComponent(id)}`); } catch { /* where a page has no history, Back leaves it */ }
}

/** Back and forward: the question that the place in the history names, or none. */
function travelled() {
  const dialog = document.getElementById("detail"), query = data.queries.ids.indexOf(history.state?.query);
  if (query >= 0 && state.open !== query) openQuestion(query);
  else if (query < 0 && dialog.open) dialog.close();
}

function closeQuestion() {
  document.getElementById("detail").close();
}

/** The dialog has closed: back to the row that was open. */
function closed() {
  document.documentElement.classList.remove("locked");
  if (history.state?.query !== undefined) history.back();
  const at = filtered.indexOf(state.open);
  state.open = null;
  if (at >= 0) pick(at);
}

function step(by) {
  const at = filtered.indexOf(state.open) + by;
  if (at < 0 || at >= filtered.length) return;
  state.selected = at;
  openQuestion(filtered[at]);
}

async function drawDetail(own = ++opening_) {
  const query = state.open, detail = await detailOf(query);
  const at = state.match, two = present().length > 1 && state.a !== state.b;
  const lists = (two ? [state.a, state.b] : [state.a]).map((retriever) => ({ retriever, run: detail.runs[data.retrievers[retriever]] || null, ...read(detail, at, retriever) }));
  const gold = detail.pool[at] || detail.gold;
  const numbers = [...gold.flatMap((each) => [each.text, ...(each.alternatives || []).map((other) => other[1])]), ...lists.flatMap(({ run }) => (run ? run.docs.map((doc) => doc[1]) : []))];
  const texts = await textsOf(numbers);
  if (own !== opening_ || state.open !== query) return;
  const dialog = document.getElementById("detail");
  const kept = { scroll: dialog.scrollTop, focus: document.activeElement?.id };
  dialog.replaceChildren();
  add(dialog, [detailHead(query), detailBody(query, detail, gold, lists, texts)]);
  dialog.scrollTop = kept.scroll;
  if (kept.focus) dialog.querySelector(`#${CSS.escape(kept.focus)}`)?.focus();
}

/** A retriever's scores and judgements of one question, by document. */
function read(detail, at, retriever) {
  const order = present().indexOf(retriever);
  const flat = detail.pairs[at][order] || [], scores = [];
  for (let i = 0; i < flat.length; i += 3) scores.push({ doc: flat[i], gold: flat[i + 1], score: flat[i + 2] });
  const said = (detail.reasons[at][order] || []).map(([doc, gold, grade, why]) => ({ doc, gold, grade, why }));
  return { scores, said, decided: detail.decided[at][order] || [] };
}

function detailHead(query) {
  const at = filtered.indexOf(query), text = data.queries.texts[query];
  return el("header.detail-head", {},
    el("div.detail-bar", {},
      el("span.muted", {}, name(data.queries.ids[query]), at >= 0 ? ` · ${t("of", grouped(at + 1), grouped(filtered.length))}` : ""),
      el("span.grow"),
      el("button", { id: "previous", "aria-label": t("previous"), disabled: at <= 0, onclick: () => step(-1), "aria-keyshortcuts": "k ArrowLeft" }, "‹ ", el("span", {}, t("previous"))),
      el("button", { id: "next", "aria-label": t("next"), disabled: at < 0 || at >= filtered.length - 1, onclick: () => step(1), "aria-keyshortcuts": "j ArrowRight" }, el("span", {}, t("next")), " ›"),
      el("button", { id: "close", onclick: closeQuestion, "aria-label": t("close") }, "✕")),
    el("h2", { id: "detail-title", dir: "auto", tabindex: -1, autofocus: true }, text ? shown(text) : name(data.queries.ids[query])),
    el("div.tags", {}, slices().filter((each) => each.value !== null && each.rows.includes(query)).map((each) => el("span.tag", {}, `${plain(short(each.field))}: `, name(each.value)))));
}

function detailBody(query, detail, gold, lists, texts) {
  const relevant = (each, i) => (detail.pool[state.match] ? cell(present()[0]).first[query]?.[i] !== -1 : each.grade > 0);
  const wanted = gold.map((each, i) => ({ ...each, at: i, relevant: relevant(each, i), texts: [each.text, ...(each.alternatives || []).map((other) => other[1])].filter((n) => n >= 0).map((n) => texts.get(n).text) }));
  const main = wanted.filter((each) => each.relevant);
  const compared = state.gold === null ? main : main.filter((each) => each.at === state.gold);
  const known = vocabulary(compared.flatMap((each) => each.texts));
  return [
    told(query, main, lists, texts),
    el("p.marks", {}, t("marked"), match().members ? ` ${t("deciding")}` : ""),
    allRetrievers(query),
    el("div.sides" + (lists.length > 1 ? ".two" : ""), {},
      goldSide(query, wanted, main, lists, texts),
      lists.map((list, side) => listSide(query, list, side, compared, main, known, texts))),
    el("section.notes", {},
      detail.facts?.length ? [el("h3", {}, t("facts")), el("ul", {}, detail.facts.map((fact) => el("li", { dir: "auto" }, shown(String(fact)))))] : null,
      detail.reference ? [el("h3", {}, t("reference")), el("p", { dir: "auto" }, shown(detail.reference))] : null),
  ];
}

/** In a sentence or two for each list that fails: which gold it misses, its first document, the closest. */
function told(query, main, lists, texts) {
  const lost = lists.filter((list) => failed(list.retriever, query) && list.run?.docs.length);
  if (!lost.length || !main.length) return null;
  return el("div.told", { role: "note" }, lost.map((list) => el("p", { class: `series-${"ab"[lists.indexOf(list)]}` }, toldOf(query, main, list, texts))));
}

function toldOf(query, main, list, texts) {
  const of = cell(list.retriever), who = el("strong.retriever", {}, name(data.retrievers[list.retriever])), why = reason(list.retriever, query);
  const named = (id, text) => (id ? name(id) : el("bdi", {}, "“", shown((text || "").trim().slice(0, 40)), (text || "").trim().length > 40 ? "…" : "", "”"));
  const docs = list.run.docs, doc = (rank) => { const own = docs[rank - 1]; return own ? named(own[0], own[1] >= 0 ? texts.get(own[1]).text : "") : "…"; };
  const golds = main.flatMap((each, at) => [at ? ", " : "", main.length > 1 ? `G${at + 1}` : named(each.id, each.texts[0])]);
  if (why === "late") {
    const rank = firstRank(list.retriever, query), hit = main.findIndex((each) => of.first[query][each.at] === rank);
    return phrase("told_late", who, main.length > 1 ? `G${hit + 1}` : golds, rank, metric().name, reach());
  }
  if (why === "unknown") return [who, ": ", whyText(why)];
  const parts = [phrase("told", who, golds), " ", phrase("told_first", doc(1)), " "];
  const scored = match().threshold === null ? [] : main.map((each) => [of.best[query][2 * each.at] ?? 0, of.best[query][2 * each.at + 1]]);
  const [score, rank] = scored.sort((one, other) => other[0] - one[0])[0] || [0, 0];
  if (score > 0) parts.push(rank === 1 ? phrase("told_itself", score, match().threshold) : phrase("told_scored", doc(rank), rank, score, match().threshold), " ");
  if (of.kin[query]) parts.push(phrase("told_kin", of.kin[query][0], doc(of.kin[query][0])));
  else if (["alike", "similar"].includes(why)) parts.push(phrase("told_share", doc(of.alike[query][0]), of.alike[query][0], Math.round(of.alike[query][1] * 100)));
  return parts;
}

/** A chip for each retriever: its value, the rank of its first gold; click to see its list. */
function allRetrievers(query) {
  if (present().length < 3) return null;
  return el("div.all-retrievers", { role: "group", "aria-label": t("allRetrievers") }, present().map((at) => {
    const rank = firstRank(at, query), own = value(at, query);
    const side = at === state.a ? "a" : at === state.b ? "b" : "";
    return el("button." + (side ? `side-${side}` : "free"), { id: `retriever-${at}`, "aria-pressed": String(Boolean(side)), onclick: () => { if (!side) { state.b = at; state.picked = true; renderFilters(); renderQuestions(); drawDetail(); } } },
      swatch(at), el("span.retriever", {}, name(data.retrievers[at])), el("b", {}, number(own, metric())), el("small", {}, reasonText(at, query, rank)));
  }));
}

function reasonText(at, query, rank) {
  const why = reason(at, query);
  if (why === "ok" || why === "late") return t("rank", rank);
  return why ? whyShort(why) : "–";
}

function goldSide(query, wanted, main, lists, texts) {
  const pooled = Boolean(match().pool);
  const others = pooled ? [] : wanted.filter((each) => !each.relevant);
  return el("section.side.gold", { "aria-labelledby": "gold-title" }, el("h3", { id: "gold-title" }, t(pooled ? "relevantPool" : "golds"), help(t("help_grade"))),
    main.length ? null : el("p.muted", {}, t(reason(present()[0], query) === "nogold" ? "noGold" : "texts")),
    main.map((each, at) => goldCard(query, each, at, main.length, lists, texts)),
    others.length ? el("details", {}, el("summary", {}, t("notGoldItem"), ` (${others.length})`), others.map((each) => plainCard(each, texts))) : null);
}

function goldCard(query, each, at, count, lists, texts) {
  const near = lists.map((list) => nearestDoc(each, list)).filter((doc) => doc !== null);
  const known = vocabulary(near.map(({ list, doc }) => list.run.docs[doc][1]).filter((n) => n >= 0).map((n) => texts.get(n).text));
  const pressed = state.gold === each.at;
  return el("article.card", {},
    el("div.card-head", {},
      count > 1 ? el("button.gold-mark", { id: `gold-${each.at}`, "aria-pressed": String(pressed), title: t("compareGold"), onclick: () => { state.gold = pressed ? null : each.at; drawDetail(); } }, `G${at + 1}`) : el("span.gold-mark", {}, `G${at + 1}`),
      each.grade !== 1 || match().pool ? el("span.chip.none", {}, t("grade", each.grade)) : null,
      each.id ? el("small.id", {}, name(each.id)) : null),
    textBlock(each.text, texts, known, each.id ? t("textUnknown") : t("noText")),
    (each.alternatives || []).length ? el("details", { open: each.text < 0 }, el("summary", {}, `${t("alternatives")} (${each.alternatives.length})`),
      each.alternatives.map(([id, n]) => el("div.alternative", {}, id ? el("small.id", {}, name(id)) : null, textBlock(n, texts, known, t("textUnknown"))))) : null,
    el("ul.ranks", {}, lists.map((list, side) => el("li.series-" + "ab"[side], {}, rankOf(query, each, list)))));
}

/** The document that matches a gold item, or else comes nearest, by score. */
function nearestDoc(each, list) {
  if (!list.run) return null;
  const own = list.scores.filter((pair) => pair.gold === each.at && pair.score !== null);
  if (!own.length) return null;
  const best = own.reduce((one, other) => (other.score > one.score ? other : one));
  return list.run.docs[best.doc] ? { list, doc: best.doc } : null;
}

function rankOf(query, each, list) {
  const of = cell(list.retriever), who = plain(data.retrievers[list.retriever]);
  const rank = of.first[query]?.[each.at], score = of.best[query]?.[2 * each.at], where = of.best[query]?.[2 * each.at + 1];
  if (rank === null) return el("span", {}, t("unknownAt", who));
  if (rank > 0) return el("span.hit", {}, t("foundAt", who, rank));
  if (match().threshold !== null && score > 0) return el("span.miss", {}, t(match().top > 1 ? "nearestGrade" : "nearest", who, score, where, match().threshold));
  return el("span.miss", {}, t("notIn", who));
}

function plainCard(each, texts) {
  return el("article.card", {}, el("div.card-head", {}, el("span.chip.none", {}, t("grade", each.grade)), each.id ? el("small.id", {}, name(each.id)) : null), textBlock(each.text, texts, null, t("textUnknown")));
}

function listSide(query, list, side, compared, main, known, texts) {
  const letter = "ab"[side], names = data.retrievers;
  const choose = present().length > 1
    ? el("select", { id: `list-${letter}`, "aria-label": t("retrieved"), onchange: (event) => { state[letter] = Number(event.target.value); state.picked = true; renderFilters(); renderQuestions(); drawDetail(); } },
      present().map((at) => el("option", { value: at, selected: at === list.retriever }, plain(names[at]))))
    : el("strong", {}, name(names[list.retriever]));
  const seconds = cell(list.retriever).seconds?.[query];
  const head = el("div.side-head", {}, choose, el("b", {}, number(value(list.retriever, query), metric())),
    el("span.muted", {}, metric().name, seconds === null || seconds === undefined ? "" : ` · ${duration(seconds)}`), help(scoreHelp()));
  const why = reason(list.retriever, query);
  const status = cell(list.retriever).status[query], run = list.run, cut = cutOf(list.retriever, query);
  let body;
  if (!data.kept.texts && !run) body = el("p.muted", {}, t("texts"));
  else if (status === "m" || status === "-" || !run) body = el("p.problem", {}, t("missingList"));
  else if (status === "f") body = el("p.problem", {}, phrase("failedList", el("code", {}, shown(run.error || ""))));
  else if (!run.docs.length) body = el("p.problem", {}, t("emptyList"));
  else body = [cut === 0 ? cutLine() : null,
    run.docs.map((doc, at) => [docCard(query, doc, at, list, compared, main, known, texts), at + 1 === cut && at + 1 < run.n ? cutLine() : null]),
    run.n > run.docs.length ? el("p.muted", {}, t("docsLeft", run.docs.length + 1, run.n)) : null];
  return el("section.side.list.series-" + letter, { "aria-label": plain(names[list.retriever]) }, head,
    ["ok", ""].includes(why) ? null : el("p.why-line", {}, el("span.chip." + why, { title: whyHint(why) }, whyExactly(list.retriever, query))), body);
}

/** What stands beside documents: scores against the threshold, or a plain yes. */
function scoreHelp() {
  const { threshold, near, top, pool } = match();
  if (pool) return t("help_pool");
  return threshold === null ? t("help_yes", match().label) : t(top > 1 ? "help_gradeScore" : "help_score", match().label, number_(threshold), number_(near));
}

/** Below the last document that the chosen metric looks at. */
const cutLine = () => el("p.cut", {}, el("span", {}, t("cutLine", metric().name)));

function docCard(query, doc, at, list, compared, main, known, texts) {
  const [id, number_, score, repeated] = doc;
  const threshold = match().threshold;
  const own = list.scores.filter((pair) => pair.doc === at && main.some((each) => each.at === pair.gold));
  const label_ = (gold) => `G${main.findIndex((each) => each.at === gold) + 1}`;
  const limit = threshold ?? (match().pool ? 1 : 1e-9);
  const hits = own.filter((pair) => pair.score !== null && pair.score >= limit);
  const chips = own.map((pair) => {
    const hit = pair.score !== null && pair.score >= limit;
    const text = pair.score === null ? `${label_(pair.gold)} ${t("notKnown")}`
      : threshold === null ? `${label_(pair.gold)} ✓ ${t("isMatch")}`
      : `${label_(pair.gold)} ${pair.score} ${hit ? "≥" : "<"} ${threshold}${hit ? ` ✓ ${t("isMatch")}` : ""}`;
    return { hit, score: pair.score ?? -1, node: el("span.chip." + (hit ? "ok" : pair.score === null ? "unknown" : pair.score >= (match().near ?? limit) ? "near" : "none"), {}, text) };
  }).sort((one, other) => other.score - one.score).slice(0, 4);
  const text = number_ >= 0 ? texts.get(number_).text : null;
  const wanted = compared.flatMap((each) => each.texts);
  const decided = decisions(at, list, main, label_);
  const alike = text !== null && !decided.length && threshold === null && !hits.length && wanted.length ? Math.max(...wanted.map((each) => overlap(each, text))) : 0;
  const said = list.said.filter((each) => each.doc === at && each.why);
  return el("article.card" + (hits.length && !repeated ? ".hit" : ""), {},
    el("div.card-head", {}, el("span.rank", {}, at + 1), id ? el("small.id", {}, name(id)) : null, el("span.grow"),
      chips.map(({ node }) => node),
      alike >= 0.1 ? el("span.chip." + (alike >= data.limits.alike ? "alike" : alike >= data.limits.similar ? "similar" : "none"), {}, t("shared", Math.round(alike * 100))) : null,
      cell(list.retriever).kin[query]?.includes(at + 1) ? el("span.chip.kin", { title: t("hint_kin") }, t("sameSource")) : null,
      repeated ? el("span.chip.none", {}, t("repeated")) : null),
    textBlock(number_, texts, known, t("noText")),
    decided,
    said.map((each) => el("p.judge", { dir: "auto" }, el("b", {}, t("judge"), each.gold >= 0 && main.length > 1 ? ` ${label_(each.gold)}` : "", each.grade === null ? "" : `, ${t("gradeGiven", each.grade)}`, ": "), shown(each.why))),
    score === null || score === undefined ? null : el("small.muted", {}, t("retrieverScore", +Number(score).toPrecision(4))));
}

/** Of a combination: who decided each match, or else what came furthest, and why. */
function decisions(at, list, main, label_) {
  const own = list.decided.filter(([doc, gold]) => doc === at && main.some((each) => each.at === gold));
  const far = ([, , , ...steps]) => steps.length + (steps[steps.length - 1]?.[1] ?? 0) / 100;
  const matches = own.filter(([, , verdict]) => verdict !== "n");
  const told = matches.length ? matches : own.sort((one, other) => far(other) - far(one)).slice(0, 1);
  return told.map(([, gold, verdict, ...steps]) => el("p.decision", {}, main.length > 1 ? `${label_(gold)}: ` : "",
    steps.map((step, i) => [i ? (match().method === "cascade" ? " → " : " · ") : "", el(step[3] ? "b" : "span", {}, stepText(...step))]),
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

/** A text, folded if it is long. */
function textBlock(number_, texts, known, instead) {
  if (number_ < 0) return el("p.muted.small", {}, instead);
  const { text: whole, length } = texts.get(number_);
  const text = whole.trim();
  const body = el("p.text", { dir: "auto" }, marked(text, known), length > whole.length ? el("span.muted", {}, " ", t("cut", grouped(length - whole.length))) : null);
  if (text.length <= LONG) return body;
  body.classList.add("folded");
  const button = el("button.link.fold", { "aria-expanded": "false", onclick: () => {
    const folded = body.classList.toggle("folded");
    button.setAttribute("aria-expanded", String(!folded));
    button.textContent = t(folded ? "more" : "less");
  } }, t("more"));
  return [body, button];
}
