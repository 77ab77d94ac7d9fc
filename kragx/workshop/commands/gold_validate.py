"""`kragx gold validate`: every problem of a gold set."""

from pathlib import Path
from typing import Annotated, Any

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.data import validation
from kragx.ground.errors import DataError


def validate(
    file: Annotated[
        str,
        opt.argument(
            metavar="FILE",
            help="A gold set in any format, or a config (.yaml), whose gold set, corpus and "
            "targets are taken.",
        ),
    ],
    corpus: Annotated[
        Path | None,
        typer.Option(help="File or folder (id, text) from which all gold must come."),
    ] = None,
    gold_format: opt.InputFormat = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    encoding: opt.Encoding = None,
    strict: Annotated[bool, typer.Option("--strict", help="End with 3 for warnings too.")] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Report every problem of a gold set, and what it holds.

    Errors, which every command refuses, end it with 3.
    """
    options: dict[str, Any] = {}
    if file.endswith((".yaml", ".yml")):
        from kragx.app.config import load_dataset_config  # takes longer than all the rest

        dataset = load_dataset_config(Path(file))
        options = {**dataset.how, "targets": dataset.targets}
        file, corpus = str(dataset.path), corpus or dataset.corpus
    options |= opt.given_options(
        corpus=corpus and str(corpus),
        format=gold_format,
        columns=column and opt.columns(column),
        encoding=encoding,
        role=opt.said(roles, "gold"),
    )
    result = validation.validate(file, **options)
    show(format, result.describe, result.to_dict)
    if result.n_errors or (strict and result.n_warnings):
        raise typer.Exit(DataError.exit_code)
