// Elements and texts. Text from data enters the page as text nodes only.

import { t } from "./words.js";

/** An element: tag or tag.class, attributes (on... are listeners, vars are for the style), children. */
export function el(tag, attributes, ...children) {
  const [tagName, ...classes] = tag.split(".");
  const node = document.createElement(tagName);
  if (classes.length) node.className = classes.join(" ");
  for (const [attribute, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (attribute.startsWith("on")) node.addEventListener(attribute.slice(2), value);
    else if (attribute === "vars") for (const key in value) node.style.setProperty(key, value[key]);
    else if (attribute === "value") node.value = value;
    else node.setAttribute(attribute, value === true ? "" : value);
  }
  return fill(node, children);
}

/** Children, texts or elements, in place of those that an element has; nothing stands for nothing. */
export function fill(node, ...children) {
  const nodes = children.flat(5).filter((child) => ![null, undefined, false, ""].includes(child));
  node.replaceChildren(...nodes.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return node;
}

export const byId = (id) => document.getElementById(id);

// Marks that turn the direction of text, and other characters that one does not see.
const HIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/g;
const code = (letter) => "U+" + letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/**
 * A text from data as nodes. A hidden character stands in an element of its own, which shows its code beside
 * it: the nodes' text stays the text, letter by letter, so that places in it can be counted.
 */
export function shown(text) {
  const nodes = [];
  let from = 0;
  for (const hidden of text.matchAll(HIDDEN)) {
    if (hidden.index > from) nodes.push(text.slice(from, hidden.index));
    nodes.push(el("span.hidden-mark", { "data-code": code(hidden[0]), title: t("hidden") }, hidden[0]));
    from = hidden.index + hidden[0].length;
  }
  if (from < text.length) nodes.push(text.slice(from));
  return nodes;
}

/** A short text from data for labels and attributes: hidden characters by their code. */
export const plain = (text) => String(text).replace(HIDDEN, (letter) => `⟨${code(letter)}⟩`);

/** A name from data, kept apart from the direction of what stands around it. */
export const name = (text) => el("bdi", {}, plain(text));

/** How a person is called: an owner who has no name of their own, by the role. */
export const personName = (text) => (text === "owner" ? t("role_owner") : plain(text));

export const button = (text, press, attributes = {}) => el("button", { type: "button", onclick: press, ...attributes }, text);

/** A button for each grade, with its key and its words; the second click of a double click does nothing. */
export const grades = (scale, press) =>
  el("div.grades", {}, scale.map(({ grade, words }) =>
    button([el("kbd", {}, grade), el("span", {}, name(words))], (event) => event.detail < 2 && press(grade), { class: "grade", "data-grade": grade })));

/** Something to fill in or to choose, below its label. */
export const field = (text, input, hint) => el("label.field", {}, el("span", {}, text), input, hint && el("small.muted", {}, hint));

/** A select of [value, text] pairs. */
export const select = (options, chosen, attributes = {}) =>
  el("select", attributes, options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, plain(text))));

/** A line that says that there is nothing, and what to do. */
export const empty = (head, text, ...more) => el("div.empty", {}, el("h2", {}, head), text && el("p", {}, text), ...more);

/** What an error says, and how it is mended. */
export const problem = (error) => el("p.problem", { role: "alert" }, plain(error.message), error.remedy ? ` ${plain(error.remedy)}` : "");

/** A table: heads, and rows of cells. */
export const table = (heads, rows) =>
  el("div.scroll", { tabindex: 0 }, el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, column) => el("td", { "data-head": heads[column] || null }, cell)))))));

/** A dialog over the page with a title; Escape closes it. Gives the element in which the rest stands. */
export function dialog(title, ...children) {
  const before = document.activeElement;
  const close = button("×", () => box.close(), { class: "close", "aria-label": t("close") });
  const box = el("dialog", { "aria-labelledby": "dialog-title", onclose: () => { box.remove(); before?.focus?.(); } },
    el("header", {}, el("h2", { id: "dialog-title" }, title), close), el("div.dialog-body", {}, children));
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  document.body.append(box);
  box.showModal();
  return box;
}

/** Said to those who hear the page, and shown for a moment below. */
export function say(text) {
  const line = byId("said");
  fill(line, text);
  line.classList.add("fresh");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => line.classList.remove("fresh"), 6000);
}
