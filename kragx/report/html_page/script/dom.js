// Elements and texts. Text from data enters the page as text nodes only.

const SVG = "http://www.w3.org/2000/svg";

// `WORDS` has every word of the interface by language, from the catalogues; {0}, {1} ... are filled in.
const sentence = (key, language = state.language) => WORDS[language][key] ?? "";
/** A phrase in the language of the interface, as text. */
const t = (key, ...values) => sentence(key).replace(/\{(\d)\}/g, (_, place) => values[place]);
/** A phrase with elements filled in, as nodes. */
const phrase = (key, ...values) =>
  sentence(key).split(/(\{\d\})/).map((part) => (/^\{\d\}$/.test(part) ? values[part[1]] : part));

/** An element: tag or tag.class, attributes (on... are listeners), children (text or elements). */
function el(tag, attributes, ...children) {
  const [tagName, ...classes] = tag.split(".");
  return filled(document.createElement(tagName), classes, attributes, children);
}

/** The same for SVG. */
function svg(tag, attributes, ...children) {
  const [tagName, ...classes] = tag.split(".");
  return filled(document.createElementNS(SVG, tagName), classes, attributes, children);
}

function filled(node, classes, attributes, children) {
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [attribute, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (attribute.startsWith("on")) node.addEventListener(attribute.slice(2), value);
    else if (attribute === "class") node.setAttribute("class", [...classes, value].join(" "));
    else if (attribute === "style") Object.assign(node.style, value);
    else if (attribute === "vars") for (const key in value) node.style.setProperty(key, value[key]);
    else node.setAttribute(attribute, value === true ? "" : value);
  }
  return add(node, children);
}

function add(node, children) {
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const byId = (id) => document.getElementById(id);

// Marks that turn the direction of text, and other characters that one does not see.
const HIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/g;
const code = (letter) => "U+" + letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** A short text from data for labels and attributes: hidden characters by their code. */
const plain = (text) => String(text).replace(HIDDEN, (letter) => `⟨${code(letter)}⟩`);

/** A text from data as nodes: its own direction, hidden characters shown by their code. */
function shown(text) {
  const nodes = [];
  let from = 0;
  for (const hidden of text.matchAll(HIDDEN)) {
    if (hidden.index > from) nodes.push(text.slice(from, hidden.index));
    nodes.push(el("span.hidden-mark", { title: t("hidden") }, code(hidden[0])));
    from = hidden.index + hidden[0].length;
  }
  nodes.push(text.slice(from));
  return nodes;
}

/** A name from data, kept apart from the direction of what stands around it. */
const name = (text) => el("bdi", {}, plain(text));

/** The name of a retriever in a sentence. */
const strong = (retriever) => el("strong.retriever", {}, name(retriever));

/** A name that may be broken after the signs that names are made with. */
const breakable = (text) =>
  el("bdi", {}, plain(text).split(/(?<=[+\-_/.:@])/).flatMap((part, position) => (position ? [el("wbr"), part] : [part])));

/** Nodes with something between them. */
const joined = (nodes, between) => nodes.flatMap((node, position) => (position ? [between, node] : [node]));

const NAMES = 5;

/** Names of retrievers in a sentence; of many the first ones, and how many more there are. */
function listed(names) {
  if (names.length <= NAMES + 1) return joined(names.map(strong), ", ");
  const more = names.slice(NAMES);
  return [...joined(names.slice(0, NAMES).map(strong), ", "), " ", t("andMore", more.length), help(more.map(plain).join(", "))];
}

/** A question mark that says more when pointed at or reached by keyboard. */
const help = (text) => el("button.help", { type: "button", "aria-label": text, "data-tip": text }, "?");

/** A select of [value, text] pairs. */
const select = (attributes, options, chosen, choose) =>
  el("select", { ...attributes, onchange: (event) => choose(event.target.value) },
    options.map(([value, text]) => el("option", { value, selected: String(value) === String(chosen) }, plain(text))));

/** Something to fill in or to choose, below its label. */
const field = (text, input, cls = "") => el("label.field" + cls, {}, el("span", {}, text), input);

/** Buttons of which one is pressed. */
const tabs = (attributes, options, chosen, choose) =>
  el("div.tabs", { role: "group", ...attributes },
    options.map(([value, text]) => el("button", { "aria-pressed": String(value === chosen), onclick: () => choose(value) }, text)));
