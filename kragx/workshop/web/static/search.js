// The corpus in one's own words. What is found can be judged for a question at once.

import { get, newUid } from "./api.js";
import { button, byId, el, empty, field, fill, grades, name, problem, say, select, shown } from "./dom.js";
import { forget, questionBefore } from "./judge.js";
import { passage } from "./passage.js";
import { t } from "./words.js";

const FOLDED = 700; // letters of a passage that are shown before somebody asks for the rest

let app, question, hits, head; // `head`: what one searches for, in sight whatever is scrolled
let latest = 0; // the latest search wins

export async function show(main, given, chosen = "") {
  app = given;
  const open = (await app.read("api/questions", { state: "open" })).questions;
  question = open.find(({ uid }) => uid === (chosen || questionBefore()))?.uid ?? "";
  [hits, head] = [el("div.hits", { "aria-live": "polite" }), el("section.asked", { hidden: true })];
  heading(open);
  const input = el("input", { type: "search", id: "words", maxlength: 500, placeholder: t("searchHint"), enterkeyhint: "search" });
  const ask = async (event) => {
    event?.preventDefault();
    if (!input.value.trim()) return;
    await search(input.value);
    if (document.activeElement === input) hits.querySelector("article")?.focus({ preventScroll: true });
  };
  fill(main, el("div.search", {},
    el("p.small", {}, button(t("backToJudging"), back, { class: "link" })),
    open.length ? field(t("forQuestion"), select([["", t("chooseQuestion")], ...open.map(({ uid, text }) => [uid, text])], question,
      { id: "for", onchange: (event) => { question = event.target.value; heading(open); ask(); } })) : el("p.muted", {}, t("noQuestions")),
    el("p.muted.small", {}, t("searchWhy")), head,
    el("form", { role: "search", onsubmit: ask }, field(t("ownWords"), input), el("button.primary", { type: "submit" }, t("view_search"))),
    hits));
  input.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.isComposing) back(); });
  input.focus();
}

function heading(open) {
  head.hidden = !question;
  fill(head, el("h1", { dir: "auto" }, shown(open.find(({ uid }) => uid === question)?.text ?? "")));
}

const back = () => app.go("judge");

async function search(words) {
  const own = ++latest, place = hits;
  fill(place, el("p.muted", {}, t("loading")));
  try {
    const { documents } = await get("api/search", { q: words, question });
    if (own !== latest) return;
    fill(place, documents.length ? [el("p.small.muted", {}, t(documents.length === 1 ? "nHits1" : "nHits", documents.length)), documents.map(hit)] : empty(t("nothingFound"), t("nothingFoundHint")));
  } catch (error) {
    if (own === latest) fill(place, problem(error));
  }
}

/** A passage with what can be said of it: evidence, a note, a grade, or that it is put off. */
function hit(document) {
  const { id, title, mine } = document, isLong = document.text.length > FOLDED + 200;
  const text = passage(document.text, mine?.spans, document.words);
  const folded = el("div", { class: isLong ? "folded" : null }, text.node);
  const whole = isLong && button(t("showAll"), () => { folded.classList.remove("folded"); whole.remove(); }, { class: "link" });
  const note = el("textarea", { rows: 2, maxlength: 2000, "aria-label": t("note"), hidden: !mine?.note, value: mine?.note ?? "" });
  const verdict = el("p.small.muted", { role: "status" }, mine ? `${t("youSaid")} ${app.words(mine)}` : "");
  const openNote = () => { note.hidden = false; note.focus(); };
  const node = el("article.hit", { tabindex: -1 }, title ? el("h3", { dir: "auto" }, shown(title)) : null, folded, whole,
    note, grades(app.me.set.scale, (grade) => node.judge("grade", grade)),
    el("div.tools", {}, button(t("later"), () => node.judge("later"), { class: "tool", title: t("laterHint") }), button(t("note"), openNote, { class: "tool" })), verdict,
    el("p.small.muted", {}, name(id)));
  node.judge = (kind, grade = null) => {
    if (!question) {
      say(t("chooseQuestionFirst"));
      byId("for")?.focus();
      return;
    }
    app.outbox.add("api/judgements", { uid: newUid(), question, document: id, kind, grade, spans: text.spans(), note: note.value.trim() });
    forget(question, id);
    verdict.textContent = `${t("youSaid")} ${app.words({ kind, grade })}`;
    node.querySelectorAll(".grade").forEach((one) => one.classList.toggle("mine", one.dataset.grade === String(grade)));
    node.nextElementSibling?.focus();
  };
  return node;
}

export function keys(key) {
  const here = document.activeElement?.closest?.("article.hit");
  const step = (sibling) => () => (here ? here[sibling] : hits.querySelector("article"))?.focus();
  const grade = app.me.set.scale.find((one) => String(one.grade) === key);
  if (grade && here) return () => here.judge("grade", grade.grade);
  return { j: step("nextElementSibling"), k: step("previousElementSibling"), "/": () => byId("words").focus(), Escape: back }[key];
}
