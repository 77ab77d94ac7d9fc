"""`kragx agree` and `judge corrected`: a judge's labels, and people's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kragx import agreement
from kragx.app.commands import options as opt
from kragx.app.commands.output import show, written
from kragx.data import Run, read_runs
from kragx.data.source import kind_of_file
from kragx.ground.errors import UsageError


def agree(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    scale: opt.ScaleOfLabels = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="What systems are ranked by.")
    ] = "ndcg@10",
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    before: Annotated[
        str | None, typer.Option(help="The judge's labels before a change, to compare with.")
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say how far a judge's labels are from people's."""
    result = agreement.agree(
        human,
        judge,
        runs=_systems(runs, more),
        scale=scale,
        metric=metric,
        asks=asks,
        model=model,
        rubric=rubric,
        examples=examples,
        before=before,
    )
    show(format, result.describe, result.to_dict)


def corrected(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    metric: opt.Metrics = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="Gold or results file with weight and inclusion (default: the first results file)."
        ),
    ] = None,
    scale: opt.ScaleOfLabels = None,
    least: Annotated[int, typer.Option(help="Fewer labelled queries than this are refused.")] = 20,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    expected: Annotated[
        bool,
        typer.Option(
            "--expected",
            help="Of a store: the grades that probabilities expect, and the mean of a panel.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write a page of it, .html.")
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Correct a judge's means by people's labels of some queries."""
    if out is not None and out.suffix != ".html":
        raise UsageError("--out: {out} must end with .html", out=out)
    files = [*(runs or ()), *(more or ())]
    # Before they are read: standard input can be looked at once more, not read twice.
    questions = questions or next((file for file in files if kind_of_file(file) != "run"), None)
    result = agreement.correct(
        human,
        judge,
        _systems(runs, more),
        questions=questions,
        metrics=metric or ["ndcg@10"],
        scale=scale,
        least=least,
        asks=asks,
        model=model,
        rubric=rubric,
        examples=examples,
        expected=expected,
    )
    show(format, result.describe, result.to_dict)
    if out is not None:
        from kragx.report.html_page.page import write_result_html

        write_result_html(result, out)
        written([out])


def _systems(runs: Sequence[Path] | None, further: Sequence[Path] | None) -> list[Run]:
    """The runs that --runs names, and those that stand behind it without an option of their own."""
    if further and not runs:
        raise UsageError("{further}: a third file; name systems with --runs", further=further[0])
    return read_runs([*(runs or ()), *(further or ())])
