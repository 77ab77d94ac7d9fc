"""`kragx compare`: what got better and what got worse."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import end, show


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
    anyway: opt.Anyway = False,
    summary: opt.Summary = None,
    format: Annotated[  # noqa: A002
        Literal["table", "json", "markdown"], typer.Option(help="How to print.")
    ] = "table",
) -> None:
    """Say what got better and what got worse.

    By metric and by query, between two result folders or two retrievers of one. Ends with 1 if a
    gate fails.
    """
    from kragx.app.compare_folders import compare_folders
    from kragx.report.csv_files import write_text
    from kragx.report.markdown import changes_markdown, summary_markdown

    compared = compare_folders(
        old,
        new,
        retrievers=retriever or (),
        gates=gate or (),
        slices=slice_by,
        anyway=anyway,
    )
    show(
        format,
        compared.describe,
        compared.to_dict,
        markdown=lambda: changes_markdown(compared.changes, compared.gates),
    )
    if summary is not None:
        write_text(summary, summary_markdown((), compared.changes, compared.gates))
    end(compared.gates)
