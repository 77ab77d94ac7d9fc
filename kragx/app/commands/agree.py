"""`kragx agree`: how far are a judge's labels from people's?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.errors import UsageError

if TYPE_CHECKING:
    from kragx.data import Run


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
    confidence: opt.Confidence = 0.95,
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say how far a judge's labels are from people's."""
    from kragx import agreement

    systems = read_systems(runs, more)
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
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    show(format, result.describe, result.to_dict)


def read_systems(runs: Sequence[Path] | None, more: Sequence[Path] | None) -> list[Run]:
    """The runs that --runs names, and those that stand behind it without an option of their own."""
    from kragx.data import read_runs

    if more and not runs:
        raise UsageError(f"{more[0]}: a third file; name systems with --runs")
    return read_runs([*(runs or ()), *(more or ())])
