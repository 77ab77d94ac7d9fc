"""`kragx judge store`: look into a judgement store, take judgements out and bring them in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.errors import DataError

if TYPE_CHECKING:
    from kragx.judging import Store

group = opt.group("store", "Statistics, export and import of stored judgements.")

DEFAULT = Path(".kragx/judgements.sqlite")


@group.command(cls=opt.Command)
def stats(store: opt.StoreFile = DEFAULT, format: opt.TableOrJson = "table") -> None:  # noqa: A002
    """Count judgements, failures and tokens by model and rubric; say what served them."""
    from kragx.judging.records import statistics

    with _existing(store) as opened:
        counts = statistics(opened.records())
    show(format, counts.describe, lambda: counts.to_dict()["groups"])


@group.command(cls=opt.Command)
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="FILE.jsonl: every attempt with its question; any other name: TREC qrels.",
            show_default=False,
        ),
    ],
    store: opt.StoreFile = DEFAULT,
    asks: opt.Asks = "relevance",
    model: opt.Model = None,
    rubric: opt.RubricId = None,
) -> None:
    """Write judgements as JSON Lines or as TREC qrels.

    The last three options are of qrels.
    """
    from kragx.data.formats.jsonl import write_records
    from kragx.judging.records import qrels

    with _existing(store) as opened:
        if file.suffix == ".jsonl":
            write_records(opened.records(), file)
            return
        lines = qrels(opened, asks=asks or "relevance", model=model, rubric=rubric)
    file.write_text("".join(lines), encoding="utf-8", newline="\n")


@group.command(cls=opt.Command, name="import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="FILE.jsonl as exported, or TREC qrels (also .gz): human labels, which win over "
            "a judge's grade of the same query and document id.",
            show_default=False,
        ),
    ],
    store: opt.StoreFile = DEFAULT,
) -> None:
    """Add judgements from JSON Lines, or human labels from TREC qrels."""
    from kragx.data import read_dataset
    from kragx.data.formats.jsonl import read_records
    from kragx.judging import Store

    if file.suffix == ".jsonl":
        records: list[Any] = [record for _, record in read_records(file)]
        with Store(store) as opened:
            new, known = opened.add_records(records)
        typer.echo(f"{new} new judgements, {known} known already")
        return
    labels = [
        (query.id, gold.id or "", _grade(gold.grade, query.id))
        for query in read_dataset(file, "qrels")
        for gold in query.gold
    ]
    with Store(store) as opened:
        count = opened.add_labels(labels, origin=file.name)
    typer.echo(f"{count} human labels; they win over a judge for the same query and document id")


def _grade(grade: float, query_id: str) -> int:
    if grade != int(grade):
        raise DataError(f"query {query_id!r}: the label {grade:g} is no whole number")
    return int(grade)


def _existing(path: Path) -> Store:
    from kragx.judging import Store

    if not path.exists():
        raise DataError(f"{path}: there is no judgement store; name one with --store")
    return Store(path)
