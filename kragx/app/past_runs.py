"""The runs of the past in a folder of result folders; what is none is named and left out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kragx.app.folder.sealed import MANIFEST, checked_file
from kragx.app.folder.tables import is_scored
from kragx.comparison.history import History, PastRun
from kragx.data.formats.jsonl import read_object
from kragx.ground.errors import DataError, KragxError, UsageError
from kragx.ground.printing import phrase
from kragx.report.record import UNFINISHED

REPORT = "report.json"

_DEEPEST = 4
"""So many folders within each other are looked into."""


def history(
    results: Path,
    *,
    metrics: Sequence[str] = (),
    since: str | None = None,
) -> History:
    """The history of the runs below a folder.

    Of each run report.json alone is read, once it was found to be what its manifest says; nothing
    that it names is run or read.

    Args:
        results: a folder of folders that `kragx run` has written, at any depth up to four.
        metrics: to look at; none for all of the newest run.
        since: a day (``2026-01-31``), or a time as ISO 8601; of UTC unless it says otherwise.

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
            skipped[name] = phrase("the same run as {name}", name=runs[digest].name)
        else:
            runs[digest] = run
    return History.of(
        runs.values(),
        metrics=metrics,
        since=None if since is None else _time(since),
        skipped=skipped,
    )


def _folders(results: Path) -> Iterator[Path]:
    """Folders that runs have written or begun, and those beside them that hold none."""
    for path, names, _ in os.walk(results):
        folder = Path(path)
        depth = len(folder.relative_to(results).parts)
        names[:] = sorted(name for name in names if name[0] != "." and depth < _DEEPEST)
        if _is_run(folder) or (depth and not names):
            names.clear()
            yield folder


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
