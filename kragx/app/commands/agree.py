"""`kragx agree`, `judge calibrate`, `corrected` and `fill`: a judge's labels, and people's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kragx import agreement
from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.data import Run, read_runs
from kragx.data.formats.jsonl import write_records
from kragx.errors import UsageError
from kragx.report.csv_files import csv_text, write_text


def agree(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    scale: opt.ScaleOfLabels = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="What systems are ranked by.")
    ] = "ndcg@10",
    top: Annotated[
        int | None, typer.Option(help="How many systems are the top (default: half, at most 10).")
    ] = None,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    before: Annotated[
        str | None, typer.Option(help="The judge's labels before a change, to compare with.")
    ] = None,
    held_out: Annotated[
        bool | None,
        typer.Option(
            "--held-out/--all-queries",
            help="Count only the half of the queries whose labels are never examples (default: "
            "where the judge's grades are with examples).",
        ),
    ] = None,
    confidence: opt.Confidence = 0.95,
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say how far a judge's labels are from people's."""
    systems = _systems(runs, more)
    if top is not None and not systems:
        raise UsageError("--top: there are no systems to rank; name their runs with --runs")
    result = agreement.agree(
        human,
        judge,
        runs=systems,
        scale=scale,
        metric=metric,
        top=top,
        asks=asks,
        model=model,
        rubric=rubric,
        examples=examples,
        before=before,
        held_out=held_out,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    show(format, result.describe, result.to_dict)


def calibrate(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    metric: opt.Metrics = None,
    relevant: Annotated[
        int | None,
        typer.Option(
            help="The least label that is relevant (default: 2 above the lowest; with a "
            "rubric's file its cut)."
        ),
    ] = None,
    scale: opt.ScaleOfLabels = None,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    confidence: opt.Confidence = 0.95,
    seed: opt.Seed = 0,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say how probable relevance is at each of a judge's grades.

    And from which grade on its word should count; with --runs, metrics by these probabilities.
    """
    systems = _systems(runs, more)
    if metric and not systems:
        raise UsageError("--metric: there are no systems to score; name their runs with --runs")
    result = agreement.calibrate_grades(
        human,
        judge,
        systems,
        metrics=metric or (),
        relevant=relevant,
        scale=scale,
        confidence=confidence,
        seed=seed,
        asks=asks,
        model=model,
        rubric=rubric,
        examples=examples,
    )
    show(format, result.describe, result.to_dict)


def corrected(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    metric: opt.Metrics = None,
    scale: opt.ScaleOfLabels = None,
    least: Annotated[int, typer.Option(help="Fewer labelled queries than this are refused.")] = 20,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    confidence: opt.Confidence = 0.95,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Correct a judge's means by people's labels of some queries."""
    result = agreement.correct(
        human,
        judge,
        _systems(runs, more),
        metrics=metric or ["ndcg@10"],
        scale=scale,
        least=least,
        confidence=confidence,
        asks=asks,
        model=model,
        rubric=rubric,
        examples=examples,
    )
    show(format, result.describe, result.to_dict)


def fill(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    metric: opt.Metrics = None,
    scale: opt.ScaleOfLabels = None,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write every label and whose it is: .jsonl, .csv, or qrels."
        ),
    ] = None,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also each label and whose it is.")
    ] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Score by people's labels, and the judge's in the holes."""
    filled = agreement.fill(
        human,
        judge,
        _systems(runs, more),
        metrics=metric or ["ndcg@10"],
        scale=scale,
        asks=asks,
        model=model,
        rubric=rubric,
        examples=examples,
    )
    if out is not None:
        _write_labels(filled, out)
    show(
        format,
        lambda: filled.describe(labels=per_label),
        lambda: filled.to_dict(labels=per_label),
    )


def _systems(runs: Sequence[Path] | None, more: Sequence[Path] | None) -> list[Run]:
    """The runs that --runs names, and those that stand behind it without an option of their own."""
    if more and not runs:
        raise UsageError(f"{more[0]}: a third file; name systems with --runs")
    return read_runs([*(runs or ()), *(more or ())])


def _write_labels(filled: agreement.Filled, path: Path) -> None:
    rows = list(filled.rows())
    if path.suffix == ".jsonl":
        write_records(rows, path)
    elif path.suffix == ".csv":
        write_text(path, csv_text(rows, list(rows[0])))
    else:
        # The second column, which no reader of qrels looks at, says whose label it is.
        lines = ("{query_id} {source} {document_id} {grade}\n".format(**row) for row in rows)
        write_text(path, "".join(lines))
