"""The list of metrics that `kragx metrics` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kragx.data.formats.jsonl import to_json
from kragx.metrics import METRICS, Metric
from kragx.report.files import csv_text


def print_metrics(out: Console) -> None:
    """Print the metrics as a table, and how to write one."""
    table = Table("metric", "question", "options", "range", "better", show_lines=True)
    for metric in METRICS.values():
        row = _described(metric)
        least, greatest = metric.range
        table.add_row(
            Text(metric.name),
            Text(f"{metric.question}\n{metric.formula}"),
            Text("\n".join(row["options"])),
            Text(f"{least:g} or more" if greatest is None else f"{least:g} to {greatest:g}"),
            Text(metric.better),
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
    return to_json([_described(metric) for metric in METRICS.values()], indent=2)


def metrics_csv() -> str:
    """The metrics as CSV."""
    rows = [_described(metric) for metric in METRICS.values()]
    return csv_text(list(rows[0]), ([_flat(value) for value in row.values()] for row in rows))


def _described(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "question": metric.question,
        "formula": metric.formula,
        "options": [
            f"{name}={option}" for name, option in metric.options.items() if option.settable
        ],
        "range": list(metric.range),
        "direction": metric.better,
        "micro": metric.pooled is not None,
    }


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
