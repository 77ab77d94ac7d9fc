// Questions from templates: made from the corpus, looked at, and taken or left one by one.

import { get, post } from "./api.js";
import { button, dialog, el, field, fill, name, plain, problem, shown } from "./dom.js";
import { labelOf, t } from "./words.js";

/** @param done called with how many were added. */
export function fromTemplates(done) {
  const count = el("input", { type: "number", min: 1, max: 200, value: 20, required: true }), rows = el("div.made", { "aria-live": "polite" });
  let seed = 0, boxes = [];
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const add = el("button.primary", { type: "button", hidden: true, onclick: async () => {
    add.disabled = true;
    try {
      const { added } = await post("api/templates", { uids: chosen() });
      box.close();
      done(added);
    } catch (error) {
      fill(rows, problem(error));
    }
    add.disabled = false;
  } });
  const say = () => {
    add.hidden = !chosen().length;
    fill(add, t(chosen().length === 1 ? "addThese1" : "addThese", chosen().length));
  };
  const look = async (event) => {
    event.preventDefault();
    [boxes, add.hidden] = [[], true];
    fill(rows, t("making"));
    try {
      const { questions } = await get("api/templates", { n: count.value, seed: seed++ });
      boxes = questions.map(({ uid }) => el("input", { type: "checkbox", value: uid, checked: true, onchange: say }));
      fill(rows, el("p.muted", {}, t(questions.length ? "madeSome" : "madeNone", questions.length, Number(count.value)), questions.length && questions.length < count.value ? ` ${t("madeWhyNot")}` : ""),
        questions.map((question, position) => el("label.check", {}, boxes[position],
          el("span", { dir: "auto" }, shown(question.text), " ", el("small.muted", {}, name(labelOf(question.query_type)), " · ", name(labelOf(question.difficulty)))))));
      say();
    } catch (error) {
      fill(rows, problem(error));
    }
  };
  const box = dialog(t("fromTemplates"), el("form", { onsubmit: look }, el("p.muted", {}, t("fromTemplatesHint")),
    el("div.inline", {}, field(t("howMany"), count), el("button", { type: "submit" }, t("preview"))), rows,
    el("p.actions", {}, add, button(t("cancel"), () => box.close()))));
}
