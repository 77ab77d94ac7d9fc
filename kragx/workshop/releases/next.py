"""What the next release would be: its number, its gold set, what changed, and its notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from kragx.data import GoldDataset
from kragx.data.gold_diff import GoldDiff, diff_gold
from kragx.data.reading import read_dataset
from kragx.data.validation import Validation
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import (
    Heading,
    Line,
    Part,
    Result,
    Table,
    counted,
    interval,
    joined,
    message,
    number,
    visible,
    warning,
)
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.pairs.candidates import LEAST_PAIRS, Alpha, agreement
from kragx.workshop.pairs.standing import Copies, gold_grade
from kragx.workshop.releases.contents import REASONS, LeftOut, Ready, ready, shares
from kragx.workshop.state.records import Person
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
class GoldRelease(Result):
    """A version of a gold set: as it would be, or as it was written.

    Attributes:
        folder: of its workshop.
        number: of the version.
        dataset: its gold set; None where no question is ready.
        content: what is ready, and what is not.
        previous: the version before it, of those whose files are in the folder.
        diff: what changed since.
        missing: the file of a later release that is not in the folder.
        is_same: whether nothing has changed since the last release, so that none is made.
        shares: who judged how much.
        alpha: how far people agree.
        top: the highest grade of the scale.
        validation: what `kragx gold validate` finds in it; None before it is written.
    """

    folder: Path = field(metadata=HIDDEN)
    number: int = field(metadata=HIDDEN)
    dataset: GoldDataset | None = field(metadata=HIDDEN)
    content: Ready = field(metadata=HIDDEN)
    previous: str | None = field(metadata=HIDDEN)
    diff: GoldDiff | None = field(metadata=HIDDEN)
    missing: str | None = field(metadata=HIDDEN)
    is_same: bool = field(metadata=HIDDEN)
    shares: tuple[tuple[Person, Counter[str]], ...] = field(metadata=HIDDEN)
    alpha: Alpha = field(metadata=HIDDEN)
    top: int = field(metadata=HIDDEN)
    validation: Validation | None = None

    also_plain: ClassVar[tuple[str, ...]] = (
        *("version", "file", "hash", "n_questions", "n_gold", "changes", "lacks", "left_out"),
    )

    @property
    def version(self) -> str | None:
        """As results name it; None if there is nothing to make."""
        return None if self.is_same else f"v{self.number}"

    @property
    def file(self) -> Path:
        """The gold file; of the last release if nothing has changed."""
        return self.folder / f"gold_{self.version or self.previous}.jsonl"

    @property
    def hash(self) -> str | None:
        """Of its content."""
        return None if self.dataset is None else self.dataset.content_hash

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The questions that are not in it."""
        return self.content.left_out

    @property
    def changes(self) -> str:
        """What changed since the release before, in a sentence."""
        if self.diff is None:
            return message("the first release")
        changes = {"version": self.previous, "changes": self.diff.summary}
        return message("since {version}: {changes}", **changes)

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
        return bool(self.n_gold or (self.n_questions and not self.left_out))

    @property
    def lacks(self) -> tuple[str, ...]:
        """What it lacks, a sentence each."""
        return tuple(lack.text for lack in self.lacking)

    @property
    def lacking(self) -> Iterator[Lack]:
        """What it lacks."""
        counts = Counter(question.reason for question in self.left_out)
        yield from (Lack(why, number) for why, number in counts.items())
        if self.content.n_moved:
            yield Lack("moved", self.content.n_moved)
        if self.missing is not None:
            yield Lack("missing", name=self.missing)

    def describe(self) -> Iterator[Part]:
        """What was released, what changed, and what is not in it."""
        if self.is_same:
            name = self.file.name
            yield Line(message("nothing has changed since {file}; no release is made", file=name))
        else:
            released = message(
                "released {version}: {file}, {n} questions, {n_gold} gold items, sha256 {hash}",
                version=self.version,
                file=self.file,
                n=self.n_questions,
                n_gold=self.n_gold,
                hash=(self.hash or "")[:12],
            )
            yield Line(released, "bold")
            yield Line(self.changes)
        yield from map(warning, self.lacks)
        if self.validation is not None:
            counts = {
                message("errors"): self.validation.n_errors,
                message("warnings"): self.validation.n_warnings,
            }
            yield Line(joined(": ", ["kragx gold validate", counted(counts)]))
            yield Line(message("all of it: {path}", path=self.file.with_suffix(".md")), "dim")


