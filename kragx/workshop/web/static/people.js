// Who judges: a name gets a link of its own, and a link can be taken away.

import { post } from "./api.js";
import { button, el, field, fill, name, personName, problem, say, table } from "./dom.js";
import { t } from "./words.js";

let app;

export async function show(main, given) {
  app = given;
  const { people } = await app.read("api/people");
  const input = el("input", { required: true, maxlength: 100, autocomplete: "off", id: "new-name" }), wrong = el("div");
  const add = async (event) => {
    event.preventDefault();
    await change({ name: input.value.trim() }, wrong);
  };
  fill(main, el("h1", {}, t("people")), el("p.muted", {}, t("peopleHint")),
    el("form.inline", { onsubmit: add }, field(t("name"), input), el("button.primary", { type: "submit" }, t("addPerson"))), wrong,
    table([t("name"), t("role"), t("judgedPairs"), t("link")], people.map((person) => [
      name(personName(person.name)), t(`role_${person.role}`), person.judged ?? 0, person.role === "file" ? "–" : link(person, wrong)])));
}

async function change(value, wrong) {
  try {
    const answer = await post("api/people", value);
    await app.again("people");
    say(t(value.state === "gone" ? "linkTaken" : "personAdded"));
    return answer;
  } catch (error) {
    fill(wrong, problem(error));
    return null;
  }
}

function link(person, wrong) {
  if (person.state === "gone") return [el("span.muted", {}, t("linkGone")), " ", button(t("linkBack"), () => change({ uid: person.uid, state: "here" }, wrong))];
  const address = person.link ? new URL(person.link, location.href).href : "";
  const input = el("input", { readonly: true, value: address, "aria-label": t("linkOf", personName(person.name)), onfocus: (event) => event.target.select() });
  return el("div.link", {}, input, button(t("copy"), () => copy(input)),
    person.role === "owner" ? null : button(t("takeAway"), () => change({ uid: person.uid, state: "gone" }, wrong), { title: t("takeAwayHint") }));
}

/** Copy a link; where the browser gives no clipboard (http from another machine), it is selected to be copied by hand. */
async function copy(input) {
  input.select();
  try {
    await navigator.clipboard.writeText(input.value);
    say(t("copied"));
  } catch {
    say(t("copyByHand"));
  }
}
