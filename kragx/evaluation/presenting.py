"""How an evaluation is presented: its heading, cells of means, notes below them, and its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.evaluation.wording import asks_label, basis_label
from kragx.ground.printing import Line, Table, between, joined, message, number, possible
from kragx.metrics import known_metric

Evaluation = Any
"""`kragx.evaluation.evaluation.Evaluation`, whose module imports this one."""


def heading(evaluation: Evaluation, counts: Mapping[str, Any] | None = None) -> Iterator[Line]:
    """How matches were decided and what the numbers mean; `counts` where not of all."""
    basis = basis_label(evaluation.settings)
    texts = (
        message("match: {match}", match=evaluation.match_label),
        message("profile: {profile}", profile=profile_label(evaluation)),
        message("list: {basis}", basis=basis) if basis else "",
        asks_label(evaluation.counts if counts is None else counts) or "",
    )
    return map(Line, filter(None, texts))


def profile_label(evaluation: Evaluation) -> str:
    """The profile and what deviates from it, in one line."""
    name = str(evaluation.settings["profile"]["name"])
    changed = ", ".join(
        f"{option}={value}" if isinstance(value, str) else option
        for option, value in evaluation.settings["deviations"].items()
    )
    return message("{name}, with {changed}", name=name, changed=changed) if changed else name


def mean_cell(evaluation: Evaluation, metric: str) -> str:
    """A mean as people read it, with what missing judgements leave open."""
    maximum, bounds = evaluation.maximum.get(metric), evaluation.bounds.get(metric)
    known_as, aside = known_metric(metric), evaluation.asides.get(metric)
    # Where some leaks are not known, no value between the ends is the likelier one.
    if bounds is not None and known_as is not None and known_as.reads_forbidden:
        return between(*bounds)
    text = _with_bounds(evaluation.mean.get(metric), bounds)
    if not aside and maximum is None:
        return text
    return message(
        "{value} ({aside})" if aside else "{value} of {maximum}",
        value=text,
        aside=aside,
        maximum=number(maximum),
    )


def micro_cell(evaluation: Evaluation, metric: str) -> str:
    """The same for a micro average; empty for a metric that has none."""
    micro = evaluation.micro
    bounds = evaluation.micro_bounds.get(metric)
    return _with_bounds(micro[metric], bounds) if metric in micro else ""


def _with_bounds(value: float | None, bounds: tuple[float, float] | None) -> str:
    return joined(" ", [number(value), "" if bounds is None else possible(*bounds)])


def bounds_note(evaluations: Iterable[Evaluation]) -> str:
    """What stands below a table of means: what bounds are, where some evaluation has any."""
    scores = (score for evaluation in evaluations for score in evaluation.scores if score.bounds)
    of_leaks = {score.spec.metric.reads_forbidden for score in scores}
    notes = {
        False: message("(a to b): what it can become once missing judgements are known"),
        True: message("leaks from a to b: if none, and if all of what is not known leaks"),
    }
    return joined("; ", [note for kind, note in notes.items() if kind in of_leaks])


def queries_table(evaluation: Evaluation) -> Table:
    """The values of each query, metrics across."""
    rows = [[name, *map(number, row.values())] for name, row in evaluation.queries.items()]
    return Table(["query_id", *evaluation.mean], rows)


def size(evaluation: Evaluation) -> Line:
    """How many queries the numbers are of."""
    n_scored, n_queries = (evaluation.counts[name] for name in ("n_scored", "n_queries"))
    if n_queries and evaluation.counts.get("n_probes", 0) == n_queries:
        return Line(message("all {n} queries are probes: leaks alone are measured", n=n_queries))
    return Line(message("{n} of {of} queries scored", n=n_scored, of=n_queries))


def metric_names(evaluations: Iterable[Evaluation]) -> list[str]:
    """The metrics of all evaluations, in order, each once."""
    return list(dict.fromkeys(name for evaluation in evaluations for name in evaluation.mean))
