// Descriptions as terminal and Markdown have them (described.py): lines and tables, rendered in one way.
// A text is a string, or pieces of which some name something; where languages differ, one for each.

const piecesOf = (text) => [Array.isArray(text) || typeof text === "string" ? text : text[state.language] ?? text.en].flat();
const plainText = (text) => piecesOf(text).map((piece) => piece.name ?? piece).join("");

/** What a text is the name of, if it is one and nothing else. */
const nameIn = (text) => { const [first, ...rest] = piecesOf(text); return first?.is && !rest.length ? first : null; };

/** What stands in a sentence for a name. */
const IN_SENTENCE = {
  retriever: ({ name: own }) => strong(own),
  metric: ({ name: own }) => el("strong.metric", {}, name(own)),
  code: ({ name: own }) => el("code", { lang: "en" }, name(own)),
  question: ({ name: id }) => (data.queries.ids.includes(id) ? questionLink(data.queries.ids.indexOf(id), name(id)) : name(id)),
};

const textNodes = (text) => piecesOf(text).map((piece) => (piece.is ? IN_SENTENCE[piece.is](piece) : shown(piece)));

/** What stands for a name at the head of a row or a column. */
const AS_HEAD = {
  retriever: ({ name: own }) => (data.retrievers.includes(own) ? columnHead(positionOf(own)) : breakable(own)),
  metric: ({ name: own }) => metricHead(data.metrics.find((each) => each.name === own)),
};

// Few systems have a font for the signs of Markdown's gates.
const SIGNS = { "✅": "✓", "❌": "✗" };

const headNodes = (text) => { const named = nameIn(text), whole = plainText(text); return named ? AS_HEAD[named.is](named) : breakable(SIGNS[whole] ?? whole); };

/** What stands beside a mean, and what it says; who gets which mark is decided once, for every report. */
const MARKS = { "★": "best", "=": "shared", "≈": "tied" };

/** The text of a cell; the mark of a mean stands before it, and is read out in words. */
function cellNodes({ text, below = "" }) {
  const whole = nameIn(text) ? "" : plainText(text), [, value, mark] = /^(.+) ([★=≈])$/.exec(whole) ?? [], key = MARKS[mark];
  const marked = whole === "-" ? "–" : key ? [el(`span.${key}-mark`, { title: t(`mark_${key}`) }, mark, el("span.unseen", {}, t(`mark_${key}`))), plain(value)] : textNodes(text);
  return [el("span.number", {}, marked), plainText(below).split("; ").filter(Boolean).map((line) => el("span.interval", {}, plain(line)))];
}

/** A described table in a box that scrolls by itself, never the page; `above` gives rows titles, by the name at their heads. */
function tableNodes(titleId, { columns: heads, rows, words, note }, above = {}) {
  const isChosen = (text) => { const named = nameIn(text); return named?.is === "metric" && named.name === state.metric; };
  const sorted = (text) => (isChosen(text) ? (metric().higher === false ? "ascending" : "descending") : null);
  const side = (column) => (column < words ? "words" : null);
  const cellAt = (cell, column) => el("td", { class: [...(cell.style ? [cell.style] : []), isChosen(heads[column]) && "chosen", side(column)].filter(Boolean).join(" ") || null }, cell.nodes ?? cellNodes(cell));
  const row = ([head, ...cells]) => [
    above[plainText(head.text)] ? el("tr.group", {}, el("th", { colspan: heads.length, scope: "colgroup" }, above[plainText(head.text)])) : null,
    el("tr", { class: isChosen(head.text) ? "chosen" : null }, el("th", { scope: "row", class: head.style || null }, head.nodes ?? headNodes(head.text), head.below ? el("span.interval", {}, plainText(head.below)) : null),
      cells.map((cell, place) => cellAt(cell, place + 1)))];
  return [
    el("p.scroll-hint", { hidden: true }, t("scrollHint")),
    el("div.scroll", { tabindex: 0, role: "region", "aria-labelledby": titleId }, el("table.metrics", { "aria-labelledby": titleId },
      el("thead", {}, el("tr", {}, heads.map((head, column) => el("th", { scope: "col", class: side(column), "aria-sort": sorted(head) }, headNodes(head))))), el("tbody", {}, rows.map(row)))),
    note ? el("p.legend", {}, plainText(note).split(/(★|≈|(?<=; )=(?= ))/).map((part) => (MARKS[part] ? el(`span.${MARKS[part]}-mark`, {}, part) : shown(part)))) : null];
}

const partNodes = (titleId, part) => (part.columns ? tableNodes(titleId, part) : el("p", { class: part.style || null }, textNodes(part.text)));

/** The places of heads: those that name something of a kind in `names` as they stand there, all others as they stood. */
function arranged(heads, names) {
  const named = heads.map(nameIn), isOther = (own) => !(own?.is in names), first = named.findIndex((own) => !isOther(own));
  const chosen = Object.entries(names).flatMap(([kind, list]) => list.map((wanted) => named.findIndex((own) => own?.is === kind && own.name === wanted)).filter((place) => place >= 0));
  const others = [...named.keys()].filter((place) => isOther(named[place]));
  return [...others.filter((place) => place < first), ...chosen, ...others.filter((place) => place > first)];
}

/** A table with those rows and columns alone, in their order, of all that have such names. */
function chosenOf({ columns: heads, rows, ...rest }, names) {
  const places = arranged(heads, names);
  const kept = arranged(rows.map(([head]) => head.text), names).map((place) => rows[place]);
  return { ...rest, columns: places.map((place) => heads[place]), rows: kept.map((row) => places.map((place) => row[place])) };
}

/** A table with its rows as columns, and another word in its corner. */
const turned = ({ columns: [, ...heads], rows, ...rest }, corner) => ({
  ...rest, columns: [corner, ...rows.map(([head]) => head.text)], rows: heads.map((head, column) => [{ text: head }, ...rows.map((row) => row[column + 1])]) });
