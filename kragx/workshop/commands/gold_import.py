"""`kragx gold import`: questions and judgements from spreadsheets."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.workshop.commands.workshop_folder import opened


def import_(
    folder: Annotated[Path, opt.argument(metavar="FOLDER", help="Of the workshop.")],
    file: Annotated[
        Path,
        opt.argument(
            metavar="FILE",
            help="As kragx gold export or kragx gold move (.unsure.jsonl) writes it.",
        ),
    ],
    person: Annotated[
        str | None,
        typer.Option(help="Whose the judgements are that name nobody (default: the file's)."),
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Take the questions and judgements of a file into a workshop: all of them, or none.

    Rows that were changed become new judgements of the same person. Nothing is ever removed.
    """
    from kragx.workshop.exchange import ExportSource, import_file

    with opened(folder) as (workshop, state):
        source = ExportSource(state, workshop.documents, workshop.settings.scale)
        result = import_file(source, file, person)
    show(format, result.describe, result.to_dict)
