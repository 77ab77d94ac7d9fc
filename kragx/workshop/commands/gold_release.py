"""`kragx gold release`: the next version of a workshop's gold set."""

from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.workshop.commands.workshop_folder import opened


def release(
    folder: opt.WorkshopFolder,
    note: Annotated[str, typer.Option(help="What this version is for; goes into its notes.")] = "",
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Write what is ready as a gold file that never changes.

    With it come notes for people (.md) and its name, version and hash (.release.json). What is not
    ready is left out and named; where nothing has changed, nothing is written.
    """
    from kragx.workshop.pairs.duplicates import Copies
    from kragx.workshop.releases.release import release as write

    with opened(folder) as (workshop, state):
        outcome = write(
            workshop,
            state,
            Copies(workshop.documents),
            person=state.owner().uid,
            note=note,
        )
    show(format, outcome.describe, outcome.to_dict)
