"""Results of two states of a gold set: which questions are not the same, and stay out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
        earlier, later: name, version and content hash of each.
        n_same: the questions of both on which numbers mean the same.
        changed: the questions that both have on which numbers do not mean the same.
        only_earlier, only_later: the questions that only one has.
        left_out: whether only those that are the same are compared.
        n_moved: those that are the same whose gold is in other chunks, or under other ids.
        n_ids: of `changed` those whose gold is the same text under other ids, which the matcher
            compares, and no record of a move says that these are the same chunks.
    """

    earlier: Mapping[str, Any]
    later: Mapping[str, Any]
    n_same: int
    changed: tuple[str, ...]
    only_earlier: tuple[str, ...]
    only_later: tuple[str, ...]
    left_out: bool = True
    n_moved: int = 0
    n_ids: int = 0
    differing: frozenset[str] = field(default=frozenset(), metadata=HIDDEN)

    @classmethod
    def of(cls, diff: GoldDiff, *, left_out: bool, compares_ids: bool) -> GoldVersions:
        """Those that a diff has found.

        Args:
            diff: of the two.
            left_out: whether only those that are the same are compared.
            compares_ids: whether the matcher does: then gold with the same text under another id
                is other gold, unless a move has recorded where it went.
        """
        n_ids = diff.kinds.get("ids", 0)
        n_alike = 0 if compares_ids else n_ids
        ids: dict[str, list[str]] = {"changed": [], "dropped": [], "added": []}
        for question in diff.differing(compares_ids=compares_ids):
            ids[question.state].append(question.query_id)
        return cls(
            diff.old,
            diff.new,
            diff.n_same + n_alike,
            tuple(ids["changed"]),
            tuple(ids["dropped"]),
            tuple(ids["added"]),
            left_out=left_out,
            n_moved=diff.kinds.get("moved", 0) + n_alike,
            n_ids=n_ids - n_alike,
            differing=frozenset().union(*ids.values()),
        )

    @property
    def named(self) -> tuple[str, ...]:
        """The questions that are not the same, those that both have first."""
        return (*self.changed, *self.only_later, *self.only_earlier)

    @property
    def text(self) -> str:
        """What a reader must know, in a sentence."""
        n, ids = len(self.named), [*map(visible, self.named)]
        numbers = (
            (self.changed, phrase("{n} changed", n=len(self.changed))),
            (self.only_later, phrase("{n} only in the later", n=len(self.only_later))),
            (self.only_earlier, phrase("{n} only in the earlier", n=len(self.only_earlier))),
        )
        kinds = phrase(
            "1 question is not the same ({counts}: {questions})"
            if n == 1
            else "{n} questions are not the same ({counts}: {questions})",
            n=n,
            counts=joined(", ", (text for questions, text in numbers if questions)),
            questions=listed(ids, NAMED) if n > NAMED else joined(", ", ids),
        )
        outcome = phrase(
            "no question differs in what metrics read"
            if not n
            else "{which}, none is the same"
            if not self.n_same
            else "{which}, left out here; 1 is the same, and compared"
            if self.n_same == 1
            else "{which}, left out here; {n} are the same, and compared",
            which=kinds,
            n=self.n_same,
        )
        if n and self.n_same and not self.left_out:
            outcome = kinds
        moved = phrase(
            "the gold of {n} of them is the same text, moved to other chunks"
            if n and self.left_out
            else "the gold of {n} questions is the same text, moved to other chunks",
            n=self.n_moved,
        )
        by_ids = phrase(
            "of the changed {n} differ in ids alone, which this matcher compares, and no move "
            "('kragx gold move') is recorded",
            n=self.n_ids,
        )
        besides = (moved if self.n_moved else "", by_ids if self.n_ids else "")
        return phrase(
            "{pair}: {end}",
            pair=gold_pair(self.earlier, self.later),
            end=joined("; ", [outcome, *besides]),
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
    if hashes not in diffs:
        diffs[hashes] = diff_gold(before, after)
    diff = replace(diffs[hashes], old=dict(earlier), new=dict(later))
    return GoldVersions.of(diff, left_out=not anyway, compares_ids=_compares_ids(match))


def _compares_ids(match: Mapping[str, Any]) -> bool:
    """Whether a matcher of these settings may; of one that is not kragx's own nobody knows."""
    if isinstance(members := match.get("of"), (list, tuple)):  # a span's is a word
        return any(map(_compares_ids, members))
    method = str(match.get("method"))
    return method not in METHODS or method_class(method).reads == "ids"


def left_out(versions: Iterable[GoldVersions]) -> frozenset[str]:
    """The questions that are not compared."""
    return frozenset().union(*(version.differing for version in versions if version.left_out))
