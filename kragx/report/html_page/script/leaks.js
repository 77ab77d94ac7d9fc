// What came though it must not: above the verdict, as a filter, and marked in a list.

const LEAKS = 3; // that are named of each retriever

/** What came for a question, by rank: [rank, document, kinds, rules]; undefined for nothing. */
const leaksIn = (retriever, query) => cell(retriever)?.leaks?.rows[query];

/** What leaks with a document of a list: by its rank, or of a retriever that searches by its name, as ranks are those of all searches. */
const leakAmong = (retriever, query, doc, position) => leaksIn(retriever, query)?.find(([rank, named]) => (cell(retriever).searches ? named === doc.id : rank === position + 1));

/** The questions for which something came, as far as the page holds them; null for none. */
function leaks(retriever) {
  const queries = Object.keys(cell(retriever)?.leaks?.rows ?? {}).map(Number);
  return queries.length ? queries : null;
}

const hasLeaks = (retriever) => Boolean(cell(retriever)?.leaks?.found);

function leaksSection() {
  const told = ranked().filter((retriever) => cell(retriever).leaks), bad = told.filter(hasLeaks);
  if (!told.length) return null;
  const badge = !bad.length ? el("span.badge", {}, t("leaksNone")) : el("span.badge.bad", {}, told.length > 1 ? t("leaksFound", bad.length, told.length) : t("leaksFound1"));
  const all = [...bad, ...told.filter((retriever) => !bad.includes(retriever))], folded = all.slice(PICTURED);
  return el("section.leaks", { "aria-labelledby": "leaks-title" }, el("h2", { id: "leaks-title" }, t("leaks"), " ", badge),
    el("ul", {}, all.slice(0, PICTURED).map(leaksItem)),
    folded.length ? el("details", {}, el("summary", {}, t("andMore", folded.length)), el("ul", {}, folded.map(leaksItem))) : null,
    [...rulesOf(bad)].map(([kind, rule]) => el("p", {}, el("small.muted", {}, t("leakRule", kind), " ", el("code", {}, plain(JSON.stringify(rule)))))));
}

/** The rules by which something leaks, by kind. */
const rulesOf = (retrievers) => new Map(retrievers.flatMap((retriever) => Object.values(cell(retriever).leaks.rows).flat().flatMap(([, , , rules]) => Object.entries(JSON.parse(rules ?? "{}")))));

function leaksItem(retriever) {
  const { lines } = cell(retriever).leaks, queries = leaks(retriever);
  const show = () => showing({ result: "leaksA", a: retriever, b: retriever === state.b ? state.a : state.b, picked: true });
  return el("li", {}, lines.map(([line, isBad]) => el(isBad ? "p.bad" : "p", {}, swatch(retriever), " ", textNodes(line))),
    queries ? el("ul", {}, queries.slice(0, LEAKS).map((query) => el("li", {}, questionLink(query, el("bdi", {}, beginning(query))), " ", leaksIn(retriever, query).map(leakText)))) : null,
    queries && isCompared(retriever) ? el("button.link", { onclick: show }, queries.length > 1 ? t("showAll", nQuestions(queries.length)) : t("showAll1")) : null);
}

const leakText = ([rank, doc, kinds, rules]) => el("small.muted", {}, phrase("leakAt", name(doc ?? "?"), rank), " ", leakChip([rank, doc, kinds, rules]), " ");

const leakChip = (leak) => (leak ? el("span.chip.leak", { title: leak[3] ? t("leakRule", plain(leak[3])) : null }, t("leakChip", plain(leak[2].join(", ")))) : null);
