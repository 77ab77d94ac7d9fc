// The text before and after a passage in its source, for who asks for it.

import { get } from "./api.js";
import { el, fill, problem, shown } from "./dom.js";
import { t } from "./words.js";

/** What opens to show it; it is fetched once. */
export function around(id) {
  const inside = el("div.around");
  const open = async () => {
    if (inside.firstChild) return;
    try {
      const texts = await get("api/around", { document: id });
      const part = (key) => texts[key] && [el("h3", {}, t(`around_${key}`)), el("p.text", { dir: "auto" }, shown(texts[key]))];
      fill(inside, el("p.muted", {}, t("aroundHint")), part("before"), part("after"));
    } catch (error) {
      fill(inside, problem(error));
    }
  };
  return el("details.small", { ontoggle: open }, el("summary", {}, t("around")), inside);
}
