"""`kragx history`: the runs of a folder over time."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.app.past_runs import history as past


def history(
    results: Annotated[
        Path,
        opt.argument(
            metavar="RESULTS", help="A folder of folders that kragx run has written, at any depth."
        ),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", help="Which; repeat for more (default: the newest run's first)."
        ),
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say what became of each retriever's numbers, run by run.

    With the commit, and the settings that changed. What cannot be compared is not joined.
    """
    outcome = past(results, metrics=metric or ())
    metrics = outcome.metrics if metric else outcome.metrics[:1]
    show(format, lambda: outcome.describe(metrics), outcome.to_dict)
