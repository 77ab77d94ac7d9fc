"""Results of two states of a gold set: which questions are not the same, and stay out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from kragx.data import GoldDataset
from kragx.data.gold_diff import GoldDiff, diff_gold, gold_name
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Result, joined, listed, message, visible, warning
from kragx.matchers import METHODS, method_class

NAMED = 5
"""So many questions are named; JSON and ``kragx gold diff`` have all of them."""


@dataclass(frozen=True)
class GoldVersions(Result):
    """Two states of a gold set, whose results are compared: what a `GoldDiff` means for them.

    Attributes:
        diff: of the two.
        left_out: whether only those questions that are the same are compared.
        compares_ids: whether the matcher does: then gold with the same text under another id is
            other gold, unless a move has recorded where it went.
    """

    diff: GoldDiff = field(repr=False, metadata=HIDDEN)
    left_out: bool = True
    compares_ids: bool = field(default=True, metadata=HIDDEN)

    also_plain: ClassVar[tuple[str, ...]] = (
        "earlier",
        "later",
        "n_same",
        "changed",
        "only_earlier",
        "only_later",
    )

    @property
    def earlier(self) -> Mapping[str, Any]:
        """Name, version and content hash of the earlier one."""
        return self.diff.old

    @property
    def later(self) -> Mapping[str, Any]:
        """Those of the later one."""
        return self.diff.new

    @cached_property
    def _ids(self) -> Mapping[str, tuple[str, ...]]:
        """By what became of them the questions on which numbers do not mean the same."""
        differing = self.diff.differing(compares_ids=self.compares_ids)
        return {
            state: tuple(question.query_id for question in differing if question.state == state)
            for state in ("changed", "added", "dropped")
        }

    @property
    def changed(self) -> tuple[str, ...]:
        """The questions that both have on which numbers do not mean the same."""
        return self._ids["changed"]

    @property
    def only_later(self) -> tuple[str, ...]:
        """Those that only the later one has."""
        return self._ids["added"]

    @property
    def only_earlier(self) -> tuple[str, ...]:
        """Those that only the earlier one has."""
        return self._ids["dropped"]

    @property
    def named(self) -> tuple[str, ...]:
        """The questions that are not the same, those that both have first."""
        return (*self.changed, *self.only_later, *self.only_earlier)

    @cached_property
    def differing(self) -> frozenset[str]:
        """The same, to look among."""
        return frozenset(self.named)

    @property
    def n_same(self) -> int:
        """The questions of both on which numbers mean the same."""
        return self.diff.n_old - len(self.changed) - len(self.only_earlier)

    @property
    def text(self) -> str:
        """What a reader must know, in a sentence."""
        is_told, n = bool(self.named), self.n_same
        outcome: str = message(
            "no question differs in what metrics read"
            if not is_told
            else "{which}, none is the same"
            if not n
            else "{which}, left out here; 1 is the same, and compared"
            if n == 1
            else "{which}, left out here; {n} are the same, and compared",
            which=self._not_the_same,
            n=n,
        )
        if is_told and n and not self.left_out:
            outcome = self._not_the_same
        return message("{pair}: {end}", pair=gold_pair(self.earlier, self.later), end=outcome)

    @property
    def _not_the_same(self) -> str:
        """How many questions differ, and which."""
        n, ids = len(self.named), [*map(visible, self.named)]
        numbers = (
            (self.changed, message("{n} changed", n=len(self.changed))),
            (self.only_later, message("{n} only in the later", n=len(self.only_later))),
            (self.only_earlier, message("{n} only in the earlier", n=len(self.only_earlier))),
        )
        return message(
            "1 question is not the same ({counts}: {questions})"
            if n == 1
            else "{n} questions are not the same ({counts}: {questions})",
            n=n,
            counts=joined(", ", (text for questions, text in numbers if questions)),
            questions=listed(ids, NAMED) if n > NAMED else joined(", ", ids),
        )

    def describe(self) -> Iterator[Line]:
        """What a reader must know."""
        # Else it stands among the cautions, as all that is compared anyway.
        if self.left_out or not self.differing:
            yield warning(self.text)


def gold_pair(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> str:
    """Two gold sets that differ."""
    return message(
        "the gold sets differ ({earlier} and {later})",
        earlier=gold_name(earlier),
        later=gold_name(later),
    )


def gold_versions(
    earlier: Mapping[str, Any],
    later: Mapping[str, Any],
    datasets: Sequence[GoldDataset | None],
    match: Mapping[str, Any],
    *,
    anyway: bool = False,
) -> GoldVersions | None:
    """What is not the same in two gold sets; None where they are one, or are not known.

    Args:
        earlier: the settings that results record of the one.
        later: those of the other.
        datasets: the two of them.
        match: the settings of the matcher that results record.
        anyway: compare whatever both have.
    """
    hashes, (before, after) = (earlier["hash"], later["hash"]), datasets
    if hashes[0] == hashes[1] or None in hashes or before is None or after is None:
        return None
    if hashes != (before.content_hash, after.content_hash):  # others than results were made with
        return None
    diff = replace(diff_gold(before, after), old=dict(earlier), new=dict(later))
    return GoldVersions(diff, left_out=not anyway, compares_ids=_compares_ids(match))


def _compares_ids(match: Mapping[str, Any]) -> bool:
    """Whether a matcher of these settings may; of one that is not kragx's own nobody knows."""
    # A cascade compares ids as soon as one of its members does.
    if isinstance(members := match.get("of"), (list, tuple)):  # a span's is a word
        return any(map(_compares_ids, members))
    method = str(match.get("method"))
    return method not in METHODS or method_class(method).reads == "ids"


def left_out(versions: Iterable[GoldVersions]) -> frozenset[str]:
    """The questions that are not compared."""
    return frozenset().union(*(version.differing for version in versions if version.left_out))
