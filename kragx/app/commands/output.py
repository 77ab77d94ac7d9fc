"""How every command shows what it found: a table, JSON, CSV or Markdown."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import typer

from kragx.data.formats.jsonl import to_json
from kragx.ground import printing
from kragx.ground.errors import RetrieverError
from kragx.ground.printing import message


def show(
    format: str,  # noqa: A002  # the option's name
    describe: Callable[[], Iterable[printing.Part]],
    make_plain: Callable[[], object],
    **texts: Callable[[], str],
) -> None:
    """Print a result as --format says.

    Args:
        format: ``table``, ``json``, or one that `texts` names.
        describe: gives what a person reads.
        make_plain: gives its plain values for JSON.
        texts: give it as CSV, Markdown and the like.
    """
    # Functions and not values: a table of ten thousand rows is not made to print JSON.
    if format == "table":
        printing.show(describe())
    elif format == "json":
        printing.put(f"{to_json(make_plain(), indent=2)}\n")
    else:
        printing.put(texts[format]())


def end(failures: Iterable[str], failed_gates: Sequence[object]) -> None:
    """Say by the exit code what went wrong: who failed comes first, and is named."""
    if names := ", ".join(failures):
        printing.say(message("not comparable, as failed: {names}", names=names))
        raise typer.Exit(RetrieverError.exit_code)
    if failed_gates:
        raise typer.Exit(1)


def written(paths: Iterable[Path]) -> None:
    """Say which files were written."""
    for path in paths:
        printing.say(message("written: {path}", path=path))
