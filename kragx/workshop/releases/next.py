"""What the next release would be: its number, its gold set, what changed, and its notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

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
from kragx.workshop.releases.contents import REASONS, LeftOut, judging_counts, ready
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
        return message(
            "gold texts without a place since kragx gold move, which count as not found: {n}"
            if self.what == "moved"
            else "{file} is not in this folder, so nothing is held against it"
            if self.what == "missing"
            else "questions left out: {n}, {why}",
            n=self.n,
            file=self.name,
            why=REASONS.get(self.what),
        )


@dataclass(frozen=True)
class GoldRelease(Result):
    """A version of a gold set: as it would be, or as it was written.

    Attributes:
        version: as results name it; None where nothing has changed, so that none is made.
        file: the gold file; of the last release if nothing has changed.
        hash: of its content; None where no question is ready.
        n_questions: how many are ready.
        n_gold: how many gold items above grade 0 they have.
        changes: what changed since the release before, in a sentence.
        lacks: what it lacks, a sentence each.
        left_out: the questions that are not in it.
        validation: what `kragx gold validate` finds in it; None before it is written.
        number: of the version.
        dataset: its gold set.
        previous: the version before it, of those whose files are in the folder.
        diff: what changed since.
        lacking: what it lacks.
        shares: who judged how much.
        alpha: how far people agree.
        top: the highest grade of the scale.
    """

    version: str | None
    file: Path
    hash: str | None
    n_questions: int
    n_gold: int
    changes: str
    lacks: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    number: int = field(metadata=HIDDEN)
    dataset: GoldDataset | None = field(metadata=HIDDEN)
    previous: str | None = field(metadata=HIDDEN)
    diff: GoldDiff | None = field(metadata=HIDDEN)
    lacking: tuple[Lack, ...] = field(metadata=HIDDEN)
    shares: tuple[tuple[Person, Counter[str]], ...] = field(metadata=HIDDEN)
    alpha: Alpha = field(metadata=HIDDEN)
    top: int = field(metadata=HIDDEN)
    validation: Validation | None = None

    @property
    def is_ready(self) -> bool:
        """Whether it can be released.

        Questions without an answer need no judgement, and are no gold set while the others are left
        out: a retriever that finds nothing would be right everywhere.
        """
        return bool(self.n_gold or (self.n_questions and not self.left_out))

    def describe(self) -> Iterator[Part]:
        """What was released, what changed, and what is not in it."""
        if self.version is None:
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
    missing = last if last is not None and last.version not in files else None
    if missing and dataset and missing.hash == dataset.content_hash:
        version = missing.version  # its writer was killed, or wrote it into another folder
        dataset, missing = replace(dataset, version=f"v{version}"), None
    # Of the files, not of the database: what is compared must be there to be read.
    before = max((number for number in files if number < version), default=None)
    previous = None if before is None else read_dataset(files[before])
    diff = None if previous is None or dataset is None else diff_gold(previous, dataset)
    is_same = bool(previous and dataset and previous.content_hash == dataset.content_hash)
    counts = Counter(question.reason for question in content.left_out)
    lacking = [Lack(why, number) for why, number in counts.items()]
    lacking += [Lack("moved", content.n_moved)] if content.n_moved else []
    lacking += [Lack("missing", name=missing.file)] if missing else []
    changes = message("the first release")
    if diff is not None:
        changes = message("since {version}: {changes}", version=f"v{before}", changes=diff.summary)
    return GoldRelease(
        version=None if is_same else f"v{version}",
        file=workshop.folder / f"gold_v{before if is_same else version}.jsonl",
        hash=None if dataset is None else dataset.content_hash,
        n_questions=len(content.queries),
        n_gold=sum(gold.grade > 0 for query in content.queries for gold in query.gold),
        changes=changes,
        lacks=tuple(lack.text for lack in lacking),
        left_out=content.left_out,
        number=version,
        dataset=dataset,
        previous=None if before is None else f"v{before}",
        diff=diff,
        lacking=tuple(lacking),
        shares=tuple(judging_counts(state)),
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
