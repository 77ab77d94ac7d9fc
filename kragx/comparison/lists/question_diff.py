"""One question in two versions: which documents stayed, came, went and moved, and how far."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kragx.data import Doc, Query
from kragx.data.gold import cut

Numbers = tuple[tuple[int, ...], tuple[int, ...]]
"""The documents of the old and of the new list; the same number is the same document."""

PERSISTENCE = 0.9
"""The p of rank-biased overlap: its first ten ranks carry 86 % of the weight."""


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

    def is_equal(self, k: int | None = None) -> bool | None:
        """Whether the first k documents are the same in the same order; None where not known."""
        old, new = self.numbers
        return old[:k] == new[:k] if self.is_known else None

    def overlap(self) -> float:
        """Rank-biased overlap of the whole lists, `kragx.comparison.lists.rank_biased_overlap`."""
        old, new = self.numbers
        return 1.0 if old == new else rank_biased_overlap(_distinct(old), _distinct(new))

    def jaccard(self, k: int) -> float:
        """Of the first k documents."""
        old, new = self.numbers
        return jaccard(old[:k], new[:k])

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
            if move.old != move.new and any(_is_within(rank, k) for rank in move)
        )

    def sorted_moves(self, k: int) -> tuple[list[RankMove], list[RankMove], list[RankMove]]:
        """Those of `moves` that came to the first k, that went from them, and that moved there."""
        kinds: tuple[list[RankMove], list[RankMove], list[RankMove]] = [], [], []
        # Most lists of two versions are the same, and ranks are dear to look up.
        for move in () if self.is_equal(k) else self.moves(k):
            kind = 0 if not _is_within(move.old, k) else 1 if not _is_within(move.new, k) else 2
            kinds[kind].append(move)
        return kinds

    def counts(self, k: int) -> tuple[int, int, int]:
        """How many of the first k came, went, and moved within them."""
        came, went, moved = self.sorted_moves(k)
        return len(came), len(went), len(moved)

    def plain(self, k: int) -> dict[str, Any]:
        """What changed within the first k, as plain values; documents are named by their ranks."""
        came, went, moved = self.sorted_moves(k)
        return {
            "query_id": self.query.id,
            "query": self.query.text,
            "weight": self.weight,
            "rbo": self.overlap(),
            "came": [move.new for move in came],
            "went": [move.old for move in went],
            "moved": [list(move) for move in moved],
            "old": [_name(doc) for doc in (self.old or ())[:k]],
            "new": [_name(doc) for doc in (self.new or ())[:k]],
        }


def _name(doc: Doc) -> str:
    return doc.id or cut(doc.text or "", 80)


def _is_within(rank: int | None, k: int | None) -> bool:
    """Whether a rank is one of the first k; None for k is all."""
    return rank is not None and (k is None or rank <= k)


def _distinct(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """The same with those apart that stand again: a repeated document keeps its rank."""
    times: Counter[int] = Counter()
    items = []
    for number in numbers:
        # The second copy is an item of its own; else a copy that went would be no change.
        items.append((number, times[number]))
        times[number] += 1
    return items


def rank_biased_overlap(
    old: Sequence[Hashable], new: Sequence[Hashable], p: float = PERSISTENCE
) -> float:
    """Rank-biased overlap of two rankings, extrapolated from what they show to all depths.

    ``RBO_EXT = (1-p)/p * (sum for d = 1..l of X_d/d p^d + sum for d = s+1..l of X_s (d-s)/(s d)
    p^d) + ((X_l - X_s)/l + X_s/s) p^l``, where s and l are the lengths of the shorter and the
    longer ranking, and X_d is how many items their first d have in common.

    Args:
        old: distinct items, the best first.
        new: the same.
        p: how surely a reader goes on to the next rank, above 0 and below 1.

    Returns:
        1 for equal rankings, also for two empty ones; 0 without a common item, also where one is
        empty.

    Source: W. Webber, A. Moffat, J. Zobel, A similarity measure for indefinite rankings, ACM
    Transactions on Information Systems 28 (4), 2010, equation 32.
    """
    shorter, longer = sorted((old, new), key=len)
    s, n_longer = len(shorter), len(longer)
    if not s:
        return float(not n_longer)
    seen_shorter, seen_longer = set[Hashable](), set[Hashable]()
    common, common_at_s, total = 0, 0, 0.0
    for depth, item in enumerate(longer, 1):
        # The shorter list is taken up first, so an item at the same depth of both counts once.
        if depth <= s:
            seen_shorter.add(shorter[depth - 1])
            common += shorter[depth - 1] in seen_longer
        seen_longer.add(item)
        common += item in seen_shorter
        if depth == s:
            common_at_s = common
        beyond = common_at_s * (depth - s) / s if depth > s else 0.0
        total += (common + beyond) / depth * p**depth
    tail = (common - common_at_s) / n_longer + common_at_s / s
    return (1 - p) / p * total + tail * p**n_longer


def jaccard(old: Sequence[Hashable], new: Sequence[Hashable]) -> float:
    """How many items two lists have in common, over all that stand in either.

    Args:
        old: items; one that stands again counts once.
        new: the same.

    Returns:
        1 for two empty lists.

    Source: P. Jaccard, Étude comparative de la distribution florale, 1901.
    """
    left, right = set(old), set(new)
    return len(left & right) / len(left | right) if left or right else 1.0
