"""Comparisons as tables for a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kragx.comparison import Comparison
from kragx.report.rows import number


def print_comparison(comparison: Comparison, out: Console) -> None:
    """Print the differences from the baseline."""
    table = Table("metric", *(Column(Text(n), justify="right") for n in comparison.retrievers))
    for metric in comparison.metrics:
        cells = [
            number(comparison.overall.means[name][metric].value) for name in comparison.retrievers
        ]
        table.add_row(Text(metric), *cells)
    out.print(table)
