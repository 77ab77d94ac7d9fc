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

/** What a reader must know with the verdict. */
function cautions() {
  const absent = present().map((retriever) => [retriever, cell(retriever).status.split("m").length - 1]).filter(([, count]) => count)
    .map(([retriever, count]) => phrase("cautionMissing", strong(retrieverName(retriever)), grouped(count), grouped(size())));
  const kept = Object.entries(data.record?.kept || {}).map(([retriever, { n_answers: answers, n_queries: all, begun }]) =>
    [phrase("keptSince", strong(retriever), grouped(answers), grouped(all), dayAndTime(begun)), ` ${t(answers === all ? "keptAll" : "keptSome")}`]);
  const items = [sampleWords(), ...absent, ...kept, ...standing().cautions.map(({ text }) => textNodes(text))].filter(Boolean);
  return items.length ? el("div.cautions", { role: "note" }, el("h3.unseen", {}, t("caution")), el("ul", {}, items.map((item) => el("li", {}, item)))) : null;
}

/** Which questions the page holds, where they are not all; null where they are. */
function sampleWords() {
  const sample = data.queries.sample;
  if (!sample) return null;
  const { n, n_differing: differing, n_differing_held: held } = sample;
  return t(held === differing ? "sampled" : "sampledSome", grouped(size()), grouped(n), grouped(differing), grouped(held));
}
