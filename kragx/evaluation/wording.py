"""In words what an evaluation records: its matcher, its profile, and all that was left out."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.matchers.batches import DOCS_LOST, GOLD_LOST, SHORT_GOLD
from kragx.matchers.ids import ALIKE
from kragx.metrics import Evidence, MetricSpec, Profile, known_metric
from kragx.metrics.abstention import ABSTENTION, price
from kragx.printing import number, percent

_NO_GOLD = {
    "skip": "left out",
    "zero": "scored 0",
    "error": "refused",
    "abstain": "1 for an empty list, else 0",
}
_MISSING = {"empty": "scored as empty lists", "left_out": "left out"}
_REPEATS = {"once": "the first one counts", "count": "each one counts", "error": "refused"}


def match_label(match: Mapping[str, Any], name: str) -> str:
    """How matches were decided: the method, with the name under which it was asked for."""
    label = method_label(match)
    return label if name == match["method"] or _is_combination(match) else f"{name}: {label}"


def method_label(match: Mapping[str, Any]) -> str:
    """A matcher as results record it."""
    options = dict(match)
    method = options.pop("method")
    if _is_combination(match):
        own = f", threshold {match['threshold']}" if "threshold" in match else ""
        return f"{method} of {'; '.join(map(method_label, match['of']))}{own}"
    shown = ", ".join(
        f"{name} {_shown(value)}" for name, value in options.items() if value is not False
    )
    return f"{method} ({shown})" if shown else str(method)


def _is_combination(match: Mapping[str, Any]) -> bool:
    return isinstance(match.get("of"), (list, tuple))  # a span's `of` is a word


def _shown(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return " ".join(str(value[key]) for key in ("name", "version") if key in value)


def failure_remarks(counts: Mapping[str, Any]) -> Iterator[str]:
    """On how many queries the retriever failed, and the first reason; nothing where it did not."""
    if counts["n_failed"]:
        yield f"queries that failed: {counts['n_failed']} (scored as empty lists)"
        yield f"the first failure: {counts['first_failure']}"


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
    unanswerable = counts.get("unanswerable", {})
    yield from _unanswerable(unanswerable, profile)
    # Of these it is said already, and an empty list is right.
    rest = {
        "n_no_gold": counts["n_no_gold"] - unanswerable.get("n_queries", 0),
        "n_empty": counts["n_empty"] - unanswerable.get("n_empty", 0),
    }
    treated = {
        "n_no_gold": ("queries without gold", _NO_GOLD[profile.no_gold]),
        "n_missing": ("queries missing in the run", _MISSING[profile.missing]),
        "n_empty": ("queries answered with an empty list", "nothing was found"),
        "n_extra": ("queries of the run that the gold set lacks", "left out"),
        "n_duplicates": ("documents that stand twice in a list", _REPEATS[profile.duplicates]),
        "n_replaced_surrogates": ("lone surrogates in texts", "replaced by U+FFFD"),
        "n_longer_lines": (
            "lines of the run with more than six columns",
            "what follows the tag is ignored, as by trec_eval",
        ),
        GOLD_LOST: ("questions with gold that can match nothing", "it counts as not found"),
        SHORT_GOLD: ("questions with short gold", "looked for as a phrase"),
        ALIKE: (
            "questions with ids that differ only by white space or Unicode form",
            "no match",
        ),
        DOCS_LOST: ("questions with retrieved texts that can match nothing", "no match"),
    }
    for name, (noun, treatment) in treated.items():
        if count := rest.get(name, counts.get(name)):
            yield f"{noun}: {count} ({treatment})"
    unanswered = 0 < counts["n_failed"] == counts["n_queries"] - counts["n_missing"]
    for name, own in {} if unanswered else counts.get("metrics", {}).items():
        # What looks at documents or times may have a value without gold; a run's has none a query.
        by_gold = "n_no_gold" in own
        n_possible, n_scored = counts["n_scored" if by_gold else "n_queries"], own["n_scored"]
        metric = known_metric(name)
        if unanswerable and not by_gold and metric is not None and metric.of != "all":
            n_unanswerable = unanswerable["n_queries"]
            is_of_them = metric.of == "unanswerable"
            n_possible = n_unanswerable if is_of_them else n_possible - n_unanswerable
        if n_scored < n_possible and (by_gold or n_scored):
            yield f"{name}: no value for {n_possible - n_scored} of {n_possible} queries"
    for reading in settings.get("spans", ()):
        if reading["n_queries_by_offsets"]:
            yield (
                f"spans: by offsets for {reading['n_queries_by_offsets']} queries, by comparing "
                f"texts for {reading['n_queries_by_text']}"
            )
    if n_unreviewed := counts.get("facts", {}).get("n_unreviewed"):
        yield (
            f"facts that a model wrote and nobody has reviewed: of {n_unreviewed} of "
            f"{counts['facts']['n_queries']} queries with facts"
        )
    if "judging" in counts:
        own_bounds = votes_on(vote_bounds, "judging")
        yield from _judging(counts["judging"], settings.get("pool"), own_bounds)
    if "judging_facts" in counts:
        yield from (f"facts: {line}" for line in _judging(counts["judging_facts"], None, {}))
    if "judging_relevance" in counts:
        relevant = settings["relevance"]
        yield (
            f"relevance: judged by {relevant['model']} ({relevant['rubric']}), relevant from grade "
            f"{relevant['pool']['rel']} on"
        )
        own_bounds = votes_on(vote_bounds, "judging_relevance")
        lines = _judging(counts["judging_relevance"], None, own_bounds)
        yield from (f"relevance: {line}" for line in lines)


def abstention_remarks(specs: Iterable[MetricSpec], evidence: Evidence | None) -> Iterator[str]:
    """What abstaining below a score would cost: at a high one every retriever abstains."""
    for spec in specs:
        if spec.metric == ABSTENTION and spec["score"] is not None and evidence is not None:
            n_lost, n_answerable = price(evidence, spec)
            yield (
                f"{spec}: that score would leave nothing for {n_lost} of {n_answerable} answerable "
                "questions either; no other metric leaves out what is below it"
            )


def _unanswerable(counts: Mapping[str, int], profile: Profile) -> Iterator[str]:
    """What was retrieved where nothing answers, and what that does to the numbers."""
    if not counts:
        return
    left_out = profile.leaves_out_no_gold
    treated = "left out" if left_out else f"in metrics of gold {_NO_GOLD[profile.no_gold]}"
    n_rest = counts["n_queries"] - counts["n_empty"] - counts["n_unanswered"]
    parts = [
        f"nothing retrieved for {counts['n_empty']}",
        *([f"no answer for {counts['n_unanswered']}"] if counts["n_unanswered"] else []),
        *([f"{counts['n_documents']} documents for {n_rest}"] if n_rest else []),
    ]
    yield f"unanswerable questions: {counts['n_queries']} ({treated}); {', '.join(parts)}"


def missing_remarks(judging: Mapping[str, Any]) -> Iterator[str]:
    """Which judgements are missing, why, and what to do; nothing where none is."""
    from kragx.judging.remedies import failure_lines  # loads all of judging

    if judging["n_missing"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in judging["failures"].items())
        yield (
            f"missing: {judging['n_missing']} ({kinds}), estimated, never taken for 0; in brackets "
            "what the numbers can become"
        )
        yield from failure_lines(judging)


def votes_on(
    vote_bounds: Mapping[str, tuple[float, float]], judging: str
) -> dict[str, tuple[float, float]]:
    """The bounds by votes of the metrics that one of the counts ``judging...`` is of."""
    of_relevance = judging == "judging_relevance"
    return {
        name: ends
        for name, ends in vote_bounds.items()
        if ((metric := known_metric(name)) is not None and metric.from_relevance is not None)
        == of_relevance
    }


def panel_remarks(
    judging: Mapping[str, Any], vote_bounds: Mapping[str, tuple[float, float]]
) -> Iterator[str]:
    """How far the judges of a panel agree, and how each of them votes; nothing of one judge."""
    panel = judging.get("panel")
    if not panel or not any(votes["n"] for votes in panel["votes"]):
        return
    among = " and ".join(filter(None, (", ".join(panel["alpha_of"][:-1]), panel["alpha_of"][-1])))
    alpha = (
        "no alpha, as nothing could disagree: there is one grade only"
        if panel["alpha"] is None
        else f"Krippendorff's alpha (ordinal) among {among}: {number(panel['alpha'])}"
    )
    yield (
        f"votes differ on {panel['n_disputed']} of {panel['n_questions']} judged questions; {alpha}"
    )
    if vote_bounds:
        means = (
            f"{name} {number(low)} to {number(high)}" for name, (low, high) in vote_bounds.items()
        )
        yield f"by the strictest and the most lenient vote on each pair: {', '.join(means)}"
    if len(panel["pairs"]) > 1:
        of_two = (f"{' and '.join(two['judges'])} {number(two['alpha'])}" for two in panel["pairs"])
        yield f"alpha of each two: {', '.join(of_two)}"
    votes = (
        f"{own['judge']} {own['n']} (mean {number(own['mean'])}"
        + (f"; {own['n_failed']} failed)" if own["n_failed"] else ")")
        for own in panel["votes"]
    )
    yield f"votes by judge: {', '.join(votes)}"
    if len(panel["alpha_of"]) < len(panel["votes"]):
        later = ", ".join(own["judge"] for own in panel["votes"][len(panel["alpha_of"]) :])
        yield f"asked only where those before could be outvoted, so in no alpha: {later}"
    if panel["temperature_0"]:
        yield (
            "repeats at temperature 0 agree by themselves: their alpha does not say how sure or "
            "how right the judge is"
        )


def _judging(
    judging: Mapping[str, Any],
    pool: Mapping[str, Any] | None,
    vote_bounds: Mapping[str, tuple[float, float]],
) -> Iterator[str]:
    """What judging took and what is missing."""
    n_missing, n_judgements = judging["n_missing"], judging["n_judgements"]
    # First, as a screen shows only the first remarks: what a number is of comes before its price.
    if pool:
        yield (
            f"relative to pool {pool['hash']} of {pool['documents']} documents; relevant from "
            f"grade {pool['rel']} on"
        )
    yield (
        f"judged: {n_judgements - n_missing} of {n_judgements} "
        f"(coverage {percent(judging['coverage'])})"
    )
    yield from missing_remarks(judging)
    yield from panel_remarks(judging, vote_bounds)
    if n_refused := judging.get("n_refused"):
        yield f"requests while the server had no room (429) or was away: {n_refused}, waited for"
    yield (
        f"calls: {judging['n_calls']} ({judging['n_retries']} retries); from the store: "
        f"{judging['n_stored']} of {judging['n_distinct']} distinct questions"
    )
    of = "" if "panel" in judging else f" of {n_judgements}"
    for dialect, count in judging.get("dialects", {}).items():
        yield f"asked as its server takes it: {dialect} ({count}{of})"
    if judging["n_human"]:
        yield f"human labels: {judging['n_human']}, instead of the judge's"
    if "n_calls_saved" in judging:
        yield f"calls saved by cheaper matchers: {judging['n_calls_saved']}"
    estimated, n_calls = judging.get("n_calls_estimated", 0), judging["n_calls"]
    about = "about " if estimated else ""
    tokens = f"{about}{judging['prompt_tokens']} + {judging['completion_tokens']} tokens"
    if estimated:
        tokens += f", estimated for {estimated} of {n_calls} calls, as the server does not say"
    if judging["cost"] is None:
        of_judges = judging.get("panel", {}).get("judges", ())
        unpriced = [own["name"] for own in of_judges if own["cost"] is None] or [judging["model"]]
        yield f"cost: unknown, no price of {', '.join(map(repr, unpriced))} is given; {tokens}"
    else:
        yield f"cost: {about}{judging['cost']:.4f} {judging['currency']} for {tokens}"
    if judging["n_calls_without_usage"]:
        yield (
            f"calls without an answer: {judging['n_calls_without_usage']}; what they cost is "
            "unknown and not counted here (a budget keeps the most that they can have cost)"
        )
