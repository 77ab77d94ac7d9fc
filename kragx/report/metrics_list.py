"""The list of metrics that `kragx metrics` prints."""

from collections.abc import Iterable, Iterator
from typing import Any

from kragx.ground.printing import Cell, Line, Part, Table, message
from kragx.ground.printing.localisation import translated
from kragx.metrics import KRAGX, METRICS, Metric, Option, parse_all
from kragx.metrics.ranking_metrics import LISTS
from kragx.metrics.registry import added_metrics

_COMMON = (
    *("hit_rate", "mrr", "precision", "recall", "f1", "map", "ndcg"),
    *("redundancy", "judged", "seconds_p95", "evidence_recall"),
)
"""What most people look for, in this order."""

_BETTER = {
    "higher": message("higher"),
    "lower": message("lower"),
    "neither": message("neither"),
}


def metrics_parts(names: Iterable[str] | None = None, *, every: bool = False) -> Iterator[Part]:
    """Metrics as a table, and how to write one.

    Args:
        names: which, however they are written; None for the common ones.
        every: all of them instead.

    Raises:
        UsageError: a metric is unknown.
    """
    rows: list[list[str | Cell]] = []
    for metric in _listed(None if every else names or _COMMON):
        lowest, greatest = metric.range
        rows.append(
            [
                metric.name,
                Cell(translated(metric.question), below=translated(metric.formula)),
                "\n".join(f"{name}={option}" for name, option in _options(metric)),
                message("{least:g} or more", least=lowest)
                if greatest is None
                else message("{low:g} to {high:g}", low=lowest, high=greatest),
                _BETTER[metric.better],
            ]
        )
    head = (message("metric"), message("question"), message("options"), message("range"))
    columns = [*head, message("better is")]
    n_more = len(METRICS) - len(rows)
    note = "" if every or names else message("{n} more metrics: kragx metrics --all", n=n_more)
    yield Table(columns, rows, words=len(columns), note=note)
    yield Line(
        message(
            "Write name@k(option=value): ndcg@10, ndcg@10(gain=exp2), hit_rate@5(need=all), "
            "recall@5(rel=2).\nWithout @k the whole list counts; k may be a budget: "
            "ndcg@500tokens, coverage@2000chars.\nThe first value of an option is its default; "
            "rel=x counts only gold of grade x or more.\nWhat looks at a list takes of={lists} and "
            "order={orders}: which list, where somebody searches several times.",
            lists=str(LISTS["of"]),
            orders=str(LISTS["order"]),
        )
    )


def metrics_plain(names: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """The metrics of these names, or all, as plain values for JSON."""
    return [
        {
            "name": metric.name,
            "question": metric.question,
            "formula": metric.formula,
            "options": [f"{name}={option}" for name, option in _options(metric, lists=True)],
            "range": list(metric.range),
            "direction": metric.better,
            "micro": metric.pooled is not None,
        }
        for metric in _listed(names)
    ]


def _listed(names: Iterable[str] | None) -> list[Metric]:
    """The metrics of these names; without any kragx's own, and what installed packages add."""
    if names:
        return [*dict.fromkeys(spec.metric for spec in parse_all(names, KRAGX))]
    return [*METRICS.values(), *added_metrics()]


def _options(metric: Metric, *, lists: bool = False) -> Iterator[tuple[str, Option]]:
    """Those that may be written; which list is meant, as most metrics may be told, is said once."""
    for name, option in metric.options.items():
        if option.settable and (lists or name not in LISTS):
            yield name, option
