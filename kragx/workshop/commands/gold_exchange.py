"""`kragx gold export` and `import`: questions and judgements for spreadsheets and other tools."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.workshop.commands.workshop_folder import opened

Form = Literal["csv", "jsonl", "qrels", "quepid", "labelstudio"]


def export(
    folder: opt.WorkshopFolder,
    out: Annotated[Path, typer.Option(show_default=False, help="The file to write.")],
    form: Annotated[
        Form,
        typer.Option(help="csv is for spreadsheets; what a form cannot hold is said."),
    ] = "csv",
    person: Annotated[
        str | None,
        typer.Option(help="What this person judged alone."),
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Write the questions and judgements of a workshop into a file."""
    from kragx.workshop.exchange.exporting import ExportSource, export_file
    from kragx.workshop.names import the_person

    with opened(folder) as (workshop, state):
        people = state.people.values()
        uid = None if person is None else the_person(person, people, "--person").uid
        source = ExportSource(state, workshop.documents, workshop.settings.scale, uid)
        result = export_file(source, form, out)
    show(format, result.describe, result.to_dict)


def import_(
    folder: opt.WorkshopFolder,
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
    from kragx.workshop.exchange.exporting import ExportSource
    from kragx.workshop.exchange.importing import import_file

    with opened(folder) as (workshop, state):
        source = ExportSource(state, workshop.documents, workshop.settings.scale)
        result = import_file(source, file, person)
    show(format, result.describe, result.to_dict)
