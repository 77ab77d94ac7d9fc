// One question, one passage, one grade; and on to the next.

import { get, leave as giveBack, newUid, recall, remember } from "./api.js";
import { button, byId, el, empty, fill, grades, name, plain, shown } from "./dom.js";
import { showGuidelines } from "./guidelines.js";
import { forbid, kindOf } from "./mark.js";
import { passage } from "./passage.js";
import { odd } from "./questions.js";
import { decidesShort, decidesWords, t } from "./words.js";

// Nobody reads a passage within this time (ms): what comes sooner is the second half of a double click or of a key
// that was meant for the pair before.
const TOO_SOON = 300;
const AHEAD = 2; // pairs that are fetched before they are asked for

let app, only, parts; // `only`: uid of the question that alone is judged; `parts`: the elements that change
let current = null, ahead = [], end = null, shownAt = 0, text = null;
let standing = {}; // what the server said last of how far everything is
let row = { question: null, pairs: 0 }; // the question that was shown last, and with how many pairs in a row
const drafts = new Map(); // what was marked and noted of a pair, by its key, while it is away
const done = new Set(); // keys of the pairs that were judged here: an answer that was under way may still name them

const keyOfPair = ({ question, document: { id } }) => `${question.uid} ${id}`;
const isTouch = () => matchMedia("(pointer: coarse)").matches;
const same = (one, other) => one && other && keyOfPair(one) === keyOfPair(other);

export async function show(main, given, question = null) {
  app = given;
  if (question !== only) [current, ahead] = [null, []];
  only = question;
  frame(main);
  if (current) draw(current);
  else await fetchNext();
}

/** Others may judge meanwhile what is shown here. */
export function leave() {
  keepDraft();
  ahead = [];
  giveBack();
}

/** A pair that was judged elsewhere does not come again from what was fetched before. */
export function forget(questionUid, documentId) {
  done.add(`${questionUid} ${documentId}`);
  const stays = (pair) => !(pair.question.uid === questionUid && pair.document.id === documentId);
  ahead = ahead.filter(stays);
  if (current && !stays(current)) current = null;
}

/** The uid of the question that somebody is judging: what they search for is for it. */
export const questionBefore = () => current?.question.uid ?? "";

async function fetchNext() {
  const answer = await get("api/next", { question: only });
  if (answer.pair && !app.outbox.messages.length) done.delete(keyOfPair(answer.pair)); // the server knows of all
  take(answer);
}

/** What the server says comes next: shown if nothing is, else kept for then. */
function take(answer) {
  status(answer);
  const { pair } = answer;
  const isDone = pair && done.has(keyOfPair(pair)) && pair.mine?.kind !== "later";
  if (!pair) end = answer;
  else if (!isDone && !same(pair, current) && !ahead.some((other) => same(pair, other))) ahead.push(pair);
  if (!current) advance();
}

function advance() {
  const pair = ahead.shift();
  if (pair) draw(pair);
  else if (app.outbox.messages.length) parts.document.classList.add("waiting"); // its answer says what comes next
  else if (end) nothingLeft(end);
  else fetchNext().catch((error) => nothingLeft({ error }));
}

/** Fetch what comes after the pair that is shown, so that going on takes no time, even on a busy machine. */
async function lookAhead(pair) {
  const before = only;
  try {
    for (let count = -1; same(pair, current) && count < ahead.length && ahead.length < AHEAD;) {
      count = ahead.length;
      const after = [pair, ...ahead].map(({ question, document: { id } }) => [question.uid, id]);
      const answer = await get("api/next", { question: only, after: JSON.stringify(after) });
      if (before === only && answer.pair) take(answer);
    }
  } catch {
    // It comes with the answer to the judgement, too.
  }
}

// -- what stands on the screen ---------------------------------------------------------------------

