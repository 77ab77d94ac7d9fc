"""In words what a judge's grades took, and which of them are missing."""

from collections.abc import Iterator, Mapping
from typing import Any

from kragx.ground.printing import joined, listed, message, number, percent
from kragx.metrics import known_metric


def missing_remarks(judging: Mapping[str, Any]) -> Iterator[str]:
    """Which judgements are missing, why, and what to do; nothing where none is."""
    if judging["n_missing"]:
        from kragx.judging.judgement_counts import failed_kinds, failure_lines  # the whole room

        yield message(
            "missing: {n} ({kinds}), estimated, never taken for 0; in brackets what the numbers "
            "can become",
            n=judging["n_missing"],
            kinds=failed_kinds(judging),
        )
        yield from failure_lines(judging)


def votes_on(
    vote_bounds: Mapping[str, tuple[float, float]], judging: str
) -> dict[str, tuple[float, float]]:
    """The bounds by votes of the metrics that one of the counts ``judging...`` is of."""
    is_beside = judging == "judging_relevance"
    return {
        name: ends
        for name, ends in vote_bounds.items()
        if (getattr(known_metric(name), "from_relevance", None) is not None) == is_beside
    }


def panel_remarks(
    judging: Mapping[str, Any], vote_bounds: Mapping[str, tuple[float, float]]
) -> Iterator[str]:
    """How far the judges of a panel agree; nothing of one judge."""
    panel = judging.get("panel")
    if not panel or not panel["n_questions"]:
        return
    alpha = message(
        "no alpha, as nothing could disagree: there is one grade only"
        if panel["alpha"] is None
        else "Krippendorff's alpha (ordinal) among {judges}: {alpha}",
        judges=listed(panel["alpha_of"], limit=len(panel["alpha_of"])),
        alpha=number(panel["alpha"]),
    )
    yield message(
        "votes differ on {n_disputed} of {n_questions} judged questions; {alpha}",
        **{**panel, "alpha": alpha},
    )
    means = [
        message("{metric} {low} to {high}", metric=name, low=number(low), high=number(high))
        for name, (low, high) in vote_bounds.items()
    ]
    if means:
        yield message(
            "by the strictest and the most lenient vote on each pair: {means}",
            means=joined(", ", means),
        )


def judging_remarks(
    judging: Mapping[str, Any] | None,
    vote_bounds: Mapping[str, tuple[float, float]],
    pool: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """What judging took and what is missing; nothing where nothing was judged."""
    if not judging:
        return
    # First, as a screen shows only the first remarks: what a number is of, before its price.
    if pool:
        yield message(
            "relative to pool {hash} of {documents} documents; relevant from grade {rel} on", **pool
        )
    n_of, coverage = judging["n_judgements"], percent(judging["coverage"])
    yield message(
        "judged: {n} of {n_judgements} (coverage {coverage})",
        n=n_of - judging["n_missing"],
        n_judgements=n_of,
        coverage=coverage,
    )
    yield from missing_remarks(judging)
    yield from panel_remarks(judging, vote_bounds)
    if judging.get("n_refused"):
        yield message(
            "requests while the server had no room (429) or was away: {n_refused}, waited for",
            **judging,
        )
    yield message(
        "calls: {n_calls} ({n_retries} retries); from the store: {n_stored} of {n_distinct} "
        "distinct questions",
        **judging,
    )
    for dialect, n in judging.get("dialects", {}).items():
        yield message(
            "asked as its server takes it: {dialect} ({n})"
            if "panel" in judging
            else "asked as its server takes it: {dialect} ({n} of {of})",
            dialect=dialect,
            n=n,
            of=n_of,
        )
    if judging["n_human"]:
        yield message("human labels: {n_human}, instead of the judge's", **judging)
    if "n_calls_saved" in judging:
        yield message("calls saved by cheaper matchers: {n_calls_saved}", **judging)
    yield _cost(judging)
    if judging["n_calls_without_usage"]:
        yield message(
            "calls without an answer: {n_calls_without_usage}; what they cost is unknown and not "
            "counted here (a budget keeps the most that they can have cost)",
            **judging,
        )


def _cost(judging: Mapping[str, Any]) -> str:
    """What judging has cost, and of how many tokens."""
    is_estimated = judging.get("n_calls_estimated", 0)
    tokens = message(
        "about {prompt_tokens} + {completion_tokens} tokens, estimated for {n_calls_estimated} of "
        "{n_calls} calls, as the server does not say"
        if is_estimated
        else "{prompt_tokens} + {completion_tokens} tokens",
        **judging,
    )
    # Of a panel those alone that have no price: each of the others may have one.
    judges = judging.get("panel", {}).get("judges", ())
    unpriced = [judge["name"] for judge in judges if judge["cost"] is None] or [judging["model"]]
    return message(
        "cost: unknown, no price of {models} is given; {tokens}"
        if judging["cost"] is None
        else "cost: about {cost:.4f} {currency} for {tokens}"
        if is_estimated
        else "cost: {cost:.4f} {currency} for {tokens}",
        **{**judging, "models": ", ".join(map(repr, unpriced)), "tokens": tokens},
    )
