// What the set's guidelines say, over the page. They come as a tree of nodes, never as markup.

import { get } from "./api.js";
import { dialog, el, fill, problem, shown } from "./dom.js";
import { t } from "./words.js";

const TAGS = new Set(["h1", "h2", "h3", "h4", "p", "ul", "ol", "li", "em", "strong", "s", "code", "pre", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br"]);

/** A node of the tree: a text, or {tag, children}. */
const built = (node) => (typeof node === "string" ? shown(node) : el(TAGS.has(node.tag) ? node.tag : "span", {}, (node.children ?? []).map(built)));

export async function showGuidelines() {
  const body = el("div.guidelines", {}, t("loading")), box = dialog(t("guidelines"), body);
  box.addEventListener("keydown", (event) => { if (["?", "g"].includes(event.key) || event.code === "KeyG") box.close(); });
  try {
    const { tree } = await get("api/guidelines");
    fill(body, tree.length ? tree.map(built) : t("noGuidelines"));
  } catch (error) {
    fill(body, problem(error));
  }
}
