"""`kragx gold move`: a gold set on a corpus that was chunked anew, or edited."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.ground.errors import DataError, UsageError


def move(
    gold: Annotated[Path, opt.argument(metavar="GOLD", help="A gold set in any format.")],
    old: Annotated[
        Path, typer.Option("--from", help="The corpus that its ids are of: file or folder.")
    ],
    new: Annotated[Path, typer.Option("--to", help="The corpus of today: file or folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The moved gold set, a new file (.jsonl).")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="End with 3 for anything that is unsure or lost.")
    ] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say of every gold item where it is in another corpus, and write the gold set that says so.

    What is left to a person goes to a second file beside it (gold.unsure.jsonl), if anything is.
    Ends with 3 where a question has no relevant gold left whose place is known.
    """
    from kragx.workshop.moving import move, undecided_file

    if out.suffix != ".jsonl":
        raise UsageError(
            "{out} is not called .jsonl, which is what is written", field="--out", out=out
        )
    # Both are checked before two corpora are read and laid side by side, which takes its time.
    for path in (out, undecided_file(out)):
        if path.exists():
            raise UsageError(
                "{place} exists, and somebody may have gone over it",
                field="--out",
                remedy="name another file",
                place=path,
            )
    result = move(str(gold), str(old), str(new))
    show(format, result.describe, result.to_dict)
    paths = result.write(out)
    if not result.open:  # nothing is left to anybody
        paths[1].unlink()
    written(paths if result.open else paths[:1])
    if result.bare or (strict and result.open):
        raise typer.Exit(DataError.exit_code)
