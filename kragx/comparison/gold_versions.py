"""Results of two states of a gold set: which questions are not the same, and stay out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from kragx.data import GoldDataset
from kragx.data.gold_diff import GoldDiff, diff_gold, gold_name
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Line, Result, joined, listed, phrase, visible, warning
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
        "n_moved",
        "n_ids",
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
    def n_moved(self) -> int:
        """Those of them whose gold is in other chunks, or under other ids."""
        kinds = self.diff.kinds
        return kinds["moved"] + (0 if self.compares_ids else kinds["ids"])

    @property
    def n_ids(self) -> int:
        """The changed ones with the same text under other ids, and no record of a move."""
        return self.diff.kinds["ids"] if self.compares_ids else 0

    @property
    def text(self) -> str:
        """What a reader must know, in a sentence."""
        is_told, n = bool(self.named), self.n_same
        outcome: str = phrase(
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
        pair = gold_pair(self.earlier, self.later)
        return phrase("{pair}: {end}", pair=pair, end=joined("; ", [outcome, *self._besides]))

    @property
    def _besides(self) -> Iterator[str]:
        """Whose gold moved, and whose differs in ids alone."""
        moved = phrase(
            "the gold of {n} of them is the same text, moved to other chunks"
            if self.named and self.left_out
            else "the gold of {n} questions is the same text, moved to other chunks",
            n=self.n_moved,
        )
        by_ids = phrase(
            "of the changed {n} differ in ids alone, which this matcher compares, and no move "
            "('kragx gold move') is recorded",
            n=self.n_ids,
        )
        yield moved if self.n_moved else ""
        yield by_ids if self.n_ids else ""

    @property
    def _not_the_same(self) -> str:
        """How many questions differ, and which."""
        n, ids = len(self.named), [*map(visible, self.named)]
        numbers = (
            (self.changed, phrase("{n} changed", n=len(self.changed))),
            (self.only_later, phrase("{n} only in the later", n=len(self.only_later))),
            (self.only_earlier, phrase("{n} only in the earlier", n=len(self.only_earlier))),
        )
        return phrase(
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
    return phrase(
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
    diffs: dict[tuple[str, str], GoldDiff] | None = None,
) -> GoldVersions | None:
    """What is not the same in two gold sets; None where they are one, or are not known.

    Args:
        earlier: the settings that results record of the one.
        later: those of the other.
        datasets: the two of them.
        match: the settings of the matcher that results record.
        anyway: compare whatever both have.
        diffs: of hashes that were set side by side already; that of these is added.
    """
    hashes, (before, after) = (earlier["hash"], later["hash"]), datasets
    if hashes[0] == hashes[1] or None in hashes or before is None or after is None:
        return None
    if hashes != (before.content_hash, after.content_hash):  # others than results were made with
        return None
    diffs = {} if diffs is None else diffs
    diff = diffs[hashes] = diffs.get(hashes) or diff_gold(before, after)
    diff = replace(diff, old=dict(earlier), new=dict(later))
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
