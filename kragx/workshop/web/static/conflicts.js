// What people disagree on, side by side, and the third look that decides.

import { newUid, post } from "./api.js";
import { button, byId, el, empty, fill, grades, name, personName, problem, say, shown } from "./dom.js";
import { passage } from "./passage.js";
import { t } from "./words.js";

const TOO_SOON = 300; // ms; see judge.js

let app, main, list, position, text, note, shownAt, isSending;

export async function show(given, itsApp) {
  [main, app] = [given, itsApp];
  list = (await app.read("api/conflicts")).conflicts;
  [position, isSending] = [0, false];
  draw();
}

function draw() {
  const conflict = list[position];
  if (!conflict) {
    fill(main, empty(t("noConflicts"), t("noConflictsHint"), button(t("reload"), () => app.again("conflicts"))));
    return;
  }
  const { question, document, judgements } = conflict;
  text = passage(document.text, judgements.flatMap(({ spans }) => spans ?? []));
  note = el("textarea", { rows: 2, hidden: true, maxlength: 2000, placeholder: t("decisionNote"), "aria-label": t("note") });
  const step = (by) => { position = (position + by + list.length) % list.length; draw(); };
  fill(main, el("div.judge.conflict", { vars: { "--top": `${byId("top").offsetHeight}px` } },
    el("div.left", {},
      el("section.asked", {}, el("p.small.muted", {}, t("conflictOf", position + 1, list.length), " ",
        list.length > 1 ? [button("←", () => step(-1), { "aria-label": t("before") }), button("→", () => step(1), { "aria-label": t("after") })] : null),
      el("h1", { dir: "auto" }, shown(question.text))),
      el("div.sides", {}, judgements.map(side)),
      el("section.bar", { "aria-label": t("decide") }, el("p", {}, el("strong", {}, t("decide")), el("span.muted", {}, t("decideHint"))), note,
        grades(app.me.set.scale, (grade) => decide("grade", grade)),
        el("div.tools", {}, button([el("kbd", {}, "x"), el("span", {}, t("unusable"))], () => decide("unusable"), { class: "tool" }), button([el("kbd", {}, "e"), el("span", {}, t("note"))], writeNote, { class: "tool" })))),
    el("section.shown", {}, document.title ? el("h2", { dir: "auto" }, shown(document.title)) : null,
      text.spans().length ? el("p.small.muted", {}, t("theirMarks")) : null, text.node)));
  shownAt = performance.now();
}

function writeNote() {
  note.hidden = false;
  note.focus();
}

/** What one of them said, and where they saw it. */
const side = (judgement) => el("article.side", {},
  el("h3", {}, name(personName(judgement.person.name))), el("p.grade-said", {}, app.words(judgement)),
  judgement.note ? el("p", { dir: "auto" }, shown(judgement.note)) : null,
  judgement.evidence.map((words) => el("blockquote", { dir: "auto" }, shown(words))));

async function decide(kind, grade = null) {
  if (isSending || performance.now() - shownAt < TOO_SOON) return;
  isSending = true;
  const { question, document } = list[position];
  try {
    await post("api/decisions", { uid: newUid(), question: question.uid, document: document.id, kind, grade, spans: text.spans(), note: note.value.trim() });
    say(t("decidedAs", app.words({ kind, grade })));
    list.splice(position, 1);
    position = Math.min(position, Math.max(0, list.length - 1));
    app.refresh().catch(() => {});
    draw();
  } catch (error) {
    main.querySelector(".bar .problem")?.remove();
    main.querySelector(".bar").append(problem(error));
  }
  isSending = false;
}

export function keys(key) {
  if (!list?.[position]) return null;
  const grade = app.me.set.scale.find((step) => String(step.grade) === key);
  if (grade) return () => decide("grade", grade.grade);
  const step = (by) => () => { position = (position + by + list.length) % list.length; draw(); };
  return { x: () => decide("unusable"), e: writeNote, j: step(1), k: step(-1), ArrowRight: step(1), ArrowLeft: step(-1) }[key];
}
