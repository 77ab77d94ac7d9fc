"""In words what a judge's grades took, and which of them are missing."""

from collections.abc import Iterator, Mapping
from typing import Any

from kragx.ground.printing import joined, listed, message, number
from kragx.metrics import known_metric


def missing_remarks(judging: Mapping[str, Any]) -> Iterator[str]:
    """Which judgements are missing, why, and what to do; nothing where none is."""
    from kragx.judging.judgement_counts import missing_lines  # loads all of judging

    return missing_lines(judging)


def votes_on(
    vote_bounds: Mapping[str, tuple[float, float]], judging: str
) -> dict[str, tuple[float, float]]:
    """The bounds by votes of the metrics that one of the counts ``judging...`` is of."""
    metrics = {name: known_metric(name) for name in vote_bounds}
    of_relevance = {
        name for name, metric in metrics.items() if metric and metric.from_relevance is not None
    }
    names = of_relevance if judging == "judging_relevance" else vote_bounds.keys() - of_relevance
    return {name: ends for name, ends in vote_bounds.items() if name in names}


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
    means = [
        message("{metric} {low} to {high}", metric=name, low=number(low), high=number(high))
        for name, (low, high) in vote_bounds.items()
    ]
    lines = (
        message(
            "votes differ on {n_disputed} of {n_questions} judged questions; {alpha}",
            **{**panel, "alpha": alpha},
        ),
        message(
            "by the strictest and the most lenient vote on each pair: {means}",
            means=joined(", ", means),
        )
        if means
        else "",
    )
    yield from filter(None, lines)


def judging_remarks(
    judging: Mapping[str, Any] | None,
    vote_bounds: Mapping[str, tuple[float, float]],
    pool: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """What judging took and what is missing; nothing where nothing was judged."""
    if not judging:
        return
    from kragx.judging.judgement_counts import coverage_line, missing_lines  # loads all of judging

    lines = (
        # First, as a screen shows only the first remarks: what a number is of, before its price.
        message(
            "relative to pool {hash} of {documents} documents; relevant from grade {rel} on", **pool
        )
        if pool
        else "",
        coverage_line(judging),
        *missing_lines(judging),
        *panel_remarks(judging, vote_bounds),
        message(
            "requests while the server had no room (429) or was away: {n_refused}, waited for",
            **judging,
        )
        if judging.get("n_refused")
        else "",
        message(
            "calls: {n_calls} ({n_retries} retries); from the store: {n_stored} of {n_distinct} "
            "distinct questions",
            **judging,
        ),
        *(
            message(
                "asked as its server takes it: {dialect} ({n})"
                if "panel" in judging
                else "asked as its server takes it: {dialect} ({n} of {of})",
                dialect=dialect,
                n=n,
                of=judging["n_judgements"],
            )
            for dialect, n in judging.get("dialects", {}).items()
        ),
        message("human labels: {n_human}, instead of the judge's", **judging)
        if judging["n_human"]
        else "",
        message("calls saved by cheaper matchers: {n_calls_saved}", **judging)
        if "n_calls_saved" in judging
        else "",
        _cost(judging),
        message(
            "calls without an answer: {n_calls_without_usage}; what they cost is unknown and not "
            "counted here (a budget keeps the most that they can have cost)",
            **judging,
        )
        if judging["n_calls_without_usage"]
        else "",
    )
    yield from filter(None, lines)


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