function frame(main) {
  parts = {
    question: el("section.asked", { "aria-labelledby": "question" }),
    document: el("section.shown", { "aria-label": t("passage") }, empty(t("loading"))),
    said: el("p.last", { role: "status", "aria-live": "polite" }),
    status: el("p.status"),
    stop: el("aside.card", { hidden: true }),
    note: el("textarea", { rows: 2, maxlength: 2000, "aria-label": t("note"), hidden: true, onkeydown: leaveNote }),
    noteHint: el("small.muted", {}, t(isTouch() ? "noteHintTouch" : "noteHint")),
  };
  parts.before = button(`↑ ${t("textBefore")}`, () => window.scrollTo({ top: 0 }), { class: "more before", hidden: true });
  parts.after = button(`↓ ${t("textAfter")}`, () => window.scrollBy({ top: 0.7 * visiblePart() }), { class: "more after", hidden: true });
  parts.underline = tool("underline", "w", underline, "underlineHint");
  parts.bar = el("section.bar", { "aria-label": t("yourGrade") }, el("div.lines", {}, parts.said, parts.status), parts.note, parts.noteHint, grades(app.me.set.scale, (grade) => give("grade", grade)),
    el("div.tools", {}, TOOLS.map((entry) => tool(...entry))));
  parts.all = el("div.judge.over", { vars: { "--top": `${byId("top").offsetHeight}px` } }, el("div.left", {}, parts.question, parts.stop, firstVisit(), parts.bar), parts.document);
  fill(main, parts.all);
  underline(null, recall("kragx:underline") ?? true);
  status(standing);
}

const tool = (word, key, act, hint) => button([el("kbd", {}, key), el("span", {}, t(word))], act, { class: "tool", title: t(hint ?? word) });

/** Two lines for who is here for the first time; they go with the first grade. */
function firstVisit() {
  if (recall("kragx:met") || current?.mine) return null;
  parts.card = el("aside.card.first", {}, ["first1", isTouch() ? "first2Touch" : "first2"].map((line) => el("p", {}, t(line))));
  return parts.card;
}

/** Whether the question's words are underlined, and a long text opens where most of them stand; kept in the browser. */
function underline(event, isOn = !isUnderlined()) {
  document.documentElement.dataset.underline = isOn ? "on" : "off";
  parts.underline.setAttribute("aria-pressed", isOn);
  if (event !== null) remember("kragx:underline", isOn);
}

const isUnderlined = () => document.documentElement.dataset.underline === "on";

function draw(pair) {
  current = pair;
  parts.all.classList.remove("over");
  parts.document.classList.remove("waiting");
  const { question, document: { id, title, metadata }, copies, mine } = pair;
  const kept = recall("kragx-draft"), isKept = kept?.person === app.me.person.uid && kept.pair === keyOfPair(pair);
  const draft = drafts.get(keyOfPair(pair)) ?? (isKept ? kept : { spans: mine?.spans ?? [], note: mine?.note ?? "" });
  row = { question: question.uid, pairs: row.question === question.uid ? row.pairs + (row.pair !== keyOfPair(pair)) : 1, pair: keyOfPair(pair) };
  parts.question.classList.toggle("same", row.pairs > 1);
  fill(parts.question,
    only ? el("p.small", {}, t("onlyThis"), " ", el("a", { href: location.hash.replace(/\/judge.*/, "/judge") }, t("allQuestions"))) : "",
    only ? "" : el("p.small.which", {}, row.pairs > 1 ? t("sameQuestion", row.pairs) : t("newQuestion")),
    (question.history ?? []).map((turn) => el("p.small.muted", { dir: "auto" }, shown(turn.content))),
    el("h1", { id: "question", dir: "auto" }, shown(question.text)),
    question.note ? el("p.muted", { dir: "auto" }, shown(question.note)) : "",
    pair.moved?.length ? el("aside.card.moved", {}, el("p", {}, t("moved")), pair.moved.map((words) => el("blockquote", { dir: "auto" }, shown(words)))) : "");
  text = passage(pair.document.text, draft.spans, pair.words);
  const facts = Object.entries(metadata ?? {}).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value) && value !== "");
  parts.mark = el("p.caution.small", { dir: "auto" });
  sayMark();
  fill(parts.document, parts.before, mine?.kind === "later" ? el("p.caution.small", {}, t("postponed")) : "", parts.mark,
    title ? el("h2", { dir: "auto" }, shown(title)) : "", text.node, parts.after,
    recall("kragx:marked") ? "" : el("p.small.muted", {}, t(isTouch() ? "markHintTouch" : "markHint")),
    parts.underline,
    el("details.small", {}, el("summary", {}, t("aboutPassage")),
      copies > 1 ? el("p", {}, t(copies === 2 ? "copies1" : "copies", copies - 1)) : "",
      el("dl", {}, [[t("documentId"), id], ...facts].map(([key, value]) => el("div", {}, el("dt", {}, name(key)), el("dd", {}, name(value)))))));
  parts.note.value = draft.note;
  parts.note.hidden = !draft.note;
  parts.bar.querySelectorAll(".grade").forEach((one) => one.classList.toggle("mine", mine?.kind === "grade" && String(mine.grade) === one.dataset.grade));
  openText();
  shownAt = performance.now();
  lookAhead(pair);
}

