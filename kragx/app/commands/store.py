"""Statistics, export and import of stored judgements."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.agreement.labels import Labels, read_scale
from kragx.app.commands import options as opt
from kragx.app.commands.command import Commands, group
from kragx.app.commands.output import show
from kragx.data import read_dataset
from kragx.data.formats.jsonl import read_records, write_records
from kragx.ground.errors import DataError, inside
from kragx.ground.printing import Line, message, show as show_parts
from kragx.judging import DEFAULT_STORE, Store
from kragx.judging.store import exported
from kragx.judging.store.qrels import qrels, statistics
from kragx.report.csv_files import write_text

store: Commands = group("store", __doc__)


@store.command()
def stats(store: opt.StoreAddress = str(DEFAULT_STORE), format: opt.TableOrJson = "table") -> None:  # noqa: A002
    """Count judgements and tokens by model, rubric and server."""
    with Store(store, make=False) as opened:
        counts = statistics(opened.records())
    show(format, counts.describe, lambda: counts.to_dict()["groups"])


@store.command()
def export(
    out: Annotated[
        Path,
        opt.argument(
            metavar="FILE",
            help="FILE.jsonl: every attempt with its question; any other name: TREC qrels.",
        ),
    ],
    store: opt.StoreAddress = str(DEFAULT_STORE),
    asks: opt.Asks = "relevance",
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
) -> None:
    """Write judgements as JSON Lines or as TREC qrels.

    The last four options are of qrels.
    """
    with Store(store, make=False) as opened:
        if out.suffix == ".jsonl":
            write_records(opened.records(), out)
            return
        lines = qrels(opened, asks=asks, model=model, rubric=rubric, examples=examples)
    write_text(out, "".join(lines))


@store.command(name="import")
def import_(
    file: Annotated[
        Path,
        opt.argument(
            metavar="FILE",
            help="FILE.jsonl as exported, or TREC qrels (also .gz): human labels, which win over "
            "a judge's grade of the same query and document id.",
        ),
    ],
    scale: Annotated[str, typer.Option(help="Of qrels: the grades there are.")] = "0-3",
    store: opt.StoreAddress = str(DEFAULT_STORE),
) -> None:
    """Add judgements from JSON Lines, or human labels from TREC qrels."""
    if file.suffix == ".jsonl":
        records = [record for _, record in read_records(file)]
        with inside(path=str(file)):
            attempts = exported(records)
        with Store(store) as opened:
            new, n_present = opened.add_records(attempts)
        show_parts(
            [Line(message("{n} new judgements, {known} known already", n=new, known=n_present))]
        )
        return
    grades = read_scale(scale, Labels({}))
    labels = []
    for query in read_dataset(file, "qrels"):
        for gold in query.gold:
            if gold.grade not in grades:
                raise DataError(
                    "query {id!r}, document {id_2!r}: {grade:g} is no grade from {grades}",
                    path=str(file),
                    remedy="mend it, or name the scale, for example --scale 0-5",
                    id=query.id,
                    id_2=gold.id,
                    grade=gold.grade,
                    grades=grades,
                )
            labels.append((query.id, gold.id or "", int(gold.grade)))
    with Store(store) as opened:
        count = opened.add_labels(labels, origin=file.name)
    text = message(
        "{n} human labels; they win over a judge for the same query and document id", n=count
    )
    show_parts([Line(text)])
