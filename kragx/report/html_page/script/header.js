// The top of the page: which gold set, which matcher and metric.

function renderHeader() {
  const { name: dataset, version } = data.dataset, retrievers = data.retrievers.length;
  byId("top").replaceChildren(
    el("div.brand", {},
      el("p.kind", {}, t("title")),
      el("h1", {}, name(dataset || "gold"), version ? el("small", {}, t("version", plain(version))) : null),
      el("p", { title: plain(match().label) },
        phrase("intro", nQuestions(total()), t(retrievers === 1 ? "nRetrievers1" : "nRetrievers", retrievers), name(match().name)), asksText(), data.basis ? ` · ${basisText()}` : "", data.record ? ` · ${dayAndTime(data.record.date)}` : "")),
    el("div.controls", {},
      data.matches.length > 1
        ? field(t("matcher"), select({}, data.matches.map((each, position) => [position, each.name]), state.match, (position) => choosing({ match: Number(position) })))
        : null,
      field(t("metric"), select({}, data.metrics.map((each) => [each.name, each.name]), state.metric, (chosen) => choosing({ metric: chosen }))),
      appearanceButtons((language) => choosing({ language }))));
  byId("skip").textContent = t("skip");
  byId("skip").onclick = (event) => { event.preventDefault(); byId("questions").scrollIntoView(); byId("search").focus({ preventScroll: true }); };
  document.documentElement.lang = state.language;
}

const nQuestions = (count = size()) => t(count === 1 ? "nQuestions1" : "nQuestions", grouped(count));

/** What a reader must know with the verdict: texts of one template, failures, missing answers, an order that is not firm. */
function cautions() {
  const failed = present().map(failuresOf).filter(Boolean).filter((own) => !isNothing(own)).map(({ retriever, n_failed, n_queries, first, tolerated }) =>
    el("li", {}, phrase(tolerated ? "cautionFailed" : "cautionLost", strong(retriever), grouped(n_failed), grouped(n_queries), el("code", {}, shown(first.slice(0, 200))))));
  const nothing = lost().map(failuresOf).filter(isNothing).map(({ retriever, n_queries: all }) => el("li", {}, phrase("cautionNothing", strong(retriever), grouped(all))));
  const absent = present().map((retriever) => [retriever, cell(retriever).status.split("m").length - 1]).filter(([, count]) => count)
    .map(([retriever, count]) => el("li", {}, phrase("cautionMissing", strong(retrieverName(retriever)), grouped(count), grouped(size()))));
  const kept = Object.entries(data.record?.kept || {}).map(([retriever, { n_answers: answers, n_queries: all, begun }]) =>
    el("li", {}, phrase("keptSince", strong(retriever), grouped(answers), grouped(all), dayAndTime(begun)), ` ${t(answers === all ? "keptAll" : "keptSome")}`));
  const times = [...new Set(present().map((retriever) => cell(retriever).runs?.n).filter(Boolean))].map((n) =>
    el("li", {}, phrase("askedTimes", listed(present().filter((retriever) => cell(retriever).runs?.n === n).map(retrieverName)), n)));
  const flipped = flips(true).map((line) => el("li", {}, line));
  const few = tooFew(), sample = sampleWords();
  const statistical = (standing()?.cautions || []).map((line) => el("li", {}, inWords(line)));
  const items = [...(sample ? [el("li", {}, sample)] : []), ...goldVersions(), ...failed, ...nothing, ...absent, ...kept, ...times, ...flipped, ...(few ? [el("li", {}, few)] : []), ...statistical];
  return items.length ? el("div.cautions", { role: "note" }, el("h3.unseen", {}, t("caution")), el("ul", {}, items)) : null;
}

/** What of the gold set of earlier results is not the same, which questions, and what of them is compared. */
function goldVersions() {
  return (data.gold[match().name] || []).map(({ names, ids, changed, only_later: later, only_earlier: earlier, n_same: same, n_moved: moved, n_ids: otherIds, left_out: out }) => {
    const differing = changed + later + earlier, more = differing - ids.length;
    const counts = [["goldChanged", changed], ["goldLater", later], ["goldEarlier", earlier]].filter(([, count]) => count).map(([key, count]) => t(key, grouped(count))).join(", ");
    const which = [...ids.flatMap((id, at) => [at ? ", " : "", el("code", {}, shown(id))]), more ? ` ${t("andMore", grouped(more))}` : ""];
    return el("li.gold-versions", {}, phrase("goldPair", name(names[0]), name(names[1])), " ",
      differing ? phrase(out ? "goldOut" : "goldIn", nQuestions(differing), counts, el("span", {}, which), nQuestions(same)) : t("goldAll"),
      moved ? ` ${t("goldMoved", nQuestions(moved))}` : "", otherIds ? ` ${t("goldIds", nQuestions(otherIds))}` : "");
  });
}

/** Which questions the page holds, where they are not all; null where they are. */
function sampleWords() {
  const sample = data.queries.sample;
  if (!sample) return null;
  const { n, n_differing: differing, n_differing_held: held } = sample;
  return t(held === differing ? "sampled" : "sampledSome", grouped(size()), grouped(n), grouped(differing), grouped(held));
}

/** That so few questions, or resamples, decide no difference between retrievers; null where they can. */
function tooFew() {
  const few = standing()?.too_few;
  if (!few) return null;
  const { n, least_p: least, needed: enough, resamples } = few;
  return enough === null ? t("cautionResamples", nQuestions(n), probability(least), grouped(resamples)) : t("cautionTooFew", nQuestions(n), probability(least), nQuestions(enough));
}
