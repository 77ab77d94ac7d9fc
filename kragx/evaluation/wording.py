"""In words what an evaluation records: its matcher, its profile, and all that was left out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.evaluation.judging_remarks import judging_remarks, votes_on
from kragx.evaluation.runs import RUNS
from kragx.evaluation.searching import SEARCHES
from kragx.ground.printing import joined, message, number, plural
from kragx.matchers.ids import ALIKE, APART
from kragx.matchers.pages import UNPLACED
from kragx.matchers.texts import DOCS_LOST, GOLD_LOST, SHORT_GOLD
from kragx.metrics import LEFT_OUT, Metric, MetricSpec, Profile, known_metric
from kragx.metrics.ranking_metrics import PRECISION

_NO_GOLD = {
    "skip": message("left out"),
    "zero": message("scored 0"),
    "error": message("refused"),
    "abstain": message("1 for an empty list, else 0"),
}
_TREATED = {
    **_NO_GOLD,
    "skip": message("left out; add gold, or answerable: false where nothing answers"),
}
"""The same where it is said how many there are."""
_MISSING = {"empty": message("scored as empty lists"), "left_out": message("left out")}
_JUDGED = ("judging", "judging_relevance")
"""The counts of a judge of matches, and of one of relevance beside them."""

IDS_ALONE = "ids alone"
"""Why matches are by id where nobody has said so."""

_REPEATS = {
    "once": message("the first one counts"),
    "count": message("each one counts"),
    "error": message("refused"),
}


_BASIS = {
    "retrieved": message("what each question got in the end, not the searches before"),
    "first": message("the first search of each question; later ones stand under their own metrics"),
}


def basis_label(settings: Mapping[str, Any]) -> str | None:
    """Which list metrics are about that name none; None where nobody searches several times."""
    basis = settings.get(SEARCHES, {}).get("basis")
    return None if basis is None else _BASIS[basis]


def asks_label(counts: Mapping[str, Any]) -> str | None:
    """How many asks the questions stand for; None where all weigh alike.

    Weights that sum to less than there are questions may be shares, and are called no asks.
    """
    n, asks = counts["n_queries"], counts.get("n_asks")
    if asks is None:
        return None
    return message(
        "numbers of {n:,} questions, by weights that sum to {total:g}"
        if asks < n
        else "numbers of {asks:,} asks, by {n:,} questions",
        n=n,
        total=asks,
        asks=round(asks),
    )


def match_label(match: Mapping[str, Any], name: str) -> str:
    """How matches were decided: the method, with the name under which it was asked for."""
    label = method_label(match)
    return label if name == match["method"] or _is_combination(match) else f"{name}: {label}"


def method_label(match: Mapping[str, Any]) -> str:
    """A matcher as results record it."""
    method = match["method"]
    if _is_combination(match):
        limit = f", threshold {match['threshold']}" if "threshold" in match else ""
        return f"{method} of {'; '.join(map(method_label, match['of']))}{limit}"
    options = [
        f"{name} {_described(value) if isinstance(value, dict) else value}"
        for name, value in match.items()
        # Switches that are off say nothing; a 0 does, and is equal to False.
        if name != "method" and value is not False
    ]
    return f"{method} ({', '.join(options)})" if options else str(method)


def _described(tokenizer: Mapping[str, Any]) -> str:
    """A tokenizer as results record it, or what else has a name and a version."""
    colon = ":" if "passages" in tokenizer else ""
    texts = {**tokenizer, "name": f"{tokenizer.get('name')}{colon}"}
    return " ".join(str(texts[key]) for key in ("name", "passages", "version") if key in tokenizer)


def _is_combination(match: Mapping[str, Any]) -> bool:
    return isinstance(match.get("of"), (list, tuple))  # a span's `of` is a word


def failure_remarks(counts: Mapping[str, Any]) -> Iterator[str]:
    """On how many queries the retriever failed, and the first reason; nothing where it did not."""
    if counts["n_failed"]:
        yield message(
            "queries that failed: {n_failed} (scored as empty lists)"
            if RUNS not in counts
            else "queries that failed in some of {n} runs: {n_failed} (each such run is scored as "
            "an empty list)",
            n_failed=counts["n_failed"],
            n=counts.get(RUNS, {}).get("n"),
        )
        yield message("the first failure: {first_failure}", **counts)


def _counted(*rows: tuple[int | None, str, str]) -> Iterator[str]:
    """For each count that is not 0 what it is of, and what becomes of that, if anything does."""
    for n, noun, treatment in rows:
        if n:
            yield message(
                "{noun}: {n} ({treatment})" if treatment else "{noun}: {n}",
                noun=noun,
                n=n,
                treatment=treatment,
            )


def routine_remarks(counts: Mapping[str, Any], profile: Profile) -> Iterator[str]:
    """What is as a rule in order, and asks for nothing: short gold, questions without an answer.

    Args:
        counts: of an evaluation.
        profile: what its numbers mean.
    """
    yield from _unanswerable(counts.get("unanswerable", {}), profile)
    yield from _empty_lists(counts, are_many=False)
    treatment = message("looked for as a phrase")
    yield from _counted((counts.get(SHORT_GOLD), message("questions with short gold"), treatment))


def _empty_lists(counts: Mapping[str, Any], *, are_many: bool) -> Iterator[str]:
    """How many questions have an empty list, if they are many; where nothing answers, it is right.

    From a tenth of the questions on they are no routine: something may be broken.
    """
    n: int = counts["n_empty"] - counts.get("unanswerable", {}).get("n_empty", 0)
    n_no_search = min(counts.get(SEARCHES, {}).get("n_no_search", 0), n)
    noun = message("queries answered with an empty list")
    if (n >= counts["n_queries"] / 10) is are_many:
        yield from _counted(
            (n - n_no_search, noun, message("nothing was found")),
            (n_no_search, noun, message("made no search")),
        )


def further_remarks(
    counts: Mapping[str, Any],
    settings: Mapping[str, Any],
    profile: Profile,
    vote_bounds: Mapping[str, tuple[float, float]],
) -> Iterator[str]:
    """A line for each other thing that was left out, replaced or is not known.

    Args:
        counts: of an evaluation.
        settings: of an evaluation.
        profile: what its numbers mean, with the rule for queries without gold.
        vote_bounds: of each mean, by several judges' votes.
    """
    made, facts = settings.get("run", {}).get("retriever"), counts.get("facts", {})
    are_counted = settings.get(SEARCHES, {}).get("tokens") == "counted"
    of_facts, of_relevance = counts.get("judging_facts"), counts.get("judging_relevance")
    votes, votes_beside = (votes_on(vote_bounds, name) for name in _JUDGED)
    of_judge = judging_remarks(of_relevance, votes_beside)
    relevant = {**settings["relevance"], **settings["relevance"]["pool"]} if of_relevance else {}
    lines = (
        *routine_remarks(counts, profile),
        *_empty_lists(counts, are_many=True),
        message("matched by id: gold, or all that was retrieved, has ids and no text")
        if settings.get("match_from") == IDS_ALONE
        else "",
        message("the retriever: {made}, with its own number of documents", made=made)
        if made
        else "",
        *_left_out(counts, profile),
        message("tokens of searches: those of the documents they gave, as none says its own")
        if are_counted
        else "",
        *_valueless(counts),
        *_of_metrics(counts, settings),
        message(
            "facts that a model wrote and nobody has reviewed: of {n_unreviewed} of {n_queries} "
            "queries with facts",
            **facts,
        )
        if facts.get("n_unreviewed")
        else "",
        *judging_remarks(counts.get("judging"), votes, settings.get("pool")),
        *(message("facts: {line}", line=line) for line in judging_remarks(of_facts, {})),
        message("relevance: judged by {model} ({rubric}), relevant from grade {rel} on", **relevant)
        if of_relevance
        else "",
        *(message("relevance: {line}", line=line) for line in of_judge),
    )
    yield from filter(None, lines)


def _left_out(counts: Mapping[str, Any], profile: Profile) -> Iterator[str]:
    """What was left out, or taken as something else; and what is not known of searches."""
    of_searches, left_out, no_match = (
        counts.get(SEARCHES, {}),
        message("left out"),
        message("no match"),
    )
    # Of unanswerable ones it is said already.
    n_no_gold = counts["n_no_gold"] - counts.get("unanswerable", {}).get("n_queries", 0)
    yield from _counted(
        (n_no_gold, message("queries without gold"), _TREATED[profile.no_gold]),
        (counts["n_missing"], message("queries missing in the run"), _MISSING[profile.missing]),
        (
            counts.get("n_by_distance"),
            message("lists by distance, the nearest first"),
            message("their order is the ranking"),
        ),
        (counts["n_extra"], message("queries of the run that the gold set lacks"), left_out),
        (
            counts["n_duplicates"],
            message("documents that stand twice in a list"),
            _REPEATS[profile.duplicates],
        ),
        (
            counts["n_replaced_surrogates"],
            message("lone surrogates in texts"),
            message("replaced by U+FFFD"),
        ),
        (
            counts["n_longer_lines"],
            message("lines of the run with more than six columns"),
            message("what follows the tag is ignored, as by trec_eval"),
        ),
        (
            counts.get(GOLD_LOST),
            message("questions with gold that can match nothing"),
            message("it counts as not found"),
        ),
        (
            counts.get(ALIKE),
            message("questions with ids that differ only by white space or Unicode form"),
            no_match,
        ),
        (
            counts.get(APART),
            message("questions compared by ids, of which no retrieved one is any gold id"),
            message("no match by id"),
        ),
        (
            counts.get(DOCS_LOST),
            message("questions with retrieved texts that can match nothing"),
            no_match,
        ),
        (
            counts.get(UNPLACED),
            message("retrieved documents without a page"),
            message("no match, but by id"),
        ),
        (
            of_searches.get("n_no_list"),
            message("questions whose list nobody knows"),
            message("no value"),
        ),
        (of_searches.get("n_failed"), message("searches that failed"), ""),
        (
            of_searches.get("n_unmeasured"),
            message("searches that gave no documents"),
            message("a step, whose finds nobody knows"),
        ),
        (
            of_searches.get("n_unknown_read"),
            message("documents that were read, and that no search gave"),
            no_match,
        ),
    )


def _of_metrics(counts: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    """How metrics of other tools differ here, and how those of spans have read the texts."""
    for metric, n in counts.get("not_one_to_one", {}).items():
        yield message(
            "{metric}: other than by its tool where documents and gold do not match one to one (n: "
            "{n}), as each gold item counts once here",
            metric=metric,
            n=n,
        )
    for reading in settings.get("spans", ()):
        if reading["n_queries_by_offsets"]:
            yield message(
                "spans: by offsets for {n_queries_by_offsets} queries, by comparing texts for "
                "{n_queries_by_text}",
                **reading,
            )


def _valueless(counts: Mapping[str, Any]) -> Iterator[str]:
    """Which metrics have no value for queries that could have one; nothing of a failed run."""
    if 0 < counts["n_failed"] == counts["n_queries"] - counts["n_missing"]:
        return
    for name, of_metric in counts.get("metrics", {}).items():
        if "n_could" in of_metric:
            continue  # which questions could leak stands above the numbers
        # A run's number has no value for any query; of searches often none has one, with reason.
        definition, n_scored = known_metric(name), of_metric["n_scored"]
        says = "n_no_gold" in of_metric or (definition and definition.from_evidence) or n_scored
        n_possible, why = _n_possible(name, counts), _why_uncounted(name, counts)
        if n_scored < n_possible and (says or why):
            line = message(
                "{metric}: no value for {n} of {of} queries",
                metric=name,
                n=n_possible - n_scored,
                of=n_possible,
            )
            yield joined("; ", [line, why])


def _n_possible(name: str, counts: Mapping[str, Any]) -> int:
    """How many questions could have a value of a metric."""
    of_metric, metric, of_searches = _looked_up(name, counts)
    n_unanswerable, n = counts.get("unanswerable", {}).get("n_queries"), counts["n_queries"]
    if "n_unmeasured" in of_metric:  # of what searches do for the gold: who has none is known
        n_listless = of_searches.get("n_no_list", 0) - of_searches.get("n_no_list_gold", 0)
        n -= counts.get("n_probes", 0) + counts["n_no_gold"] + n_listless
    elif "n_no_gold" in of_metric:
        n = counts["n_scored"]
    elif n_unanswerable is not None and metric is not None and metric.of != "all":
        n = n_unanswerable if metric.of == "unanswerable" else n - n_unanswerable
    return int(n)


def _looked_up(
    name: str, counts: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Metric | None, Mapping[str, int]]:
    """What is counted of a metric, the metric, and what is counted of searches."""
    of_metric = counts.get("metrics", {}).get(name, {})
    return of_metric, known_metric(name), counts.get(SEARCHES, {})


def _why_uncounted(name: str, counts: Mapping[str, Any]) -> str:
    """Why it is not known what the searches of some questions cost, and the remedy."""
    of_metric, metric, of_searches = _looked_up(name, counts)
    n = of_metric.get("n_uncounted", 0)
    if n and metric is not None and (silent := of_searches.get(f"n_no_{metric.unit}", 0)):
        of_tokens = metric.unit == "tokens"
        return message(
            "searches that say no tokens: {n}; give each search its tokens: {example}"
            if of_tokens
            else "searches that say no seconds: {n}; give each search its seconds: {example}",
            n=silent,
            example="@searched(tokens=...)" if of_tokens else "Search(seconds=...)",
        )
    # Of more than these the reason fits some alone, and would be read as that of all.
    is_unanswered = 0 < n <= counts["n_failed"] + counts["n_missing"]
    return message("failed before any search, or missing: {n}", n=n) if is_unanswered else ""


def short_remarks(specs: Iterable[MetricSpec], longest: int) -> Iterator[str]:
    """Which precision divides by more documents than any list has, and so cannot reach 1."""
    for spec in specs:
        by_k = spec.metric == PRECISION and spec["over"] == "k"
        # Without a single document precision is 0 for another reason, which is said elsewhere.
        if by_k and isinstance(spec.k, int) and 0 < longest < spec.k:
            yield message(
                "{metric}: {most} at most, as no list has more than {n} documents; "
                "over=retrieved divides by what was retrieved",
                metric=spec,
                most=number(longest / spec.k),
                n=longest,
            )


def _unanswerable(counts: Mapping[str, int], profile: Profile) -> Iterator[str]:
    """What was retrieved where nothing answers, and what that does to the numbers."""
    if not counts:
        return
    n_docs, n_unanswered = counts["n_documents"], counts["n_unanswered"]
    n_rest = counts["n_queries"] - counts["n_empty"] - n_unanswered
    documents = plural(
        n_docs, "1 document for {questions}", "{n} documents for {questions}", questions=n_rest
    )
    parts = [
        message("nothing retrieved for {n}", n=counts["n_empty"]),
        message("no answer for {n}", n=n_unanswered) if n_unanswered else "",
        documents if n_rest else "",
    ]
    yield message(
        "unanswerable questions: {n} (left out); {parts}"
        if profile.no_gold in LEFT_OUT
        else "unanswerable questions: {n} ({treated}); {parts}",
        n=counts["n_queries"],
        treated=message("in metrics of gold {treatment}", treatment=_NO_GOLD[profile.no_gold]),
        parts=joined(", ", parts),
    )
