"""`kragx compare`, and how every command shows a comparison, its gates and their exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kragx.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kragx.app.run_report import RunReport
    from kragx.comparison import GateResult

Summary = Annotated[
    Path | None,
    typer.Option(help="Write gates, means and changes as Markdown, for a CI job's page."),
]
Earlier = Annotated[
    Path | None,
    typer.Option(help="A result folder to compare with; wins over the config's."),
]
Anyway = Annotated[
    bool,
    typer.Option("--anyway", help="Compare what cannot be compared, and say so."),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the command."""
    app.command()(compare)


def compare(
    old: Annotated[
        Path,
        typer.Argument(
            metavar="OLD", help="A folder that kragx run has written.", show_default=False
        ),
    ],
    new: Annotated[
        Path | None,
        typer.Argument(
            metavar="[NEW]",
            help="A later one; without it two retrievers of OLD are compared.",
            show_default=False,
        ),
    ] = None,
    retriever: Annotated[
        list[str] | None,
        typer.Option(help="Which; two of them: that of OLD, then the one set against it."),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            help="A condition on NEW, besides its config's: 'recall@3: no worse than earlier'."
        ),
    ] = None,
    slice_by: Annotated[
        list[str] | None,
        typer.Option("--slice", help="A field to compare within (default: those of NEW's config)."),
    ] = None,
    anyway: Anyway = False,
    summary: Summary = None,
    format: Annotated[str, typer.Option(help="table, json or markdown.")] = "table",  # noqa: A002
) -> None:
    """Say what got better and what got worse.

    By metric and by query, between two result folders or two retrievers of one. Ends with 1 if a
    gate fails.
    """
    from kragx.app.compare_folders import compare_folders
    from kragx.data.formats.jsonl import to_json
    from kragx.report.comparison import print_change, print_gates
    from kragx.report.files import write_text
    from kragx.report.markdown import changes_markdown, summary_markdown
    from kragx.report.text import console

    check_format(format, ("table", "json", "markdown"))
    found = compare_folders(
        old,
        new,
        retrievers=retriever or (),
        gates=gate or (),
        slices=slice_by,
        anyway=anyway,
    )
    match format:
        case "json":
            typer.echo(to_json(found.to_dict(), indent=2))
        case "markdown":
            typer.echo(changes_markdown(found.changes, found.gates), nl=False)
        case _:
            out = console()
            several = len({each.comparison.match for each in found.changes}) > 1
            for each in found.changes:
                print_change(each, out, matchers=several)
            print_gates(found.gates, out)
    if summary is not None:
        write_text(summary, summary_markdown((), (), found.changes, found.gates))
    end(found.gates)


def show(report: RunReport) -> None:
    """Print all that a run found, as tables."""
    from itertools import groupby

    from kragx.report.comparison import (
        print_change,
        print_comparison,
        print_gates,
        print_recommendations,
    )
    from kragx.report.text import console, print_heading, print_remarks

    out = console()
    groups = [list(group) for _, group in groupby(report.evaluations, lambda each: each.match_name)]
    for comparison, advice, same in zip(report.comparisons, report.recommendations, groups):
        print_heading(same[0], out)
        print_comparison(comparison, out, same)
        print_remarks(same, out)
        print_recommendations(advice, out)
    for change in report.changes:
        print_change(change, out, matchers=len(groups) > 1)
    print_gates(report.gates, out)


def write_summary(report: RunReport, path: Path | None) -> None:
    """Write the summary of a run, if a file is named for it."""
    if path is None:
        return
    from kragx.report.files import write_text
    from kragx.report.markdown import summary_markdown

    text = summary_markdown(
        report.comparisons, report.recommendations, report.changes, report.gates
    )
    write_text(path, text)


def end(gates: Sequence[GateResult]) -> None:
    """Leave with 1 if a gate failed."""
    if any(not each.passed for each in gates):
        raise typer.Exit(1)


def check_format(given: str, valid: Sequence[str]) -> None:
    """Refuse an unknown --format."""
    if given not in valid:
        from kragx.errors import nearest

        raise UsageError(f"--format: {given!r} is unknown; {nearest(given, valid)}")
