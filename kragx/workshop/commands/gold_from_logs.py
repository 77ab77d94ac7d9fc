"""`kragx gold from-logs`: a gold set's questions from what people asked."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data.formats.format import question_record
from kragx.data.formats.jsonl import write_records
from kragx.ground.errors import UsageError
from kragx.workshop.commands.workshop import check_new

_DRAWING, _MASKING = "Which are drawn", "What is masked"


def from_logs(
    logs: Annotated[
        list[Path],
        opt.argument(
            metavar="LOGS",
            help="JSON Lines, CSV, Excel, Parquet, traces of OpenTelemetry (OTLP as JSON), exports "
            "of Langfuse and LangSmith.",
        ),
    ],
    out: opt.NewQuestions = None,
    workshop: Annotated[
        Path | None, typer.Option(help="Or a folder: a workshop on what was retrieved for them.")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            help="Of the workshop: its documents (default: those whose texts are logged)."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="Where a field stands: question=input.text; also time, retrieved, answer, thumbs, "
            "click, session, history; session= for none. Repeat.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="A field that rules or slices read: kept, and never folded over. Repeat."
        ),
    ] = None,
    encoding: opt.Encoding = None,
    n: Annotated[
        int | None,
        typer.Option("-n", min=1, rich_help_panel=_DRAWING, help="How many by lot (default: all)."),
    ] = None,
    random: Annotated[
        float,
        typer.Option(
            rich_help_panel=_DRAWING,
            help="The share of the draw that goes by how often questions were asked alone.",
        ),
    ] = 0.5,
    by: Annotated[
        str | None,
        typer.Option(
            "--slice", rich_help_panel=_DRAWING, help="A field: each value gets its share."
        ),
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            rich_help_panel=_DRAWING,
            help="Results of a retriever on these questions: more where lists differ. Repeat.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_DRAWING, help="A judgement store: more where the judge is unsure."
        ),
    ] = None,
    seed: opt.Seed = 0,
    masks: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_MASKING,
            help="Patterns of your own; written with kragx's where there is no such file.",
        ),
    ] = None,
    mask: Annotated[
        bool,
        typer.Option(
            "--mask/--no-masks",
            rich_help_panel=_MASKING,
            help="E-mail addresses, phone, resident and card numbers are masked.",
        ),
    ] = True,
    gold_from: Annotated[
        Literal["clicks", "thumbs"] | None,
        typer.Option(help="Make gold of these, biased as they are; of no other questions."),
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Make questions of what people asked, each with how often.

    Duplicates are folded, never what differs in a number, a date, a negation or the history. Gold
    stays empty: people say what answers them. Without --out and --workshop all is counted.
    """
    from kragx.workshop.folder.starting import check_free
    from kragx.workshop.logs import Masker, gold_from_logs, open_workshop, read_masks

    if out is not None and workshop is not None:
        raise UsageError("--out and --workshop: name one of them")
    if corpus is not None and workshop is None:
        raise UsageError("--corpus: belongs to --workshop")
    if masks is not None and not mask:
        raise UsageError("--masks and --no-masks: name one of them")
    check_new("--out", out)  # before logs are read, which may take minutes
    if workshop is not None:
        check_free(workshop)
    for name, given in {"--results": results, "--store": store, "--slice": by}.items():
        if given and n is None:
            raise UsageError("{name}: decides what is drawn; say how many with -n", name=name)
    made = gold_from_logs(
        [*logs],
        read_masks(masks) if mask else Masker(()),
        columns=opt.columns(column or [], may_be_none=True),
        encoding=encoding,
        keep=keep or (),
        by=by,
        n=n,
        random_share=random,
        results=results or (),
        store=store,
        gold_from=gold_from,
        seed=seed,
    )
    if out is not None:
        write_records((question_record(*question) for question in made.questions()), out)
    elif workshop is None:
        # What is masked in answers and passages is known once they were read.
        for _ in made.questions():
            pass
    started = None if workshop is None else open_workshop(made, workshop, corpus=corpus)
    show(format, made.describe, made.to_dict)
    if out is not None:
        written([out])
    if started is not None and format == "table":  # JSON is one value, that of the questions
        show(format, started.describe, started.to_dict)
