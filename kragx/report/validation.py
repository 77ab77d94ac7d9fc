"""What `kragx gold validate` prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kragx.data.validation import SLICES, Validation


def print_validation(found: Validation, out: Console) -> None:
    """Print every problem on a line of its own, then what the gold set is made of."""
    for problem in found.problems:
        style = "red" if problem.level == "error" else "yellow"
        out.print(Text(f"{problem.level}: {problem}", style=style), soft_wrap=True)
    summary = found.summary
    out.print(
        Text(
            f"{found.name}: {summary['n_queries']} queries ({summary['n_unanswerable']} marked "
            f"unanswerable), {summary['n_gold']} gold items, format {found.format}"
        )
    )
    if found.content_hash is not None:
        out.print(Text(f"content hash: {found.content_hash}"))
    table = Table("by", "value", "count", "share", "target")
    for grade, count in summary["grades"].items():
        table.add_row("grade", grade, str(count), _share(count, summary["n_gold"]), "")
    for name in SLICES:
        targets = found.targets.get(name, {})
        for value in dict.fromkeys([*summary[name], *targets]):
            count = summary[name].get(value, 0)
            target = targets.get(value, {}).get("target")
            table.add_row(
                name,
                Text(value),
                str(count),
                _share(count, summary["n_queries"]),
                "" if target is None else f"{target:.0%}",
            )
    out.print(table)
    out.print(Text(f"{found.n_errors} errors, {found.n_warnings} warnings"))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
