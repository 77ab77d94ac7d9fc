"""The runs of the past in a folder of result folders; what is none is named and left out."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kragx.app.result_folder.sealed import MANIFEST, check_files, settled
from kragx.app.result_folder.tables import is_scored
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
            report = _report(folder)
            # What tells a run from all others: a copy of it is no other run.
            text = json.dumps(report, sort_keys=True).encode("utf-8", "surrogatepass")
            run = runs.setdefault(hashlib.sha256(text).hexdigest(), PastRun.read(name, report))
            if run.name != name:
                skipped[name] = phrase("the same run as {name}", name=run.name)
        except (KragxError, OSError) as error:
            problem = error.problem if isinstance(error, KragxError) else str(error)
            skipped[name] = problem.removeprefix(f"{folder}: ")
    begin = None if since is None else _time(since)
    return History.of(runs.values(), metrics=metrics, since=begin, skipped=skipped)


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
    names = (MANIFEST, REPORT)
    return folder.name.endswith(UNFINISHED) or any((folder / name).exists() for name in names)


def _report(folder: Path) -> dict[str, Any]:
    """The report of a run; a `DataError` where there is none, it is not whole, or it is broken."""
    if _is_run(folder) and not is_scored(folder):
        manifest = settled(folder)
        check_files(folder, manifest, {REPORT})
        if REPORT in manifest:
            return read_object(folder / REPORT, "report")
    raise DataError(
        "kragx score --out has written it, which does not say when"
        if is_scored(folder)
        else "a run is not finished here, or was cut short"
        if _is_run(folder)
        else f"no result folder, as it has no {MANIFEST}"
    )


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            "--since: {text!r} is no day",
            remedy="write it as 2026-01-31, or 2026-01-31T09:00",
            text=text,
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