/** That it was marked as one that must not be shown here, with its kind and note. */
function sayMark() {
  const { mark } = current;
  parts.mark.hidden = !mark;
  if (mark) fill(parts.mark, t("forbidden", kindOf(mark.why)), mark.note ? [" · ", shown(mark.note)] : "");
}

/** A text opens at its beginning; where most of the question's words stand beyond what is seen, there. */
function openText() {
  if (window.scrollY > 0) window.scrollTo(0, 0);
  const words = isUnderlined() ? [...text.body.querySelectorAll("u")] : [], height = visiblePart() / 3;
  const ends = words.map((word) => word.getBoundingClientRect().bottom);
  const counts = ends.map((end) => new Set(words.filter((_, n) => ends[n] >= end && ends[n] < end + height).map((word) => word.textContent)).size);
  const most = Math.max(2, ...counts), end = ends[counts.indexOf(most)] ?? 0;
  if (end > limits().bottom - 40) window.scrollTo(0, end - limits().bottom + height);
  sayMore();
}

/** Between which heights of the window the passage is seen. */
function limits() {
  const isNarrow = getComputedStyle(parts.all).display === "flex"; // there question and buttons stand above and below
  return { top: isNarrow ? parts.question.getBoundingClientRect().bottom : 0, bottom: isNarrow ? parts.bar.getBoundingClientRect().top : window.innerHeight };
}

const visiblePart = () => Math.max(100, limits().bottom - limits().top);

/** A sign at either end beyond which the text goes on. */
function sayMore() {
  if (!current || !text.body.isConnected) return;
  const { top, bottom } = text.body.getBoundingClientRect(), seen = limits();
  parts.all.style.setProperty("--above", `${Math.max(0, seen.top)}px`);
  parts.all.style.setProperty("--below", `${window.innerHeight - seen.bottom}px`);
  parts.before.hidden = top >= seen.top;
  parts.after.hidden = bottom <= seen.bottom;
}

for (const event of ["scroll", "resize"]) window.addEventListener(event, () => app?.view === "judge" && sayMore(), { passive: true });

/** Nothing is left, or there is nothing yet. */
function nothingLeft({ error, why, decides }) {
  current = null;
  parts.all.classList.add("over");
  parts.document.classList.remove("waiting");
  const key = error ? "didNotWork" : { "no questions": "noQuestions", "no documents": "noPairs", "with others": "withOthers" }[why] ?? (only ? "noMoreHere" : "allDone");
  fill(parts.document, empty(t(key), error ? plain(error.message) : t(`${key}Hint`),
    el("p.actions", {},
      only ? button(t("allQuestions"), () => app.go("judge")) : null,
      button(t(key === "noQuestions" ? "addQuestion" : "view_questions"), () => app.go("questions"), { class: "primary" }),
      key === "noQuestions" ? null : button(t("view_search"), () => app.go("search", ...(only ? [only] : []))),
      key === "allDone" ? button(t("undo"), undo) : null,
      button(t("reload"), () => fetchNext()))));
  // More may come: retrievers still answer, others give back what they were shown.
  clearTimeout(nothingLeft.timer);
  nothingLeft.timer = setTimeout(() => { if (app.view === "judge" && !current) fetchNext().catch(() => {}); }, key === "allDone" ? 20_000 : 4000);
  if (decides?.outcome === "decided") parts.document.append(el("p.muted", {}, decidesWords(decides)));
}

function status(answer) {
  const { progress, decides } = answer;
  if (!progress) return;
  standing = answer;
  fill(parts.status, t("judged", progress.mine), el("span.of", {}, ` · ${decidesShort(decides) ?? t("ofPairs", progress.pairs)}`));
  parts.stop.hidden = decides?.outcome !== "decided";
  fill(parts.stop, decidesWords(decides), " ", t("mayStop"));
}

// -- what a person says ----------------------------------------------------------------------------

