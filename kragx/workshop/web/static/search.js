// The corpus in one's own words. What is found can be judged for a question at once.

import { get, newUid } from "./api.js";
import { button, byId, el, empty, field, fill, grades, name, problem, say, select, shown } from "./dom.js";
import { forget } from "./judge.js";
import { t } from "./words.js";

const FOLDED = 700; // letters of a passage that are shown before somebody asks for the rest

let app, question, hits;

export async function show(main, given, chosen = "") {
  app = given;
  const open = (await get("api/questions", { state: "open" })).questions;
  question = open.find(({ uid }) => uid === chosen)?.uid ?? "";
  hits = el("div.hits", { "aria-live": "polite" });
  const input = el("input", { type: "search", id: "words", maxlength: 500, placeholder: t("searchHint"), enterkeyhint: "search" });
  const ask = async (event) => {
    event?.preventDefault();
    if (!input.value.trim()) return;
    await search(input.value);
    if (document.activeElement === input) hits.querySelector("article")?.focus();
  };
  fill(main, el("div.search", {},
    el("p.small", {}, button(t("backToJudging"), back, { class: "link" })),
    open.length ? field(t("forQuestion"), select([["", t("chooseQuestion")], ...open.map(({ uid, text }) => [uid, text])], question,
      { id: "for", onchange: (event) => { question = event.target.value; ask(); } })) : el("p.muted", {}, t("noQuestions")),
    el("form", { role: "search", onsubmit: ask }, field(t("ownWords"), input), el("button.primary", { type: "submit" }, t("view_search"))),
    hits));
  input.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.isComposing) back(); });
  input.focus();
}

const back = () => app.go("judge");

async function search(words) {
  fill(hits, el("p.muted", {}, t("loading")));
  try {
    const { documents } = await get("api/search", { q: words, question });
    fill(hits, documents.length ? documents.map(hit) : empty(t("nothingFound"), t("nothingFoundHint")));
  } catch (error) {
    fill(hits, problem(error));
  }
}

function hit(document) {
  const { id, title, text, mine } = document, isLong = text.length > FOLDED + 200;
  const words = el("div.text", { lang: "", dir: "auto" }, shown(isLong ? `${text.slice(0, FOLDED)}…` : text));
  const whole = isLong && button(t("showAll"), () => { fill(words, shown(text)); whole.remove(); }, { class: "link" });
  const verdict = el("p.small.muted", { role: "status" }, mine ? `${t("youSaid")} ${app.words(mine)}` : "");
  const node = el("article.hit", { tabindex: -1 }, title ? el("h3", { dir: "auto" }, shown(title)) : null, words, whole,
    grades(app.me.set.scale, (grade) => node.judge(grade)), verdict,
    el("p.small.muted", {}, name(id)));
  node.judge = (grade) => {
    if (!question) {
      say(t("chooseQuestionFirst"));
      byId("for")?.focus();
      return;
    }
    app.outbox.add("api/judgements", { uid: newUid(), question, document: id, kind: "grade", grade, spans: [], note: "", seconds: null });
    forget(question, id);
    verdict.textContent = `✓ ${app.words({ kind: "grade", grade })}`;
    node.querySelectorAll(".grade").forEach((one) => one.classList.toggle("mine", one.dataset.grade === String(grade)));
    node.nextElementSibling?.focus();
  };
  return node;
}

export function keys(key) {
  const here = document.activeElement?.closest?.("article.hit");
  const step = (sibling) => () => (here ? here[sibling] : hits.querySelector("article"))?.focus();
  const grade = app.me.set.scale.find((one) => String(one.grade) === key);
  if (grade && here) return () => here.judge(grade.grade);
  return { j: step("nextElementSibling"), k: step("previousElementSibling"), "/": () => byId("words").focus(), Escape: back }[key];
}
