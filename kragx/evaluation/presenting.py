"""How an evaluation is presented: its heading, cells of means, notes below them, and its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.evaluation.wording import asks_label, basis_label, match_label
from kragx.ground.printing import Line, between, joined, message, number, possible
from kragx.metrics import MetricScores, known_metric


def heading(
    settings: Mapping[str, Any], match_name: str, counts: Mapping[str, Any]
) -> Iterator[Line]:
    """How matches were decided and what the numbers mean.

    Args:
        settings: of an evaluation.
        match_name: names its matcher.
        counts: of what the numbers are of.
    """
    basis = basis_label(settings)
    texts = (
        message("match: {match}", match=match_label(settings["match"], match_name)),
        message("profile: {profile}", profile=profile_label(settings)),
        message("list: {basis}", basis=basis) if basis else "",
        asks_label(counts) or "",
    )
    return map(Line, filter(None, texts))


def profile_label(settings: Mapping[str, Any]) -> str:
    """The profile of an evaluation's settings and what deviates from it, in one line."""
    name = str(settings["profile"]["name"])
    changed = ", ".join(
        f"{option}={value}" if isinstance(value, str) else option
        for option, value in settings["deviations"].items()
    )
    return message("{name}, with {changed}", name=name, changed=changed) if changed else name


def mean_text(scores: MetricScores, aside: str | None) -> str:
    """A mean as people read it, with what missing judgements leave open.

    Args:
        scores: of its metric.
        aside: what stands beside it.
    """
    known_as = known_metric(str(scores.spec))
    # Where some leaks are not known, no value between the ends is the likelier one.
    if scores.bounds is not None and known_as is not None and known_as.reads_forbidden:
        return between(*scores.bounds)
    text = with_bounds(scores.mean, scores.bounds)
    if not aside and scores.maximum is None:
        return text
    return message(
        "{value} ({aside})" if aside else "{value} of {maximum}",
        value=text,
        aside=aside,
        maximum=number(scores.maximum),
    )


def with_bounds(value: float | None, bounds: tuple[float, float] | None) -> str:
    """A number, and what it can become."""
    return joined(" ", [number(value), "" if bounds is None else possible(*bounds)])


def bounds_note(scores: Iterable[MetricScores]) -> str:
    """What stands below a table of means: what bounds are, where some metric has any."""
    of_leaks = {score.spec.metric.reads_forbidden for score in scores if score.bounds}
    notes = {
        False: message("(a to b): what it can become once missing judgements are known"),
        True: message("leaks from a to b: if none, and if all of what is not known leaks"),
    }
    return joined("; ", [note for kind, note in notes.items() if kind in of_leaks])


def size(counts: Mapping[str, Any]) -> Line:
    """How many queries the numbers are of."""
    n_scored, n_queries = counts["n_scored"], counts["n_queries"]
    if n_queries and counts.get("n_probes", 0) == n_queries:
        return Line(message("all {n} queries are probes: leaks alone are measured", n=n_queries))
    return Line(message("{n} of {of} queries scored", n=n_scored, of=n_queries))


def metric_names(means: Iterable[Mapping[str, Any]]) -> list[str]:
    """The metrics of the means of all evaluations, in order, each once."""
    return [*dict.fromkeys(name for of_one in means for name in of_one)]
