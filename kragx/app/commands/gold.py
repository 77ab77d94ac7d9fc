"""`kragx gold validate`: what is wrong with a gold set, and what it holds."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.errors import DataError, UsageError

group = opt.group("gold", "Gold sets: validate.")


@group.callback()
def _group() -> None:
    """Keep `validate` a name, although it is the only command yet."""


@group.command(cls=opt.Command)
def validate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A gold set in any format, or a config (.yaml), whose gold set, corpus and "
            "targets are taken.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        Path | None,
        typer.Option(help="Corpus file from which all gold must come (JSON Lines of id, text)."),
    ] = None,
    gold_format: Annotated[
        str | None, typer.Option("--input-format", help="Of the gold set (default: recognised).")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Of tables: field=column; repeat, for example query_id=No."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of CSV (default: utf-8, then cp949).")
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Report every problem of a gold set, and what it holds."""
    from kragx.data import validation

    path, options = file, {}
    if file.suffix in (".yaml", ".yml"):
        from kragx.app.config import load

        dataset = load(file, needs_env=False).dataset
        path = dataset.path
        options = dataset.model_dump(include={"format", "columns", "encoding", "targets"})
        corpus = corpus or dataset.corpus
    options["corpus"] = None if corpus is None else str(corpus)
    named = {"format": gold_format, "columns": _columns(column), "encoding": encoding}
    options |= {name: value for name, value in named.items() if value}
    result = validation.validate(str(path), **options)
    show(format, result.describe, result.to_dict)
    if result.n_errors:
        raise typer.Exit(DataError.exit_code)


def _columns(options: list[str] | None) -> dict[str, str] | None:
    columns = {}
    for option in options or ():
        field, _, column = option.partition("=")
        if not (field and column):
            raise UsageError(f"--column {option}: write field=column")
        columns[field] = column
    return columns or None
