// A passage in which stretches are marked. Outside of this module places are counted in code points, as Python
// counts characters; the browser counts in UTF-16 units.

import { button, el, fill, plain, shown } from "./dom.js";
import { t } from "./words.js";

const pointsBefore = (text, unit) => [...text.slice(0, unit)].length;
const unitsBefore = (text, point) => [...text].slice(0, point).join("").length;

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

/** The text as nodes, its stretches as <mark>; for reading alone. */
function marked(text, spans, attributes = () => ({})) {
  const nodes = [];
  let from = 0;
  spans.forEach(([start, end], position) => {
    const [first, last] = [unitsBefore(text, start), unitsBefore(text, end)];
    nodes.push(shown(text.slice(from, first)), el("mark", attributes(position), shown(text.slice(first, last))));
    from = last;
  });
  return [nodes, shown(text.slice(from))];
}

/**
 * A passage whose evidence can be marked: with the mouse at once, otherwise with a button that comes up.
 *
 * @returns {node, spans()}: the element, and a function that gives the stretches.
 */
export function passage(text, spansBefore = []) {
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
    fill(body, marked(text, spans, (position) => ({ title: t("unmark"), onclick: () => document.getSelection().isCollapsed && remove(position) })));
    fill(list, spans.map(([start, end], position) => {
      const words = plain([...text].slice(start, end).join("").replace(/\s+/g, " "));
      return el("li", {}, button([el("bdi", {}, words.length > 60 ? `${words.slice(0, 60)}…` : words), el("span.cross", { "aria-hidden": "true" }, " ×")],
        () => remove(position), { title: t("unmark"), "aria-label": t("unmarkThis", words) }));
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
  return { node, spans: () => spans };
}
