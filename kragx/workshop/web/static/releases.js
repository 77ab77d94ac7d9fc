// Versions of the set that never change: what the next would hold, what it lacks, and those that are there.

import { post } from "./api.js";
import { button, byId, dialog, el, field, fill, name, personName, plain, problem, table } from "./dom.js";
import { dayOf, t } from "./words.js";

export async function show(main, app, done = null) {
  const { releases, next } = done ?? await app.read("api/releases"), wrong = el("div");
  const note = el("input", { maxlength: 2000 });
  const holds = t("wouldHold", next.questions, app.me.counts.questions, next.gold);
  /** What never changes is asked about. */
  const confirm = (event) => {
    event.preventDefault();
    const box = dialog(t("releaseReally", next.version), el("p", {}, holds), el("p.actions", {},
      button(t("release"), () => { box.close(); make(); }, { class: "primary" }), button(t("cancel"), () => box.close())));
  };
  const make = async () => {
    byId("release").disabled = true; // once is enough
    try {
      const made = await post("api/releases", { note: note.value.trim() });
      if (app.view === "releases") await show(byId("main"), app, made);
    } catch (error) {
      fill(wrong, problem(error));
      byId("release").disabled = false;
    }
  };
  fill(main, el("h1", {}, t("view_releases")), el("p.muted", {}, t("releasesHint")),
    done && el("p.done", { role: "status" }, t("released", plain(done.file), plain(done.folder))),
    el("section", {}, el("h2", {}, t("nextRelease", next.version)), el("p", {}, next.is_same ? t("sameRelease") : holds),
      next.changes && !next.is_same ? el("p", {}, t("changesSince", next.changes.since, next.changes.added, next.changes.changed, next.changes.dropped)) : null,
      next.lacks.length ? [el("h3", {}, t("lacks")), el("ul", {}, next.lacks.map((line) => el("li", {}, lack(line))))] : null,
      next.is_same || !next.is_ready ? null : el("form.release", { onsubmit: confirm }, field(t("releaseNote"), note),
        el("button.primary", { type: "submit", id: "release" }, t("release"))), wrong),
    releases.length ? table([t("version"), t("made"), t("file"), t("by"), "SHA-256"],
      [...releases].reverse().map(({ version, at, file, person, hash }) => [`v${version}`, dayOf(at), el("code", {}, name(file)), name(personName(person ?? "")), el("code", {}, hash.slice(0, 12))]))
      : el("p.muted", {}, t("noReleases"), " ", t("noReleasesHint")));
}

/** What a release lacks, in a sentence. */
const lack = ({ what, n, name }) => t(`lack_${what.replaceAll(" ", "_")}`, n, plain(name));
