// What must not be shown for a question: said of a passage beside its grade, and taken back.

import { button, dialog, el, field, plain, shown } from "./dom.js";
import { t } from "./words.js";

const KINDS = ["tenant", "stale", "retracted", "poisoned"];
let latest = KINDS[0]; // who marks several marks them for the same reason as a rule

export const kindOf = (why) => (KINDS.includes(why) ? t(`why_${why}`) : plain(why));

/**
 * Ask as what a passage must not be shown for a question.
 *
 * @param question its text.
 * @param mark what the person has said before: why and note; null for nothing.
 * @param send is given the new one; null where it may be shown again.
 */
export function forbid(question, mark, send) {
  const before = mark?.why ?? latest, isOther = !KINDS.includes(before);
  const other = el("input", { maxlength: 100, "aria-label": t("otherValue"), placeholder: t("otherValue"), hidden: !isOther, value: isOther ? before : "" });
  const kinds = [...KINDS, ""].map((kind) => el("input", { type: "radio", name: "why", value: kind, checked: kind === (isOther ? "" : before), onchange: () => toggle() }));
  const note = el("textarea", { rows: 2, maxlength: 2000, value: mark?.note ?? "" });
  const toggle = () => { [other.hidden, other.required] = [!kinds.at(-1).checked, kinds.at(-1).checked]; };
  const give = (event) => {
    event?.preventDefault();
    const why = kinds.find((kind) => kind.checked).value || other.value.trim();
    if (!why) return other.focus();
    latest = why;
    box.close();
    send({ why, note: note.value.trim() });
  };
  const box = dialog(t("forbidHead"), el("form", { onsubmit: give },
    el("blockquote", { dir: "auto" }, shown(question)), el("p.muted", {}, t("forbidWhat")),
    el("fieldset.kinds", {}, el("legend", {}, t("forbidWhy")),
      kinds.map((kind) => el("label", {}, kind, el("span", {}, kind.value ? t(`why_${kind.value}`) : t("other")))), other),
    field(t("note"), note),
    el("p.actions", {}, el("button.primary", { type: "submit" }, t("forbidSend")),
      mark ? button(t("forbidBack"), () => { box.close(); send(null); }) : null, button(t("cancel"), () => box.close()))));
  toggle();
  kinds.find((kind) => kind.checked).focus();
}
