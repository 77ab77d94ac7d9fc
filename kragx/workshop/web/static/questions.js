// The set's questions: written, changed, dropped with a reason.

import { post } from "./api.js";
import { button, byId, dialog, el, empty, field, fill, name, personName, plain, problem, say, select, shown, table } from "./dom.js";
import { sourcesField } from "./sources.js";
import { fromTemplates } from "./templates.js";
import { inOrder, labelOf, OWN, percent, t } from "./words.js";

const AT_ONCE = 100; // rows that are drawn before somebody asks for more

let app, all, leak, shownRows;
const filters = { words: "", query_type: "", difficulty: "", state: "open" };

export async function show(main, given) {
  app = given;
  const answer = await app.read("api/questions", { state: filters.state === "odd" ? "open" : filters.state });
  [all, leak, shownRows] = [answer.questions, answer.leak, AT_ONCE];
  const add = el("p.actions", {}, isOwner() ? button(t("fromTemplates"), () => fromTemplates(added)) : null, button(t("addQuestion"), () => edit(null), { class: "primary" }));
  const n_odd = all.filter((question) => question.odd?.length).length;
  if (!all.length && filters.state === "open") {
    fill(main, empty(t("noQuestions"), t("noQuestionsHint"), add));
    return;
  }
  const choice = (key) => field(t(key), select([["", t("all")], ...values(key).map((value) => [value, labelOf(value)])], filters[key], { onchange: (event) => filter({ [key]: event.target.value }) }));
  fill(main, el("div.head", {}, el("h1", {}, t("view_questions")), add),
    isOwner() ? el("p.muted", { id: "leak" }, leakWords()) : null,
    el("div.filters", {},
      field(t("find"), el("input", { type: "search", value: filters.words, oninput: (event) => filter({ words: event.target.value }) })),
      choice("query_type"), choice("difficulty"),
      field(t("state"), select(["open", ...(n_odd || filters.state === "odd" ? ["odd"] : []), "dropped"].map((state) => [state, t(`state_${state}`, n_odd)]), filters.state, { onchange: (event) => { filters.state = event.target.value; app.again("questions"); } }))),
    el("div", { id: "rows" }));
  draw();
}

function added(count) {
  say(t(count === 1 ? "addedThese1" : "addedThese", count));
  app.again("questions");
}

const isOwner = () => app.me.person.role === "owner";
const values = (key) => inOrder(key, [...new Set(all.map((question) => question[key]).filter(Boolean))].sort());

function leakWords() {
  if (leak?.mean == null) return t("leakUnknown");
  return [t("leakMean", percent(leak.mean)), leak.target != null ? ` ${t(leak.mean > leak.target ? "leakAbove" : "leakBelow", percent(leak.target))}` : "", ` ${t("leakWhat")}`];
}

function filter(change) {
  Object.assign(filters, change);
  shownRows = AT_ONCE;
  draw();
}

function draw() {
  const words = filters.words.trim().toLocaleLowerCase().normalize();
  const rows = all.filter((question) => ["query_type", "difficulty"].every((key) => !filters[key] || question[key] === filters[key]) &&
    (filters.state !== "odd" || question.odd?.length) && (!words || question.text.toLocaleLowerCase().normalize().includes(words)));
  const more = rows.length - shownRows;
  fill(byId("rows"),
    el("p.small.muted", { role: "status" }, t(rows.length === 1 ? "nQuestions1" : "nQuestions", rows.length)),
    rows.length ? table(["question", "query_type", "difficulty", ...(isOwner() ? ["leak"] : []), "judgedPairs", ""].map((key) => key && t(key)), rows.slice(0, shownRows).map(row)) : el("p.muted", {}, t("noneOfThem")),
    more > 0 ? el("p", {}, button(t("moreRows", more), () => { shownRows = Infinity; draw(); })) : "");
}

const row = (question) => [
  [el("div.question-text", { dir: "auto" }, shown(question.text)), question.note ? el("small.muted", { dir: "auto" }, shown(question.note)) : null,
    (question.odd ?? []).map(({ person, note }) => el("p.caution.small", { dir: "auto" }, t(note ? "oddSaid" : "oddSaidNothing", personName(person), plain(note)))),
    question.answerable === false ? el("span.chip", {}, t("unanswerable")) : null],
  name(labelOf(question.query_type ?? "–")), name(labelOf(question.difficulty ?? "–")),
  ...(isOwner() ? [question.leak == null ? "–" : el("span", { class: leak?.target != null && question.leak > leak.target ? "over" : null }, percent(question.leak))] : []),
  t("pairsOf", question.counts.judged, question.counts.pairs),
  el("div.row-actions", {}, question.state === "dropped" ? null : [
    button(t("judgeThis"), () => app.go("judge", question.uid)),
    question.may_change ? [button(t("edit"), () => edit(question)), button(t("drop"), () => drop(question))] : null]),
];

