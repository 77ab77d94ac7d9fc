// The passages that a question was made from: looked for by words and taken, so that nobody types an id.

import { get } from "./api.js";
import { button, el, fill, plain, problem, shown } from "./dom.js";
import { t } from "./words.js";

const MOST = 6; // passages that a search offers

const start = (text) => (text.length > 90 ? `${text.slice(0, 90)}…` : text);

/** What stands for a passage in a list. */
const brief = ({ id, title, text }) => el("span", { dir: "auto", title: plain(id) }, title ? el("strong", {}, shown(title), " ") : null, shown(start(text)));

/**
 * Those that were taken before, each with a button that gives it up, and a search for more.
 *
 * @returns {node, value()}: the element, and a function that gives the ids.
 */
export function sourcesField(before = []) {
  const taken = new Map(before.map((id) => [id, { id, title: null, text: id }]));
  const list = el("ul.taken", { "aria-label": t("sources") }), offers = el("div.offers", { "aria-live": "polite" });
  const input = el("input", { type: "search", maxlength: 500, placeholder: t("sourcesFind"), "aria-label": t("sourcesFind"), onkeydown: (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // else the form is sent
    find();
  } });
  const draw = () => fill(list, [...taken.values()].map((document) => el("li", {}, brief(document),
    button("×", () => { taken.delete(document.id); draw(); }, { class: "close", "aria-label": `${t("giveUp")} ${plain(document.id)}` }))));
  const take = (document) => {
    taken.set(document.id, document);
    fill(offers);
    input.value = "";
    input.focus();
    draw();
  };
  let latest = 0; // the latest search wins
  const find = async () => {
    if (!input.value.trim()) return;
    const own = ++latest;
    fill(offers, t("loading"));
    try {
      const { documents } = await get("api/search", { q: input.value });
      if (own !== latest) return;
      const others = documents.filter(({ id }) => !taken.has(id)).slice(0, MOST);
      fill(offers, others.length ? others.map((document) => button(brief(document), () => take(document))) : t("nothingFound"));
    } catch (error) {
      fill(offers, problem(error));
    }
  };
  const look = async (id) => { // the words of one that is known by its id
    const document = await get("api/documents", { document: id }).catch(() => null);
    if (document && taken.has(id)) { taken.set(id, document); draw(); }
  };
  draw();
  before.forEach(look);
  return { node: el("div.field", {}, el("span", {}, t("sources")), list, el("div.inline", {}, input, button(t("view_search"), find)), offers, el("small.muted", {}, t("sourcesHint"))), value: () => [...taken.keys()] };
}
