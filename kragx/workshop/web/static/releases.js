// Versions of the set that never change: what the next would hold, what it lacks, and those that are there.

import { get, post } from "./api.js";
import { button, byId, el, empty, fill, name, plain, problem, say, table } from "./dom.js";
import { dayOf, t } from "./words.js";

export async function show(main, app) {
  const { releases, next } = await get("api/releases"), wrong = el("div");
  const make = async (event) => {
    event.currentTarget.disabled = true;
    try {
      const { file } = await post("api/releases");
      await show(byId("main"), app);
      say(t("released", plain(file ?? "")));
    } catch (error) {
      fill(wrong, problem(error));
      byId("release").disabled = false;
    }
  };
  fill(main, el("h1", {}, t("view_releases")), el("p.muted", {}, t("releasesHint")),
    el("section.next-release", {}, el("h2", {}, t("nextRelease", next?.version ?? releases.length + 1)),
      next?.questions != null ? el("p", {}, t("wouldHold", next.questions, next.gold ?? 0)) : null,
      next?.lacks?.length ? [el("h3", {}, t("lacks")), el("ul", {}, next.lacks.map((line) => el("li", {}, plain(line))))] : null,
      button(t("release"), make, { class: "primary", id: "release", disabled: next?.questions === 0 }), wrong),
    releases.length ? table([t("version"), t("made"), t("file"), t("by"), "SHA-256"],
      [...releases].reverse().map(({ version, at, file, person, hash }) => [`v${version}`, dayOf(at), el("code", {}, name(file)), name(person?.name ?? person ?? ""), el("code", {}, hash.slice(0, 12))]))
      : empty(t("noReleases"), t("noReleasesHint")));
}
