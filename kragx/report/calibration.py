"""A calibration as a table: every candidate, the best first."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from kragx.agreement.calibration import Calibration, Estimate

_ROWS = 12


def print_calibration(found: Calibration, out: Console) -> None:
    """Print the best candidates, and what to expect of the choice."""
    out.print(
        Text(
            f"{found.n_pairs} labelled pairs of {found.n_queries} queries, {found.n_matches} of "
            f"them matches; {found.folds} folds by query"
        )
    )
    if found.n_unused:
        out.print(Text(f"labels of pairs that the results lack: {found.n_unused}", style="yellow"))
    for caution in found.cautions:
        out.print(Text(caution, style="yellow"), soft_wrap=True)
    table = Table(
        "match",
        *(
            Column(Text(title), justify="right")
            for title in (
                "threshold",
                f"{found.by} [95 %]",
                "on what it was chosen",
                "precision",
                "recall",
                "behind",
            )
        ),
    )
    for each in found.candidates[:_ROWS]:
        chosen = each is found.chosen
        threshold = each.match.get("threshold")
        table.add_row(
            Text(_name(each.match) + (" <" if chosen else " =" if each.tied else "")),
            "-" if threshold is None else f"{threshold:.4g}",
            _shown(each.agreement),
            _number(each.apparent),
            _number(each.precision),
            _number(each.recall),
            _number(each.behind.value),
            style="bold" if chosen else "",
        )
    out.print(table)
    left = len(found.candidates) - _ROWS
    if left > 0:
        out.print(Text(f"and {left} more behind them (--format json has all)"))
    out.print(Text("<: chosen, the simplest of those that cannot be told from the best (=)"))
    out.print(Text(f"{found.by} to expect of the whole choice: {_shown(found.honest)}"))


def _name(match: dict[str, Any]) -> str:
    parts = [str(match.get("method") or next(iter(match)))]
    for name, value in match.items():
        if name not in ("method", "threshold"):
            parts.append(f"{name} {value}" if name != "measure" else str(value))
    return " ".join(parts) if "method" in match else str(match)


def _shown(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return _number(estimate.value)
    return f"{_number(estimate.value)} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
