"""The runs of the past in a folder of result folders; what is none is named and left out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kragx.app.folder.sealed import MANIFEST, checked_file
from kragx.app.folder.tables import is_scored
from kragx.comparison.history import History, PastRun
from kragx.data.formats.jsonl import read_object
from kragx.errors import DataError, KragxError, UsageError
from kragx.report.record import UNFINISHED

REPORT = "report.json"

_DEEPEST = 4
"""So many folders within each other are looked into."""


def history(
    results: Path,
    *,
    metrics: Sequence[str] = (),
    since: str | None = None,
    every_metric: bool = False,
) -> History:
    """The history of the runs below a folder.

    Of each run report.json alone is read, once it was found to be what its manifest says; nothing
    that it names is run or read.

    Args:
        results: a folder of folders that `kragx run` has written, at any depth up to four.
        metrics: to look at; none for the newest run's first.
        since: a day (``2026-01-31``), or a time as ISO 8601; of UTC unless it says otherwise.
        every_metric: look at all metrics of the newest run, if none is named.

    Raises:
        DataError: there is no such folder.
        UsageError: it has no run; no run has a metric; `since` is no day.
    """
    if not results.is_dir():
        raise DataError("no such folder", path=str(results))
    runs: dict[str, PastRun] = {}
    skipped: dict[str, str] = {}
    for folder in _folders(results):
        name = folder.relative_to(results).as_posix() if folder != results else folder.name
        try:
            digest, run = _read(folder, name)
        except (KragxError, OSError) as error:
            problem = error.problem if isinstance(error, KragxError) else str(error)
            skipped[name] = problem.removeprefix(f"{folder}: ")
            continue
        if digest in runs:
            run = replace(runs[digest], copies=(*runs[digest].copies, name))
        runs[digest] = run
    return History.of(
        runs.values(),
        metrics=metrics,
        since=None if since is None else _time(since),
        skipped=skipped,
        every_metric=every_metric,
    )


def _folders(results: Path) -> Iterator[Path]:
    """Folders that runs have written or begun, and of the others the outermost without any."""
    if _is_run(results):
        yield results
        return
    for folder in _inside(results):
        below = list(_runs(folder, _DEEPEST))
        yield from below or [folder]


def _runs(folder: Path, depth: int) -> Iterator[Path]:
    if _is_run(folder):
        yield folder
    elif depth > 1:
        for inner in _inside(folder):
            yield from _runs(inner, depth - 1)


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name for entry in entries if entry.is_dir() and entry.name[0] != "."
            )
    except OSError:
        return []
    return [folder / name for name in names]


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (MANIFEST, REPORT, UNFINISHED))


def _read(folder: Path, name: str) -> tuple[str, PastRun]:
    """What tells a run from all others, and the run.

    Raises:
        DataError: it is none, is not whole, or is broken.
    """
    if is_scored(folder):
        raise DataError("kragx score --out has written it, which does not say when")
    if not _is_run(folder):
        raise DataError(f"no result folder, as it has no {MANIFEST}")
    path = checked_file(folder, REPORT)
    if path is None:
        raise DataError("a run is not finished here, or was cut short")
    report = read_object(path, "report")
    text = json.dumps(report, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), PastRun.read(
        name, report
    )


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"--since: {text!r} is no day", remedy="write it as 2026-01-31, or 2026-01-31T09:00"
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