/** One of the values that the set aims at (else kragx's own) or has, or another that is written: nobody makes a second name for one by chance. */
function choice(key, question) {
  const known = [...new Set([...(app.me.set.targets[key] ?? OWN[key]), ...values(key), ...[question?.[key]].filter(Boolean)])];
  const own = el("input", { maxlength: 100, hidden: true, "aria-label": t("otherValue"), placeholder: t("otherValue") });
  const list = select([["", "–"], ...known.map((value) => [value, labelOf(value)]), [" ", t("other")]], question?.[key] ?? "", { onchange: () => { own.hidden = list.value !== " "; if (!own.hidden) own.focus(); } });
  return { node: el("div", {}, field(t(key), list), own), value: () => (own.hidden ? list.value : own.value.trim()) || null };
}

/** What is odd about a question, told to the owner through `send`. */
export function odd(question, send) {
  const note = el("textarea", { rows: 3, maxlength: 2000, "aria-label": t("odd") });
  const box = dialog(t("odd"), el("form", { onsubmit: (event) => { event.preventDefault(); box.close(); send(note.value.trim()); } },
    el("blockquote", { dir: "auto" }, shown(question.text)), el("p.muted", {}, t("oddWhat")), note,
    el("p.actions", {}, el("button.primary", { type: "submit" }, t("oddSend")), button(t("cancel"), () => box.close()))));
  note.focus();
}

/** Write a question, or change one. */
function edit(question) {
  const text = el("textarea", { rows: 3, required: true, maxlength: 2000, value: question?.text ?? "" });
  const [kind, difficulty] = [choice("query_type", question), choice("difficulty", question)];
  const answerable = select([["", t("unknown")], ["true", t("yes")], ["false", t("no")]], String(question?.answerable ?? ""));
  const reference = el("textarea", { rows: 2, maxlength: 2000, value: question?.reference ?? "" });
  const sources = sourcesField(question?.sources);
  const note = el("input", { maxlength: 2000, value: question?.note ?? "" });
  const wrong = el("div");
  const store = async (event) => {
    event.preventDefault();
    const value = { ...(question ? { uid: question.uid } : {}), text: text.value.trim(), query_type: kind.value(), difficulty: difficulty.value(),
      answerable: { true: true, false: false }[answerable.value] ?? null, reference: reference.value.trim() || null,
      sources: sources.value(), note: note.value.trim() };
    try {
      await post("api/questions", value);
      box.close();
      say(t(question ? "changed" : "added"));
      await app.again("questions");
    } catch (error) {
      fill(wrong, problem(error));
    }
  };
  const box = dialog(t(question ? "editQuestion" : "addQuestion"), el("form", { onsubmit: store },
    question ? el("p.muted", {}, t("editHint")) : el("p.muted", {}, t("addHint")),
    field(t("question"), text), el("div.pair", {}, kind.node, difficulty.node),
    el("details", { open: Boolean(question?.reference || question?.sources?.length) }, el("summary", {}, t("more")),
      field(t("answerable"), answerable, t("answerableHint")), field(t("reference"), reference, t("referenceHint")),
      sources.node, field(t("note"), note, t("questionNoteHint"))),
    wrong, el("p.actions", {}, el("button.primary", { type: "submit" }, t("store")), button(t("cancel"), () => box.close()))));
  text.focus();
}

function drop(question) {
  const why = el("input", { required: true, maxlength: 2000 }), wrong = el("div");
  const send = async (event) => {
    event.preventDefault();
    try {
      await post("api/questions/drop", { uid: question.uid, why: why.value.trim() });
      box.close();
      say(t("dropped"));
      await app.again("questions");
    } catch (error) {
      fill(wrong, problem(error));
    }
  };
  const box = dialog(t("dropQuestion"), el("form", { onsubmit: send }, el("blockquote", { dir: "auto" }, shown(question.text)), el("p.muted", {}, t("dropHint")),
    field(t("why"), why), wrong, el("p.actions", {}, el("button.primary", { type: "submit" }, t("drop")), button(t("cancel"), () => box.close()))));
  why.focus();
}
