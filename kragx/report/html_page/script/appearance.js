// Language and theme: what the system or the writer says first, then what the reader chooses.

const LANGUAGES = Object.keys(WORDS);
const otherLanguage = () => LANGUAGES[(LANGUAGES.indexOf(state.language) + 1) % LANGUAGES.length];

/** Buttons that change the language, which `choose` is told, and the theme; and one that prints. */
function appearanceButtons(choose) {
  const dark = document.documentElement.dataset.theme === "dark";
  return [
    el("button", { id: "language", title: sentence("languageHint", otherLanguage()), lang: otherLanguage(), onclick: () => choose(otherLanguage()) }, sentence("language", otherLanguage())),
    el("button", { id: "theme", "aria-label": `${t("theme")}: ${dark ? t("light") : t("dark")}`, onclick: () => setTheme(dark ? "light" : "dark") }, dark ? `☀ ${t("light")}` : `☾ ${t("dark")}`),
    el("button.printing", { onclick: () => window.print() }, t("print"))];
}

function setTheme(theme) {
  state.theme = theme;
  document.documentElement.dataset.theme = theme;
  renderHeader();
  byId("theme").focus({ preventScroll: true });
}

/** How the page looks before anybody chooses; false where the browser is too old for it. */
function beginAppearance() {
  const root = document.documentElement;
  const language = root.dataset.language || navigator.languages?.[0] || navigator.language || "en";
  state.language = LANGUAGES.find((own) => language.toLowerCase().startsWith(own)) ?? "en";
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const followSystem = () => { root.dataset.theme = dark.matches ? "dark" : "light"; };
  followSystem();
  dark.addEventListener("change", () => { if (!state.theme) { followSystem(); renderHeader(); } });
  if (typeof DecompressionStream !== "undefined") return true;
  byId("main").replaceChildren(el("p.problem", {}, t("old")));
  return false;
}

/** Starts a page; what goes wrong stands in it. */
const begin = (start) => start().catch((error) => {
  byId("main").replaceChildren(el("p.problem", {}, String(error)));
  throw error;
});
