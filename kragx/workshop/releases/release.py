"""`release`: the next version of a gold set is written, and never changes.

The database gives the number: of two who release at once, one gets the next. Then the files appear,
each whole, the gold file last: without it there is no release. Whoever was killed in between is
taken up by the next call, which writes the same version if nothing has changed since.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kragx.data import GoldDataset
from kragx.data.formats.jsonl import flush, open_text, refused, to_json
from kragx.data.reading import read_dataset
from kragx.data.released import ENDING
from kragx.data.validation import Validation, validate
from kragx.data.writing import write_gold
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import as_markdown, joined, message
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.releases.next import GoldRelease, next_release, notes
from kragx.workshop.state import records
from kragx.workshop.state.state import State

_STALE = 3600
"""Seconds after which nobody is writing any more."""


class NotReadyError(UsageError):
    """There is nothing to release."""

    code = "ready"


def release(
    workshop: Workshop,
    state: State,
    copies: Copies,
    *,
    person: str = "",
    note: str = "",
) -> GoldRelease:
    """Write the next release: gold_vN.jsonl, gold_vN.md and gold_vN.release.json.

    Args:
        workshop: its folder.
        state: what its database holds.
        copies: of its corpus.
        person: the uid of who releases.
        note: goes into the notes.

    Returns:
        The release; or, where nothing has changed, that none was made.

    Raises:
        UsageError: no question is ready, or none but those without an answer while others are left
            out (`NotReadyError`); or the folder cannot be written.
        DataError: an earlier release was changed.
    """
    # Until a number is taken: another release may get it between the look and the row.
    while True:
        with state.lock:
            state.refresh()
            coming = next_release(workshop, state, copies)
        dataset = coming.dataset
        if dataset is None or not coming.is_ready:
            raise NotReadyError(
                "no question is ready but those marked as unanswerable ({n}): {why}"
                if coming.n_questions
                else "no question is ready: {why}",
                field=str(workshop.folder),
                remedy="kragx workshop {folder} opens it for judging",
                n=coming.n_questions,
                why=joined("; ", coming.lacks) or message("there is none"),
                folder=workshop.folder,
            )
        if coming.version is None:
            return coming
        row = records.Release(
            uid=f"release-{coming.number}",
            person=person,
            version=coming.number,
            hash=dataset.content_hash,
            file=coming.file.name,
        )
        state.add([row])
        if any((row.version, row.hash) == (coming.number, coming.hash) for row in state.releases):
            validation = _write(workshop, coming, dataset, note)
            return replace(coming, validation=validation)


def _write(workshop: Workshop, coming: GoldRelease, dataset: GoldDataset, note: str) -> Validation:
    """Write a release in a folder of its own, and then put each file whole where it belongs."""
    path = coming.file
    _tidy(workshop.folder)
    with (
        refused(path, "written"),
        tempfile.TemporaryDirectory(".part", ".release-", workshop.folder) as folder,
    ):
        work = Path(folder)
        write_gold(dataset, work / path.name)
        read = read_dataset(work / path.name)
        if read.content_hash != dataset.content_hash:  # else nobody could ever check it
            raise DataError("what was written does not read back as it was", path=str(path))
        # Not against the corpus, which its texts were taken from.
        report = validate(str(work / path.name), targets=workshop.settings.targets)
        problems = tuple(replace(problem, file=path.name) for problem in report.problems)
        validation = replace(report, file=path.name, problems=problems)
        beside = {
            "file": path.name,
            "name": dataset.name,
            "version": dataset.version,
            "hash": dataset.content_hash,
            "previous": coming.previous,
            "at": records.now(),
            "note": note,
        }
        texts = {
            path.with_suffix(".md"): as_markdown(notes(coming, dataset, validation, note)),
            path.with_name(f"{path.stem}{ENDING}"): to_json(beside, indent=2) + "\n",
        }
        for target, text in texts.items():
            with open_text(work / target.name) as file:
                file.write(text)
        # Of a number there is one content, by the database; a file of other hands may have another.
        if path.exists() and read_dataset(path).content_hash != dataset.content_hash:
            problem = message("is there already, and nothing is written over it")
            raise UsageError(problem, field=str(path))
        for target in (*texts, path):  # the gold file last: with it, it is a release
            flush(work / target.name)
            (work / target.name).chmod(0o444)
            (work / target.name).replace(target)
    return validation


def _tidy(folder: Path) -> None:
    """Remove what writers that were killed have left."""
    for stale in folder.glob(".release-*.part"):
        with suppress(OSError):
            if stale.stat().st_mtime < time.time() - _STALE:
                shutil.rmtree(stale)
