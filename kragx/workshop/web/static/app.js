// Start, the views and the way between them, what is always on the screen.

import { addressOf, fragment, get, Outbox, Refused, recall, remember } from "./api.js";
import { button, byId, el, empty, fill, name, personName, plain, say } from "./dom.js";
import { showGuidelines } from "./guidelines.js";
import { listen } from "./keys.js";
import { languages, setLanguage, t } from "./words.js";
import * as conflicts from "./conflicts.js";
import * as judge from "./judge.js";
import * as people from "./people.js";
import * as progress from "./progress.js";
import * as questions from "./questions.js";
import * as releases from "./releases.js";
import * as search from "./search.js";

const VIEWS = { judge, search, questions, progress, conflicts, people, releases };
const OF_OWNER = ["conflicts", "people", "releases"];

const BLIND = ["?", "g", "/", "w"]; // keys that may act though nothing was seen

let turn = 0; // how often a view was asked for

/** What every view is given: who looks, the set, the way out, and the way to another view. */
const app = {
  me: null, outbox: null, view: "", counts: {},
  go: (view, ...rest) => { location.hash = addressOf(view, ...rest); },
  /** The words of a grade or of another kind of judgement. */
  words: ({ kind, grade }) => (kind === "grade" ? `${grade} · ${plain(app.me.set.scale.find((step) => step.grade === grade)?.words ?? "")}` : t(`kind_${kind}`)),
  /** Read what a view shows; where another was asked for meanwhile this one ends here, and `show` knows. */
  read: async (...asked) => {
    const own = turn, answer = await get(...asked);
    if (own !== turn) throw new Error("the view was left");
    return answer;
  },
  /** Draw a view anew, if it is still looked at. */
  again: (view) => (view === app.view ? show() : null),
  refresh: async () => { Object.assign(app, { me: await get("api/me") }); header(); },
};

const isOwner = () => app.me.person.role === "owner";

function header() {
  const { set, person, counts = {} } = app.me;
  const tabs = Object.keys(VIEWS).filter((view) => isOwner() || !OF_OWNER.includes(view));
  const other = languages.find((language) => language !== document.documentElement.lang);
  fill(byId("top"),
    el("div.brand", {}, el("strong", {}, name(set.name)), el("span.muted", {}, name(personName(person.name)))),
    el("nav", { "aria-label": t("views") }, tabs.map((view) =>
      el("a", { href: addressOf(view), "aria-current": view === app.view ? "page" : null }, t(`view_${view}`),
        count(view === "conflicts" ? counts.conflicts : view === "questions" ? counts.odd : 0, view)))),
    el("div.controls", {},
      button(inBoth("guidelines", "?"), () => showGuidelines(), { title: t("guidelinesKey"), "aria-label": t("guidelines") }),
      button(inBoth("otherLanguage", t("otherLanguageShort")), () => { remember("kragx:language", other); speak(other); show(); }, { lang: other, "aria-label": t("otherLanguage") })));
  const nav = byId("top").querySelector("nav");
  nav.scrollLeft = (nav.querySelector("[aria-current]")?.offsetLeft ?? 0) - nav.offsetLeft - 40; // a narrow window shows some tabs
}

/** How many wait there for the owner. */
const count = (number, view) => (number ? el("b.count", { title: t(`count_${view}`, number), "aria-label": t(`count_${view}`, number) }, number) : null);

/** A label, and what stands for it in a narrow window. */
const inBoth = (key, short) => [el("span.wide", {}, t(key)), el("span.narrow", {}, short)];

function speak(language) {
  setLanguage(language);
  document.documentElement.lang = language;
}

/** Draw the view that the address names. */
async function show() {
  const own = ++turn, { view, rest } = fragment(), wanted = VIEWS[view] && (isOwner() || !OF_OWNER.includes(view)) ? view : "judge";
  const isOther = wanted !== app.view;
  if (isOther) VIEWS[app.view]?.leave?.();
  if (isOther && app.view && isOwner()) app.refresh().catch(() => {}); // conflicts come up meanwhile
  app.view = wanted;
  document.title = `${t(`view_${wanted}`)} · ${plain(app.me.set.name)}`;
  document.body.dataset.view = wanted;
  document.querySelectorAll("dialog").forEach((box) => box.close());
  header();
  if (isOther) window.scrollTo(0, 0);
  try {
    await VIEWS[wanted].show(byId("main"), app, ...rest);
  } catch (error) {
    if (own !== turn) return;
    if (error.status === 401) return refusedAtTheDoor(error);
    fill(byId("main"), empty(t("didNotWork"), `${plain(error.message)} ${plain(error.remedy ?? "")}`, button(t("again"), show)));
    if (!(error instanceof Refused)) throw error;
  }
  if (own === turn) document.documentElement.dataset.ready = wanted;
}

function banner(waiting, failed) {
  const line = byId("banner");
  line.hidden = !failed;
  line.textContent = failed ? t(waiting === 1 ? "offline1" : "offline", waiting) : "";
}

/** Without a link that counts there is nothing to show but how to get one. */
function refusedAtTheDoor(error) {
  fill(byId("top"));
  fill(byId("main"), empty(t(fragment().token ? "linkUnknown" : "linkMissing"), t("linkHow"),
    error.status === 401 && !error.isKnown ? null : el("p.muted", {}, plain(error.message))));
}

function pressed(key, isEarly) {
  if (document.querySelector("dialog[open]")) return null;
  const action = VIEWS[app.view]?.keys?.(key) ?? { "?": showGuidelines, g: showGuidelines, "/": () => app.go("search") }[key];
  // What says something of a pair needs eyes that have seen it.
  return action && isEarly && !BLIND.includes(key) ? () => say(t("tooEarly", key)) : action;
}

async function start() {
  try {
    app.me = await get("api/me");
  } catch (error) {
    document.documentElement.dataset.ready = "refused";
    if (error.status === 401 || !error.mayPass) return refusedAtTheDoor(error);
    fill(byId("main"), empty(t("noAnswer"), t("noAnswerHow"), button(t("again"), start)));
    setTimeout(start, 3000);
    return;
  }
  if (!spoken && languages.includes(app.me.set.language)) speak(app.me.set.language);
  app.outbox ??= new Outbox(app.me.person.uid, {
    changed: banner,
    answered: (message, answer) => VIEWS[app.view].answered?.(message, answer),
    refused: (message, error) => {
      say(t("notStored", plain(error.message)));
      VIEWS[app.view].refused?.(message, error);
    },
  });
  app.outbox.send();
  window.addEventListener("hashchange", () => (fragment().token === start.token ? show() : location.reload()));
  start.token = fragment().token;
  try {
    await show();
  } finally {
    listen(pressed);
  }
}

/** The language that was chosen here, else the first of the browser's that the page has. */
const spoken = recall("kragx:language") ?? navigator.languages.map((one) => one.slice(0, 2).toLowerCase()).find((one) => languages.includes(one));
speak(spoken ?? "en");
fill(byId("main"), empty(t("loading")));
start();
