// Elements, numbers and texts. Text from data enters the page as text nodes only.

const SVG = "http://www.w3.org/2000/svg";

/** An element: tag or tag.class, attributes (on... are listeners), children (text or elements). */
function el(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElement(name), classes, attributes, children);
}

/** The same for SVG. */
function svg(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  return filled(document.createElementNS(SVG, name), classes, attributes, children);
}

function filled(node, classes, attributes, children) {
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", [...classes, value].join(" "));
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "vars") for (const key in value) node.style.setProperty(key, value[key]);
    else node.setAttribute(name, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat(4)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** What a compressed block holds. */
async function unpacked(base64) {
  const letters = atob(base64), bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** The text of a data element. */
function block(id) {
  return document.getElementById(id).textContent;
}

// Marks that turn the direction of text, and other characters that one does not see.
const HIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]/g;
const code = (letter) => "U+" + letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** A question mark that says more when pointed at or reached by keyboard. */
const help = (text) => el("button.help", { type: "button", "aria-label": text, "data-tip": text }, "?");

/** A short text from data for labels and attributes: hidden characters by their code. */
function plain(text) {
  return String(text).replace(HIDDEN, (letter) => `⟨${code(letter)}⟩`);
}

/** A text from data as nodes: its own direction, hidden characters shown by their code. */
function shown(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) nodes.push(text.slice(from, found.index));
    nodes.push(el("span.hidden-mark", { title: t("hidden") }, code(found[0])));
    from = found.index + found[0].length;
  }
  nodes.push(text.slice(from));
  return nodes;
}

/** A name from data, kept apart from the direction of what stands around it. */
const name = (text) => el("bdi", {}, plain(text));

/** A name that may be broken after the signs that names are made with. */
function breakable(text) {
  return el("bdi", {}, plain(text).split(/(?<=[+\-_/.:@])/).flatMap((part, at) => (at ? [el("wbr"), part] : [part])));
}

// -- numbers ---------------------------------------------------------------------------------

function grouped(value, digits = 0) {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** A value of a metric as people read it. */
function number(value, metric) {
  if (value === null || value === undefined) return "–";
  if (metric && metric.name.startsWith("seconds")) return duration(value);
  if (Math.abs(value) >= 100) return grouped(value);
  if (value !== 0 && Math.abs(value) < 0.001) return value.toPrecision(2);
  return value.toFixed(3);
}

/** A limit as it was written. */
const number_ = (value) => String(+Number(value).toPrecision(6));

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds >= 100) return `${grouped(seconds)} s`;
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  const ms = seconds * 1000;
  return `${ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

function signed(value, metric) {
  if (value === null || value === undefined) return "–";
  const minus = value < 0;
  return (minus ? "−" : "+") + number(Math.abs(value), metric);
}

const range = (low, high, metric) =>
  low === null || low === undefined ? "" : `[${number(low, metric)}, ${number(high, metric)}]`;
const signedRange = (low, high, metric) =>
  low === null || low === undefined ? "" : `[${signed(low, metric)}, ${signed(high, metric)}]`;
