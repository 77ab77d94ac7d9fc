"""Sweeps for people: a table, and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kragx.evaluation.sweep import Sweep
from kragx.report.files import csv_text
from kragx.report.rows import method_label, number

_ROWS = 21


def sweeps_csv(sweeps: Sequence[Sweep]) -> str:
    """A line for each retriever, matcher and threshold, a column for each metric."""
    metrics = _metrics(sweeps)

    def rows() -> Iterator[list[Any]]:
        for each in sweeps:
            for at, threshold in enumerate(each.thresholds):
                values = [
                    each.values[name][at] if name in each.values else None for name in metrics
                ]
                chosen = int(threshold == each.chosen)
                yield [
                    *(each.name, each.match_name, threshold, chosen, each.n_matches[at]),
                    *values,
                ]

    return csv_text(["retriever", "match", "threshold", "chosen", "n_matches", *metrics], rows())


def print_sweeps(sweeps: Sequence[Sweep], out: Console) -> None:
    """Print a table for each sweep: thresholds down, metrics across, the chosen one in bold."""
    for each in sweeps:
        out.print(Text(f"{each.name}, match: {method_label(each.match)}"))
        table = Table(
            Column("threshold", justify="right"),
            Column("matches", justify="right"),
            *(Column(Text(name), justify="right") for name in each.values),
        )
        for at in _shown_rows(each):
            threshold = each.thresholds[at]
            chosen = threshold == each.chosen
            cells = [f"{threshold:.4g}" + (" *" if chosen else ""), str(each.n_matches[at])]
            cells += [
                number(values[at])
                + (" |" if (found := each.plateaus[name]) and threshold in found else "  ")
                for name, values in each.values.items()
            ]
            table.add_row(*map(Text, cells), style="bold" if chosen else "")
        out.print(table)
        for name in each.plateaus:
            out.print(Text(f"{name}: {_plateau_line(each, name)}"), soft_wrap=True)
        out.print(Text("*: the chosen threshold; |: the plateau"))


def _plateau_line(sweep: Sweep, metric: str) -> str:
    found = sweep.plateaus[metric]
    if found is None:
        return f"no two neighbouring thresholds are within {sweep.tolerance:g} of each other"
    where = "inside" if sweep.chosen in found else "outside"
    return (
        f"between {number(found.least)} and {number(found.greatest)} from threshold "
        f"{found.low:.4g} to {found.high:.4g} (plateau, tolerance {sweep.tolerance:g}); the chosen "
        f"{sweep.chosen:g} is {where}"
    )


def _shown_rows(sweep: Sweep) -> list[int]:
    """Evenly spread rows, the chosen threshold always among them."""
    n = len(sweep.thresholds)
    if n <= _ROWS:
        return list(range(n))
    step = (n - 1) / (_ROWS - 1)
    rows = {round(at * step) for at in range(_ROWS)}
    if sweep.chosen in sweep.thresholds:
        rows.add(sweep.thresholds.index(sweep.chosen))
    return sorted(rows)


def _metrics(sweeps: Sequence[Sweep]) -> list[str]:
    return list(dict.fromkeys(name for each in sweeps for name in each.values))
