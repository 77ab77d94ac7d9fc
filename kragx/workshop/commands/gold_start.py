"""`kragx gold start`: the folder of a workshop."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kragx.app.commands import options as opt
from kragx.ground.printing import show


def start(
    folder: Annotated[Path, opt.argument(metavar="FOLDER", help="Where to make it.")],
    corpus: Annotated[
        Path | None, typer.Option(help="File or folder with the documents (id, text).")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A config of kragx run, whose retrievers suggest documents."),
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="Instead: a sample of kragx judge label, whose pairs are to be judged."),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option(help="A gold set in any format, whose grades are taken over.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(help="Questions alone, as kragx gold questions writes them, or a gold set."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Of the gold set (default: the folder's).")
    ] = None,
    language: Annotated[
        Literal["ko", "en"] | None,
        typer.Option(help="Of page and guidelines (default: the corpus's)."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="postgresql://... where a team shares it; '${NAME}' in it is an environment "
            "variable (default: a file in the folder)."
        ),
    ] = None,
    schema: Annotated[
        str | None, typer.Option(help="Of that database, which may hold several workshops.")
    ] = None,
) -> None:
    """Make a workshop, where people make and judge a gold set.

    Nothing of a config is run: its retrievers are asked by kragx workshop.
    """
    from kragx.app.environment import load_env
    from kragx.workshop.folder.starting import start as start_workshop

    load_env(folder)  # it may be there already, with the address of a database
    started = start_workshop(
        folder,
        corpus=corpus,
        config=config,
        sample=sample,
        gold=gold,
        questions=questions,
        name=name,
        language=language,
        database=database,
        schema=schema,
    )
    show(started.describe())
