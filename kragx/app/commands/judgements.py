"""`kragx judgements`: look into a judgement store, take judgements out and bring them in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.errors import DataError, UsageError

if TYPE_CHECKING:
    from kragx.judging import Store

judgements = typer.Typer(
    help="Statistics, export and import of stored judgements.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StoreFile = Annotated[Path, typer.Option("--store", help="The judgement store (SQLite).")]
DEFAULT = Path(".kragx/judgements.sqlite")


@judgements.command()
def stats(
    store: StoreFile = DEFAULT,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",  # noqa: A002
) -> None:
    """Count judgements, failures and tokens by model and rubric; say what served them."""
    from kragx.data.formats.jsonl import to_json
    from kragx.judging.statistics import statistics
    from kragx.report.text import console, print_judgements

    if format not in ("table", "json"):
        raise UsageError(f"--format: {format!r} is neither table nor json")
    with _existing(store) as opened:
        found = statistics(opened.records())
    if format == "json":
        typer.echo(to_json(found))
    else:
        print_judgements(found, console())


@judgements.command()
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="FILE.jsonl: every attempt with its question; any other name: TREC qrels.",
            show_default=False,
        ),
    ],
    store: StoreFile = DEFAULT,
    asks: Annotated[
        str, typer.Option(help="Of qrels: relevance, or support (the best gold text's grade).")
    ] = "relevance",
    model: Annotated[str | None, typer.Option(help="Of qrels: only this model's grades.")] = None,
    rubric: Annotated[str | None, typer.Option(help="Of qrels: only this rubric's grades.")] = None,
) -> None:
    """Write judgements as JSON Lines or as TREC qrels."""
    from kragx.data.formats.jsonl import write_records
    from kragx.judging.exchange import qrels

    with _existing(store) as opened:
        if file.suffix == ".jsonl":
            write_records(opened.records(), file)
            return
        lines = qrels(opened, asks=asks, model=model, rubric=rubric)
    file.write_text("".join(lines), encoding="utf-8", newline="\n")


@judgements.command(name="import")
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
    store: StoreFile = DEFAULT,
) -> None:
    """Add judgements from JSON Lines, or human labels from TREC qrels."""
    from kragx.data.formats.jsonl import read_records
    from kragx.data.formats.trec import read_qrels
    from kragx.data.text import Mender
    from kragx.judging import Store

    if file.suffix == ".jsonl":
        records: list[Any] = [record for _, record in read_records(file, Mender())]
        with Store(store) as opened:
            new, known = opened.add_records(records)
        typer.echo(f"{new} new judgements, {known} known already")
        return
    labels = [
        (query.id, gold.id or "", _grade(gold.grade, query.id))
        for query in read_qrels(file)
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