function keepDraft() {
  if (!current) return;
  const draft = { spans: text.spans(), note: parts.note.value };
  drafts.set(keyOfPair(current), draft);
  remember("kragx-draft", { ...draft, person: app.me.person.uid, pair: keyOfPair(current) }); // over a reload
}

function give(kind, grade = null) {
  if (!current || performance.now() - shownAt < TOO_SOON) return;
  keepDraft();
  const { question, document: { id } } = current;
  const said = { uid: newUid(), question: question.uid, document: id, kind, grade, spans: text.spans(), note: parts.note.value.trim() };
  fill(parts.said, t("previousOne", app.words(said)));
  remember("kragx:met", true);
  if (said.spans.length) remember("kragx:marked", true);
  parts.card?.remove();
  if (parts.bar.contains(document.activeElement)) document.activeElement.blur(); // else Space, to scroll, grades the next one as well
  done.add(keyOfPair(current));
  [current, end] = [null, null];
  app.outbox.add("api/judgements", said);
  if (!current) advance();
}

/** A passage that must not be shown is marked as such; it is no grade, and the pair stays. */
function markIt() {
  if (!current) return;
  const pair = current;
  forbid(pair.question.text, pair.mark, (mark) => {
    pair.mark = mark;
    if (same(pair, current)) sayMark();
    fill(parts.said, mark ? t("forbidden", kindOf(mark.why)) : t("allowed"));
    app.outbox.add("api/marks", { uid: newUid(), question: pair.question.uid, document: pair.document.id, why: mark?.why ?? null, note: mark?.note ?? "" });
  });
}

function undo() {
  if (performance.now() - shownAt < TOO_SOON && current) return;
  keepDraft();
  if (current) ahead.unshift(current);
  current = null;
  fill(parts.said, t("takingBack"));
  app.outbox.add("api/undo", { uid: newUid() });
}

/** The server has what was said. */
export function answered({ path }, answer) {
  if (path === "api/marks") return;
  if (path !== "api/undo") return take(answer.next ?? answer);
  const pair = (answer.next ?? answer).pair;
  status(answer.next ?? answer);
  fill(parts.said, t(pair && ahead.some((other) => same(other, pair)) ? "markBack" : "takenBack")); // a mark's pair is still to be graded
  if (!pair) return advance();
  done.delete(keyOfPair(pair));
  if (current) ahead.unshift(current);
  ahead = ahead.filter((other) => !same(other, pair));
  draw(pair);
}

export function refused({ path }, error) {
  fill(parts.said, path === "api/undo" ? plain(error.message) : t("notStored", plain(error.message)));
  if (!current) advance();
}

/** The question itself is odd: the owner reads why, and another question comes. */
function tellOdd() {
  if (!current) return;
  const pair = current;
  odd(pair.question, (note) => {
    if (!same(pair, current)) return;
    ahead = ahead.filter((other) => other.question.uid !== pair.question.uid);
    parts.note.value = note;
    give("odd");
  });
}

function openNote() {
  parts.note.hidden = false;
  parts.note.focus();
}

/** Escape and Ctrl+Enter leave the note, which then goes with the grade. */
function leaveNote(event) {
  if (event.isComposing || !(event.key === "Escape" || event.key === "Enter" && (event.ctrlKey || event.metaKey))) return;
  event.preventDefault();
  parts.note.blur();
  parts.note.hidden = !parts.note.value.trim();
}

const searchHere = () => app.go("search", ...(current ? [current.question.uid] : []));

/** The buttons below the grades: word, key, what is done, and the word that explains it. */
const TOOLS = [
  ["unusable", "x", () => give("unusable"), "unusableHint"],
  ["later", "s", () => give("later"), "laterHint"],
  ["undo", "u", undo, "undoHint"],
  ["note", "e", openNote],
  ["forbid", "f", markIt, "forbidHint"],
  ["odd", "o", tellOdd, "oddHint"],
  ["searchHere", "/", searchHere, "searchHint"],
];

export function keys(key) {
  const grade = app.me.set.scale.find((step) => String(step.grade) === key);
  if (grade) return () => give("grade", grade.grade);
  const others = { w: underline, g: showGuidelines, "?": showGuidelines };
  return others[key] ?? TOOLS.find((entry) => entry[1] === key)?.[2];
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden && app?.view === "judge") {
    keepDraft();
    giveBack();
  }
});
