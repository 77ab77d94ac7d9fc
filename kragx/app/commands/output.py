"""How every command shows what it found: a table, JSON, CSV or Markdown, and its exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from kragx.app.run_report import RunReport
    from kragx.comparison import GateResult
    from kragx.printing import Part


def show(
    format: str,  # noqa: A002  # the option's name
    describe: Callable[[], Iterable[Part]],
    plain: Callable[[], object],
    **texts: Callable[[], str],
) -> None:
    """Print a result as --format says.

    Args:
        format: ``table``, ``json``, or one that `texts` names.
        describe: gives what a person reads.
        plain: gives its plain values for JSON.
        texts: give it as CSV, Markdown and the like.
    """
    if format == "table":
        from kragx import printing

        printing.show(describe())
    elif format == "json":
        from kragx.data.formats.jsonl import to_json

        typer.echo(to_json(plain(), indent=2))
    else:
        typer.echo(texts[format](), nl=False)


def one_or_runs(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The plain values of one result, or of several under ``runs``."""
    return results[0] if len(results) == 1 else {"runs": results}


def written(paths: Iterable[Path]) -> None:
    """Say on standard error which files were written."""
    for path in paths:
        typer.echo(f"written: {path}", err=True)


def write_summary(report: RunReport, path: Path | None) -> None:
    """Write the summary of a run, if a file is named for it."""
    if path is None:
        return
    from kragx.report.csv_files import write_text
    from kragx.report.markdown import summary_markdown

    text = summary_markdown(report.comparisons, report.changes, report.gates)
    write_text(path, text)


def end(gates: Sequence[GateResult]) -> None:
    """Leave with 1 if a gate failed."""
    if any(not gate.passed for gate in gates):
        raise typer.Exit(1)
