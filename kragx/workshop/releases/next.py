"""What the next release would be: its number, its gold set, and what changed since the last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kragx.data import GoldDataset
from kragx.data.gold_diff import GoldDiff, diff_gold
from kragx.data.reading import read_dataset
from kragx.ground.printing import message
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.conflicts import Alpha, agreement
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.releases.making import REASONS, Ready, Share, ready, shares
from kragx.workshop.state.state import State

_FILE = re.compile(r"gold_v([1-9][0-9]{0,8})\.jsonl")


@dataclass(frozen=True)
class Lack:
    """Something that a release lacks.

    Attributes:
        what: why questions are left out (`REASONS`); "moved" gold of those that are in; or
            "missing", a file.
        n: how many.
        name: of the file.
    """

    what: str
    n: int = 0
    name: str = ""

    @property
    def text(self) -> str:
        """It in a sentence."""
        if self.what == "moved":
            return message(
                "gold texts without a place since kragx gold move, which count as not found: {n}",
                n=self.n,
            )
        if self.what == "missing":
            return message(
                "{file} is not in this folder, so nothing is held against it", file=self.name
            )
        why = next(why for reason, why in REASONS.items() if reason == self.what)
        return message("questions left out: {n}, {why}", n=self.n, why=why)


@dataclass(frozen=True)
class Next:
    """What the next release would be.

    Attributes:
        version: its number.
        dataset: its gold set; None where no question is ready.
        content: what is ready, and what is not.
        previous: the version before it, of those whose files are in the folder.
        diff: what changed since.
        missing: the file of a later release that is not in the folder.
        is_same: whether nothing has changed since the last release.
        shares: who judged how much.
        alpha: how far people agree.
        top: the highest grade of the scale.
    """

    version: int
    dataset: GoldDataset | None
    content: Ready
    previous: str | None
    diff: GoldDiff | None
    missing: str | None
    is_same: bool
    shares: tuple[Share, ...]
    alpha: Alpha
    top: int

    @property
    def n_questions(self) -> int:
        """How many questions are ready."""
        return len(self.content.queries)

    @property
    def n_gold(self) -> int:
        """How many gold items above grade 0 they have."""
        return sum(gold.grade > 0 for query in self.content.queries for gold in query.gold)

    @property
    def is_ready(self) -> bool:
        """Whether it can be released.

        Questions without an answer need no judgement, and are no gold set while the others are left
        out: a retriever that finds nothing would be right everywhere.
        """
        return bool(self.n_gold or (self.n_questions and not self.content.left_out))

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it lacks, a sentence each."""
        return tuple(lack.text for lack in self.lacking)

    @property
    def lacking(self) -> Iterator[Lack]:
        """What it lacks."""
        counts = Counter(question.reason for question in self.content.left_out)
        yield from (Lack(why, number) for why, number in counts.items())
        if self.content.n_moved:
            yield Lack("moved", self.content.n_moved)
        if self.missing is not None:
            yield Lack("missing", name=self.missing)


def next_release(workshop: Workshop, state: State, copies: Copies) -> Next:
    """What a release would hold now.

    Args:
        workshop: its folder.
        state: what its database holds; its lock is held.
        copies: of its corpus.

    Raises:
        DataError: a release that is there was changed.
    """
    settings, folder = workshop.settings, workshop.folder
    top = max(settings.scale)
    content = ready(state, workshop.documents, copies, top)
    rows = {row.version: row for row in state.releases}
    files = dict(_files(folder))
    version = max([0, *rows, *files]) + 1
    last = rows.get(max(rows, default=0))
    dataset = (
        GoldDataset(
            content.queries, settings.name, version=f"v{version}", forbidden=settings.forbidden
        )
        if content.queries
        else None
    )
    unwritten = last if last is not None and last.version not in files else None
    if unwritten and dataset and unwritten.hash == dataset.content_hash:
        version = unwritten.version  # its writer was killed, or wrote it into another folder
        dataset, unwritten = replace(dataset, version=f"v{version}"), None
    # Of the files, not of the database: what is compared must be there to be read.
    before = max((number for number in files if number < version), default=None)
    previous = None if before is None else read_dataset(files[before])
    return Next(
        version=version,
        dataset=dataset,
        content=content,
        previous=None if before is None else f"v{before}",
        diff=None if previous is None or dataset is None else diff_gold(previous, dataset),
        missing=None if unwritten is None else unwritten.file,
        is_same=(
            previous is not None
            and dataset is not None
            and previous.content_hash == dataset.content_hash
        ),
        shares=tuple(shares(state)),
        alpha=agreement(state, top),
        top=top,
    )


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    """The releases that are in a folder."""
    for path in sorted(folder.iterdir()):
        if match := _FILE.fullmatch(path.name):
            yield int(match[1]), path
