"""The list of metrics that `kragx metrics` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kragx.data.formats.jsonl import to_json
from kragx.metrics import METRICS, Metric
from kragx.metrics.measures import MEASURES, Measure
from kragx.metrics.spec import CHOICES
from kragx.report.files import csv_text

_FIELDS = ("name", "question", "formula", "options", "range", "direction", "micro")


def print_metrics(out: Console) -> None:
    """Print the metrics as a table, and how to write one."""
    table = Table("metric", "question", "options", "range", "better", show_lines=True)
    for row in _all():
        least, greatest = row["range"]
        table.add_row(
            Text(row["name"]),
            Text(f"{row['question']}\n{row['formula']}"),
            Text("\n".join(row["options"])),
            Text(f"{least:g} or more" if greatest is None else f"{least:g} to {greatest:g}"),
            Text(row["direction"]),
        )
    out.print(table)
    out.print(
        Text(
            "Write name@k(option=value): ndcg@10, ndcg@10(gain=exp2), hit_rate@5(need=all), "
            "recall@5(rel=2).\nWithout @k the whole list counts; k may be a budget: "
            "ndcg@500tokens, coverage@2000chars.\nThe first value of an option is its default; "
            "rel=x counts only gold of grade x or more."
        )
    )


def metrics_json() -> str:
    """The metrics as JSON."""
    return to_json(_all(), indent=2)


def metrics_csv() -> str:
    """The metrics as CSV."""
    return csv_text(
        _FIELDS,
        ([_flat(row[name]) for name in _FIELDS] for row in _all()),
    )


def _all() -> list[dict[str, Any]]:
    """Metrics, then measures."""
    metrics = [_described(metric) for metric in METRICS.values()]
    return metrics + [_measured(each) for each in MEASURES.values()]


def _measured(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "question": measure.question,
        "formula": measure.formula,
        "options": [f"{name}={default}" for name, default in measure.options.items()],
        "range": list(measure.range),
        "direction": measure.better,
        "micro": False,
    }


def _described(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "question": metric.question,
        "formula": metric.formula,
        "options": [f"{name}={'|'.join(CHOICES.get(name, ('x',)))}" for name in metric.options],
        "range": list(metric.range),
        "direction": "higher" if metric.higher_is_better else "lower",
        "micro": metric.pooled,
    }


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
