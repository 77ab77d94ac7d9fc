"""One question in two versions: which documents stayed, came, went and moved."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kragx.comparison.lists.measures import jaccard, rank_biased_overlap
from kragx.data import Doc, Query
from kragx.data.gold import cut

Numbers = tuple[tuple[int, ...], tuple[int, ...]]
"""The documents of the old and of the new list; the same number is the same document."""


class RankMove(NamedTuple):
    """A document's ranks, from 1; None where its list has it not."""

    old: int | None
    new: int | None


@dataclass(frozen=True, slots=True)
class QuestionDiff:
    """A question with its two lists.

    Attributes:
        query: the question.
        old, new: the documents, the best first; None where the retriever failed, or was not asked.
        numbers: of each document of either list, the same for the same document; empty where one
            of them is None.
        weight: how many asks the question stands for, over its chance of having been drawn.
    """

    query: Query
    old: tuple[Doc, ...] | None
    new: tuple[Doc, ...] | None
    numbers: Numbers = ((), ())
    weight: float = 1.0

    @property
    def is_known(self) -> bool:
        """Whether there are two lists; else they are neither equal nor changed."""
        return self.old is not None and self.new is not None

    def is_equal(self, k: int | None = None, *, ordered: bool = True) -> bool | None:
        """Whether the first k documents are the same in the same order; None where not known.

        Args:
            k: how many; None for all.
            ordered: False for the same set, in any order.
        """
        if not self.is_known:
            return None
        old, new = (side[:k] for side in self.numbers)
        return old == new if ordered else set(old) == set(new)

    def overlap(self) -> float:
        """Rank-biased overlap of the whole lists, `kragx.comparison.lists.rank_biased_overlap`."""
        old, new = self.numbers
        return 1.0 if old == new else rank_biased_overlap(_distinct(old), _distinct(new))

    def jaccard(self, k: int) -> float:
        """Of the first k documents."""
        old, new = (side[:k] for side in self.numbers)
        return jaccard(old, new)

    def moves(self, k: int | None = None) -> tuple[RankMove, ...]:
        """The documents of the first k of either list that do not stand where they stood.

        A document that came has its rank in the old list where it stood there below k, and one
        that went its rank in the new list; which is which says `k`.
        """
        old, new = (
            {item: rank for rank, item in enumerate(_distinct(side), 1)} for side in self.numbers
        )
        pairs = (RankMove(old.get(item), new.get(item)) for item in {**new, **old})
        return tuple(
            move
            for move in pairs
            if move.old != move.new and (within(move.old, k) or within(move.new, k))
        )

    def plain(self, k: int) -> dict[str, Any]:
        """What changed within the first k, as plain values; documents are named by their ranks."""
        moves = self.moves(k)
        return {
            "query_id": self.query.id,
            "query": self.query.text,
            "weight": self.weight,
            "rbo": self.overlap(),
            "came": [move.new for move in moves if not within(move.old, k)],
            "went": [move.old for move in moves if not within(move.new, k)],
            "moved": [list(move) for move in moves if within(move.old, k) and within(move.new, k)],
            "old": [_name(doc) for doc in (self.old or ())[:k]],
            "new": [_name(doc) for doc in (self.new or ())[:k]],
        }

    def counts(self, k: int) -> tuple[int, int, int]:
        """How many of the first k came, went, and moved within them."""
        if self.is_equal(k):
            return 0, 0, 0
        moves = self.moves(k)
        n_came = sum(not within(move.old, k) for move in moves)
        n_went = sum(not within(move.new, k) for move in moves)
        return n_came, n_went, len(moves) - n_came - n_went


def _name(doc: Doc) -> str:
    return doc.id or cut(doc.text or "", 80)


def within(rank: int | None, k: int | None) -> bool:
    """Whether a rank is one of the first k; None for k is all."""
    return rank is not None and (k is None or rank <= k)


def _distinct(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The same with those apart that stand again: a repeated document keeps its rank."""
    times: Counter[int] = Counter()
    items = []
    for number in numbers:
        items.append((number, times[number]))
        times[number] += 1
    return items
