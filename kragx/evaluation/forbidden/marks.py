"""The marks of a part, and from those of all parts to the marks of an evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kragx.data.forbidden import check_cycle
from kragx.evaluation.forbidden.ruling import Place
from kragx.matchers import MatchWarning
from kragx.metrics import Bools, ForbiddenMarks
from kragx.printing import phrase
from kragx.warned import outside


@dataclass
class Beyond:
    """What only all questions together can tell of what is forbidden.

    Where no id that was retrieved, for whichever question, is forbidden anywhere, or gold, ids are
    of another chunking, and what is forbidden by id can match nothing.

    Attributes:
        kinds: of whatever forbids.
        named: ids of forbidden items and of gold, until one is met.
        retrieved: those of documents.
        met: whether an id is both; nobody asks further then, and there may be millions.
        newer: the newer document by the older one, as items name them.
        n_unmatchable: items that can match nothing, whatever was retrieved.
        n_by_id: items that can match nothing if no id is met.
        lacking: of each field that a rule asks for, how many questions, or documents, lack it, and
            how many there are.
    """

    kinds: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    retrieved: set[str] = field(default_factory=set)
    met: bool = False
    newer: dict[str, str] = field(default_factory=dict)
    n_unmatchable: int = 0
    n_by_id: int = 0
    lacking: dict[Place, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.met = self.met or not self.named.isdisjoint(self.retrieved)
        if self.met:
            self.named, self.retrieved = set(), set()

    def merge(self, later: Self) -> None:
        """Add that of the questions behind these."""
        self.kinds |= later.kinds
        self.named |= later.named
        self.retrieved |= later.retrieved
        self.met = self.met or later.met
        self.__post_init__()
        self.newer |= later.newer
        self.n_unmatchable += later.n_unmatchable
        self.n_by_id += later.n_by_id
        for place, (n_lacking, n) in later.lacking.items():
            before = self.lacking.get(place, (0, 0))
            self.lacking[place] = before[0] + n_lacking, before[1] + n

    @property
    def are_apart(self) -> bool:
        """Whether something is forbidden by ids that are of another chunking than what came."""
        return bool(self.n_by_id) and not self.met

    @property
    def n_lost(self) -> int:
        """How many items can match nothing, once all questions are known."""
        return self.n_unmatchable + (self.n_by_id if self.are_apart else 0)

    def warn(self) -> None:
        """Say that items can match nothing, once all questions are known, and what to do."""
        if self.n_lost:
            problem = phrase(
                "forbidden items that can match nothing: {n}; whether their questions leak is not "
                "known: these are ids that neither results nor corpus have (name the corpus that "
                "has them), or texts where ids are compared (compare texts: match 'overlap')",
                n=self.n_lost,
            )
            warnings.warn(problem, MatchWarning, stacklevel=outside())
        for place, (n_lacking, n) in self.lacking.items():
            if n_lacking and (place[2] or n_lacking == n):
                warnings.warn(_lacks(place, n_lacking, n), MatchWarning, stacklevel=outside())


def _lacks(place: Place, n_lacking: int, n: int) -> str:
    """That a rule says nothing of questions, or of documents, as a field of theirs is missing."""
    rule, path, is_of_query = place
    return phrase(
        "rule {rule}: {n} of {of} questions have no {path}, and it says nothing of them"
        if is_of_query
        else "rule {rule}: none of {of} retrieved documents has {path}",
        rule=rule,
        n=n_lacking,
        of=n,
        path=path,
    )


@dataclass(frozen=True)
class PartMarks:
    """The marks of some questions.

    Attributes:
        marks: as if some retrieved id were one that is named.
        by_id: (q, s) where an item can match nothing if none is.
        versions_by_id: (q) the same of versions.
        beyond: what only all questions together can tell.
    """

    marks: ForbiddenMarks
    by_id: Bools
    versions_by_id: Bools
    beyond: Beyond

    def resolved(self) -> ForbiddenMarks:
        """The marks, once all questions are known.

        Raises:
            DataError: documents take each other's place in a circle.
        """
        check_cycle(self.beyond.newer)
        marks = self.marks
        if not self.beyond.are_apart:
            return marks
        return replace(
            marks,
            open=marks.open | self.by_id,
            stale_open=marks.stale_open | self.versions_by_id,
        )


def joined(parts: Sequence[PartMarks]) -> PartMarks:
    """The marks of all questions of some parts, in order; at least one of them."""
    beyond = Beyond()
    for part in parts:
        beyond.merge(part.beyond)
    kinds = tuple(sorted(beyond.kinds))

    def of_kinds(values: Callable[[PartMarks], Any]) -> Any:
        return np.concatenate([_under(kinds, part.marks.kinds, values(part)) for part in parts])

    def column(values: Callable[[PartMarks], Any]) -> Any:
        return np.concatenate([*map(values, parts)])

    firsts = np.cumsum([0, *(len(part.marks.stale) for part in parts)]).tolist()
    marks = ForbiddenMarks(
        kinds=kinds,
        mark=of_kinds(lambda part: part.marks.mark),
        could=of_kinds(lambda part: part.marks.could),
        open=of_kinds(lambda part: part.marks.open),
        stale=column(lambda part: part.marks.stale),
        versions=column(lambda part: part.marks.versions),
        stale_open=column(lambda part: part.marks.stale_open),
        names={
            first + row: name
            for first, part in zip(firsts, parts)
            for row, name in part.marks.names.items()
        },
    )
    by_id = of_kinds(lambda part: part.by_id)
    return PartMarks(marks, by_id, column(lambda part: part.versions_by_id), beyond)


def widened(marks: ForbiddenMarks, kinds: Iterable[str]) -> ForbiddenMarks:
    """The same with columns of more kinds, as what is not here may be forbidden elsewhere."""
    every = tuple(sorted({*marks.kinds, *kinds}))
    wide = {
        name: _under(every, marks.kinds, getattr(marks, name)) for name in ("mark", "could", "open")
    }
    return replace(marks, kinds=every, **wide)


def _under(kinds: Sequence[str], present: Sequence[str], values: Any) -> Any:
    """(n, s) values of some kinds among those of more kinds; 0 where there is none."""
    if tuple(kinds) == tuple(present):
        return values
    wide = np.zeros((len(values), len(kinds)), values.dtype)
    wide[:, [kinds.index(kind) for kind in present]] = values
    return wide
