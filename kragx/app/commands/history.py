"""`kragx history`: the runs of a folder over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.app.result_folder.atomic_folder import MANIFEST, check_files, finished_manifest
from kragx.comparison.history import History, PastRun
from kragx.data.formats.jsonl import read_object
from kragx.ground.errors import DataError, KragxError
from kragx.report.record import UNFINISHED

REPORT = "report.json"


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
    outcome = past_runs(results, metrics=metric or ())
    metrics = outcome.metrics if metric else outcome.metrics[:1]
    show(format, lambda: outcome.describe(metrics), outcome.to_dict)


def past_runs(results: Path, *, metrics: Sequence[str] = ()) -> History:
    """The history of the runs below a folder.

    Of each run report.json alone is read, once it was found to be what its manifest says; nothing
    that it names is run or read.

    Args:
        results: a folder of folders that `kragx run` has written, at any depth.
        metrics: to look at; none for all of the newest run.

    Raises:
        DataError: there is no such folder.
        UsageError: it has no run, or no run has a metric.
    """
    if not results.is_dir():
        raise DataError("no such folder", path=str(results))
    runs: list[PastRun] = []
    skipped: dict[str, str] = {}
    for path in sorted(results.rglob(MANIFEST)):
        folder = path.parent
        if folder.parent.name.endswith(UNFINISHED):
            continue
        name = folder.relative_to(results).as_posix() if folder != results else folder.name
        try:
            check_files(folder, finished_manifest(folder), {REPORT})
            runs.append(PastRun.read(name, read_object(folder / REPORT, "report")))
        except (KragxError, OSError) as error:
            problem = error.problem if isinstance(error, KragxError) else str(error)
            skipped[name] = problem.removeprefix(f"{folder}: ")
    return History.of(runs, metrics=metrics, skipped=skipped)
