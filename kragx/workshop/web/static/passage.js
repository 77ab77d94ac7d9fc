// A passage in which stretches are marked. Outside of this module places are counted in code points, as Python
// counts characters; the browser counts in UTF-16 units.

import { button, el, fill, plain, shown } from "./dom.js";
import { t } from "./words.js";

const pointsBefore = (text, unit) => [...text.slice(0, unit)].length;

/** For each code point of a text where it begins in UTF-16 units, and where the last one ends. */
function unitsOf(text) {
  const units = [0];
  for (const letter of text) units.push(units.at(-1) + letter.length);
  return units;
}

/** Stretches in order, those that touch or overlap made one. */
export function merged(spans) {
  const joined = [];
  for (const [start, end] of [...spans].sort((one, other) => one[0] - other[0])) {
    const last = joined.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

/** Where a range of the document lies in the text of a node, in UTF-16 units, white space at its ends left out. */
function placeOf(range, node, text) {
  const whole = document.createRange();
  whole.selectNodeContents(node);
  const part = range.cloneRange();
  if (part.compareBoundaryPoints(Range.START_TO_START, whole) < 0) part.setStart(whole.startContainer, whole.startOffset);
  if (part.compareBoundaryPoints(Range.END_TO_END, whole) > 0) part.setEnd(whole.endContainer, whole.endOffset);
  if (part.collapsed || !range.intersectsNode(node)) return null;
  whole.setEnd(part.startContainer, part.startOffset);
  let start = whole.toString().length, end = start + part.toString().length;
  while (start < end && /\s/.test(text[start])) start += 1;
  while (start < end && /\s/.test(text[end - 1])) end -= 1;
  return start < end ? [start, end] : null;
}

/** What lies between two places of a text as nodes; of stretches, each part in an element of its own. */
function pieces(text, [from, to], spans, wrapped) {
  const nodes = [];
  spans.forEach(([start, end], position) => {
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (first >= last) return;
    nodes.push(text([from, first]), wrapped(text([first, last]), position));
    from = last;
  });
  return [nodes, text([from, to])];
}

/**
 * A passage whose evidence can be marked: with the mouse at once, otherwise with a button that comes up.
 *
 * @param words stretches that are underlined: where the question's words stand.
 * @returns {node, body, spans()}: the element, that of the text, and a function that gives the marked stretches.
 */
export function passage(text, spansBefore = [], words = []) {
  const units = unitsOf(text);
  let spans = merged(spansBefore), usesMouse = false, removedAt = -Infinity, offered = null, hiding = null;
  const body = el("div.text", { tabindex: 0, lang: "", dir: "auto", "aria-label": t("passage") });
  const list = el("ul.evidence", { "aria-label": t("evidence") });
  const offer = button(t("markThis"), () => take(offered), { class: "offer", hidden: true });

  const selected = () => {
    const selection = document.getSelection();
    return selection.rangeCount && !selection.isCollapsed ? placeOf(selection.getRangeAt(0), body, text) : null;
  };
  const take = (place) => {
    if (!place || performance.now() - removedAt < 400) return;
    spans = merged([...spans, place.map((unit) => pointsBefore(text, unit))]);
    document.getSelection().removeAllRanges();
    draw();
  };
  const remove = (position) => {
    spans = spans.filter((_, other) => other !== position);
    removedAt = performance.now(); // the second click of a double click selects the word that was just given up
    draw();
  };
  const draw = () => {
    offer.hidden = true;
    const letters = ([start, end]) => shown(text.slice(units[start], units[end]));
    const underlined = (place) => pieces(letters, place, words, (inside) => el("u", {}, inside));
    const mark = (inside, position) => el("mark", { title: t("unmark"), onclick: () => document.getSelection().isCollapsed && remove(position) }, inside);
    fill(body, pieces(underlined, [0, units.length - 1], spans, mark));
    fill(list, spans.map(([start, end], position) => {
      const quote = plain(text.slice(units[start], units[end]).replace(/\s+/g, " "));
      return el("li", {}, button([el("bdi", {}, quote.length > 60 ? `${quote.slice(0, 60)}…` : quote), el("span.cross", { "aria-hidden": "true" }, " ×")],
        () => remove(position), { title: t("unmark"), "aria-label": t("unmarkThis", quote) }));
    }));
  };
  const node = el("div.passage", {}, body, offer, list);
  const stop = new AbortController(), { signal } = stop;
  document.addEventListener("pointerdown", (event) => { usesMouse = event.pointerType === "mouse"; }, { signal });
  document.addEventListener("keydown", () => { usesMouse = false; }, { signal });
  document.addEventListener("mouseup", (event) => {
    if (!node.isConnected) stop.abort();
    // Later, since a click that takes a selection away does so after this.
    else if (usesMouse && !offer.contains(event.target)) setTimeout(() => take(selected()));
  }, { signal });
  document.addEventListener("selectionchange", () => {
    if (!node.isConnected || usesMouse) return;
    clearTimeout(hiding);
    const place = selected();
    if (place) [offered, offer.hidden] = [place, false];
    // Later, since a tap on the button may take the selection away before it counts as a click.
    else hiding = setTimeout(() => { offer.hidden = true; }, 400);
  }, { signal });
  draw();
  return { node, body, spans: () => spans };
}