def next_release(workshop: Workshop, state: State, copies: Copies) -> GoldRelease:
    """What a release would hold now.

    Args:
        workshop: its folder.
        state: what its database holds; its lock is held.
        copies: of its corpus.

    Raises:
        DataError: a release that is there was changed.
    """
    settings, top = workshop.settings, max(workshop.settings.scale)
    content = ready(state, workshop.documents, copies, top)
    rows = {row.version: row for row in state.releases}
    matches = ((_FILE.fullmatch(path.name), path) for path in workshop.folder.iterdir())
    files = {int(match[1]): path for match, path in matches if match}
    version = max([0, *rows, *files]) + 1
    last = rows.get(max(rows, default=0))
    dataset = None
    if content.queries:
        dataset = GoldDataset(
            content.queries, settings.name, version=f"v{version}", forbidden=settings.forbidden
        )
    unwritten = last if last is not None and last.version not in files else None
    if unwritten and dataset and unwritten.hash == dataset.content_hash:
        version = unwritten.version  # its writer was killed, or wrote it into another folder
        dataset, unwritten = replace(dataset, version=f"v{version}"), None
    # Of the files, not of the database: what is compared must be there to be read.
    before = max((number for number in files if number < version), default=None)
    previous = None if before is None else read_dataset(files[before])
    return GoldRelease(
        folder=workshop.folder,
        number=version,
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


def notes(
    coming: GoldRelease, dataset: GoldDataset, validation: Validation, note: str
) -> Iterator[Part]:
    """What people read of a release: what it holds and lacks, what changed, and who judged."""
    yield Heading(f"{visible(dataset.name)} {dataset.version}", level=1)
    if note:
        yield Line(visible(note))
    yield Line(
        message(
            "{n} questions, {n_gold} gold items; content sha256 {hash}.",
            n=coming.n_questions,
            n_gold=coming.n_gold,
            hash=dataset.content_hash,
        )
    )
    grades = (
        message("{grade} is {gold:g}", grade=grade, gold=gold_grade(grade, coming.top))
        for grade in range(coming.top + 1)
    )
    grades_text = joined(", ", grades)
    yield Line(
        message("People's grades in the file: {grades}; above 0 is relevant.", grades=grades_text)
    )
    yield from map(warning, coming.lacks)
    if coming.diff is None:
        yield Heading(message("What changed"))
        yield Line(message("The first release."))
    else:
        yield Heading(message("What changed since {version}", version=coming.previous))
        yield from coming.diff.describe(full=True)
    yield Heading(message("Who judged"))
    rows = [
        [
            visible(person.name),
            person.role,
            *(str(counts[kind]) for kind in ("grade", "unusable", "later", "decided")),
        ]
        for person, counts in coming.shares
    ]
    heads = [
        *(message("who"), message("as"), message("graded")),
        *(message("unusable"), message("put off"), message("decided")),
    ]
    yield Table(heads, rows, words=2)
    yield Line(agreement_text(coming.alpha))
    if coming.left_out:
        yield Heading(message("Left out"))
        rows = [
            [
                omission.question,
                visible(omission.text),
                REASONS[omission.reason],
                ", ".join(omission.documents),
            ]
            for omission in coming.left_out
        ]
        heads = [message("id"), message("question"), message("why"), message("documents")]
        yield Table(heads, rows, words=4)
    yield Heading(message("What kragx gold validate reports"))
    yield from validation.describe()


def agreement_text(alpha: Alpha) -> str:
    """How far people agree, in a sentence."""
    if alpha.value is None:
        return message(
            "Agreement: {n} pairs have two people's grades; too few: below {least} a figure would "
            "say nothing."
            if alpha.pairs < LEAST_PAIRS
            else "Agreement: {n} pairs have two people's grades; all alike: alpha would say "
            "nothing.",
            n=alpha.pairs,
            least=LEAST_PAIRS,
        )
    ends = "" if alpha.interval is None else f"{interval(*alpha.interval[:2])} (95 %)"
    return message(
        "Agreement: Krippendorff's alpha for ordered grades {alpha}, from {n} pairs of "
        "{n_questions} questions that two people or more graded.",
        alpha=joined(" ", [number(alpha.value), ends]),
        n=alpha.pairs,
        n_questions=alpha.questions,
    )
