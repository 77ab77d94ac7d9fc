// Two versions without gold: how much is the same, then lists side by side.

const FIRST = 20;
let openFirst = FIRST;

function renderHeader() {
  byId("top").replaceChildren(
    el("div.brand", {}, el("p.kind", {}, t("diffKind")), el("h1", {}, name(data.old), " → ", name(data.new)),
      el("p", {}, t("diffCompared", grouped(data.counts.n_compared), grouped(data.counts.n_questions)), " · ", textNodes(data.by))),
    el("div.controls", {}, appearanceButtons((language) => { state.language = language; renderDiff(); })));
  byId("skip").textContent = t("skip");
  document.documentElement.lang = state.language;
}

function renderDiff() {
  renderHeader();
  byId("main").replaceChildren(...[diffVerdict(), diffGates(), diffQuestions()].filter(Boolean));
}

const inPercent = (share) => (missing(share) ? "–" : `${(100 * share).toFixed(1)}%`);
const deepest = () => data.ks[data.ks.length - 1];

/** How much is the same at the depth in the middle, in a sentence and by depth. */
function diffVerdict() {
  const k = data.ks.includes(5) ? 5 : deepest(), same = data.mean[`unchanged@${k}`], sort = data.exact ? "Same" : "Alike";
  const remarks = data.remarks.length ? el("div.cautions", { role: "note" }, el("ul", {}, data.remarks.map((remark) => el("li", {}, textNodes(remark))))) : null;
  return el("section.verdict", {},
    el("div.verdict-head", {},
      el("div.figure-number", {}, el("b", {}, inPercent(same)), el("span", {}, `unchanged@${k}`)),
      el("div", {},
        el("p.headline", { id: "diff-title" }, phrase(`diffHead${sort}`, el("strong", {}, inPercent(same)), k)),
        el("p.how", {}, t("diffOverlap", number(data.mean.rbo)), data.weighted ? ` ${t("diffWeighted")}` : "", " ", el("span", {}, t("diffNext"))))),
    remarks, tableNodes("diff-title", data.depths));
}

const diffGates = () => (data.gates.length ? el("section.gates", {}, el("h2", { id: "gates-title" }, t("gates")), data.gates.map((part) => partNodes("gates-title", part))) : null);

/** The questions that changed most, each folded until it is opened. */
function diffQuestions() {
  const held = data.questions.length;
  const count = held < data.n_changed ? t("diffHeld", grouped(held), grouped(data.n_changed)) : nothingOr(data.n_changed);
  const rows = data.questions.slice(0, openFirst).map(diffQuestion);
  const more = held > openFirst ? el("button", { onclick: () => { openFirst += 5 * FIRST; renderDiff(); } }, t("diffMore", grouped(held - openFirst))) : null;
  return el("section", { id: "questions" }, el("div.section-head", {}, el("h2", {}, t("diffMost")), el("span.count", {}, count)), rows, more);
}

const nothingOr = (changed) => (changed ? t("diffChanged", grouped(changed)) : t("diffNone"));

function diffQuestion(question) {
  const [old, current] = [places(question.old), places(question.new)], k = deepest();
  const came = [...current].filter(([key, rank]) => rank <= k && !(old.get(key) <= k)).length;
  const went = [...old].filter(([key, rank]) => rank <= k && !(current.get(key) <= k)).length;
  const body = el("div.sides.pair", {});
  const fill = ({ target }) => {
    if (target.open && !body.hasChildNodes()) add(body, [side(data.old, question.old, current, "Went", k), side(data.new, question.new, old, "Came", k)]);
  };
  return el("details.changed", { ontoggle: fill },
    el("summary", {}, el("span.words", {}, shown(question.text || question.id)),
      el("span.tags", {}, el("span.tag", {}, name(question.id)), data.weighted ? el("span.tag", {}, t(question.weight === 1 ? "asks1" : "asks", asWritten(question.weight))) : null,
        el("span.tag", {}, `rbo ${number(question.rbo)}`), came ? el("span.chip.ok", {}, t("diffCameN", came)) : null, went ? el("span.chip.nothing", {}, t("diffWentN", went)) : null,
        !came && !went ? el("span.chip.late", {}, t("diffOrder")) : null)),
    body);
}

/** The rank of each document of a list; one that stands again is another. */
function places(list) {
  const ranks = new Map(), times = new Map();
  list.forEach(([item], at) => {
    times.set(item, (times.get(item) ?? 0) + 1);
    ranks.set(`${item} ${times.get(item)}`, at + 1);
  });
  return ranks;
}

/** One list: each document with what became of it in the other. */
function side(version, list, beside, gone, k) {
  const cards = [...places(list)].map(([key, rank], at) => {
    const there = beside.get(key), [, id, number_] = list[at];
    const cut = at === k && list.length > k ? el("p.cut", {}, t("diffCut", k)) : null;
    return [cut, el("article.card", { class: there === undefined ? gone.toLowerCase() : there === rank ? "same" : "moved" },
      el("div.card-head", {}, el("span.rank", {}, rank), fate(there, rank, gone), id === null ? null : el("span.id", {}, name(id))),
      textOfCard(number_))];
  });
  return el("div.side.list", {}, el("h3", {}, name(version)), cards.length ? cards : el("p.muted", {}, t("diffEmpty")));
}

function fate(there, rank, gone) {
  if (there === undefined) return el(gone === "Came" ? "span.chip.ok" : "span.chip.nothing", {}, t(`diffIs${gone}`));
  if (there === rank) return null;
  return el("span.chip.late", {}, t(gone === "Came" ? "diffWas" : "diffNow", there));
}

function textOfCard(place) {
  if (place < 0) return null;
  const body = el("p.text.folded", {}, shown(data.texts[place]));
  body.onclick = () => body.classList.toggle("folded");
  return body;
}

begin(async () => {
  if (!beginAppearance()) return;
  data = await unpacked(byId("index").textContent);
  renderDiff();
  document.documentElement.dataset.ready = "yes";
});
