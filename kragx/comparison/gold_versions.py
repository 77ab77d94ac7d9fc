"""Results of two states of a gold set: which questions are not the same, and stay out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kragx.data import GoldDataset
from kragx.data.gold_diff import GoldDiff, diff_gold, gold_name
from kragx.plain import HIDDEN
from kragx.printing import Line, Result, visible, warning

NAMED = 5
"""So many questions are named; JSON and ``kragx gold diff`` have all of them."""


@dataclass(frozen=True)
class GoldVersions(Result):
    """Two states of a gold set, whose results are compared.

    Attributes:
        earlier, later: name, version and content hash of each.
        n_same: the questions of both on which numbers mean the same.
        changed: the questions that both have on which numbers do not mean the same.
        only_earlier, only_later: the questions that only one has.
        n_judged: questions that differ in documents of grade 0 alone, which `judged` alone reads.
        left_out: whether only those that are the same are compared.
    """

    earlier: Mapping[str, Any]
    later: Mapping[str, Any]
    n_same: int
    changed: tuple[str, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]
    n_judged: int = 0
    left_out: bool = True
    differing: frozenset[str] = field(default=frozenset(), metadata=HIDDEN)

    @classmethod
    def of(cls, diff: GoldDiff, *, left_out: bool) -> GoldVersions:
        """Those that a diff has found."""

        def ids(state: str) -> tuple[str, ...]:
            return tuple(own.query_id for own in diff.differing if own.state == state)

        return cls(
            diff.old,
            diff.new,
            diff.n_same,
            ids("changed"),
            ids("dropped"),
            ids("added"),
            sum(question.kind == "judged" for question in diff.changed),
            left_out,
            frozenset(question.query_id for question in diff.differing),
        )

    @property
    def text(self) -> str:
        """What a reader must know, in a sentence."""
        named = (*self.changed, *self.only_later, *self.only_earlier)
        parts = (
            (len(self.changed), "changed"),
            (len(self.only_later), "only in the later"),
            (len(self.only_earlier), "only in the earlier"),
        )
        counts = ", ".join(f"{number} {what}" for number, what in parts if number)
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        questions = f"{', '.join(map(visible, named[:NAMED]))}{more}"
        which = f"{len(named)} questions are not the same ({counts}: {questions})"
        if not named:
            end = "no question differs in what metrics read"
        elif not self.n_same:
            end = f"{which}, none is the same"
        elif self.left_out:
            end = f"{which}, left out here; {self.n_same} are the same, and compared"
        else:
            end = which
        return f"{gold_pair(self.earlier, self.later)}: {end}"

    @property
    def judged_text(self) -> str:
        """What `judged` alone reads; nothing if there is nothing."""
        return (
            f"documents of grade 0 differ in {self.n_judged} questions: 'judged' reads them"
            if self.n_judged
            else ""
        )

    def describe(self) -> Iterator[Line]:
        """What a reader must know."""
        if self.left_out:  # else it stands among the cautions, as all that is compared anyway
            yield warning(self.text)
        if self.judged_text:
            yield warning(self.judged_text)


def gold_pair(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """Two gold sets that differ."""
    return f"the gold sets differ ({gold_name(earlier)} and {gold_name(later)})"


def gold_versions(
    earlier: Mapping[str, Any],
    later: Mapping[str, Any],
    datasets: Sequence[GoldDataset | None],
    *,
    anyway: bool = False,
) -> GoldVersions | None:
    """What is not the same in two gold sets; None where they are one, or are not known.

    Args:
        earlier: the settings that results record of the one.
        later: those of the other.
        datasets: the two of them.
        anyway: compare whatever both have.
    """
    hashes, (one, other) = (earlier["hash"], later["hash"]), datasets
    if hashes[0] == hashes[1] or None in hashes or one is None or other is None:
        return None
    if hashes != (one.content_hash, other.content_hash):  # others than results were made with
        return None
    diff = replace(diff_gold(one, other), old=dict(earlier), new=dict(later))
    return GoldVersions.of(diff, left_out=not anyway)


def left_out(versions: Iterable[GoldVersions]) -> frozenset[str]:
    """The questions that are not compared."""
    return frozenset().union(*(own.differing for own in versions if own.left_out))
