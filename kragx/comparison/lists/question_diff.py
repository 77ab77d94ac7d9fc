"""What makes two documents of two versions the same: id and text, text alone, or much of it."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from kragx import matchers
from kragx.data import Doc, Gold, Query, value_at
from kragx.data.documents import normal_form
from kragx.data.gold import cut
from kragx.data.text import composed
from kragx.evaluation.vocabulary import vocabulary_of_items
from kragx.ground.errors import DataError, UsageError, nearest
from kragx.matchers import Diagnostics, MatchItem, MatchWarning

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
        return tuple(
            move
            for item in {**new, **old}
            if (move := RankMove(old.get(item), new.get(item))).old != move.new
            and any(_is_within(rank, k) for rank in move)
        )

    def sorted_moves(self, k: int) -> tuple[list[RankMove], list[RankMove], list[RankMove]]:
        """Those of `moves` that came to the first k, that went from them, and that moved there."""
        kinds: tuple[list[RankMove], list[RankMove], list[RankMove]] = [], [], []
        # Most lists of two versions are the same, and ranks are dear to look up.
        for move in () if self.is_equal(k) else self.moves(k):
            kinds[
                0 if not _is_within(move.old, k) else 1 if not _is_within(move.new, k) else 2
            ].append(move)
        return kinds

    def counts(self, k: int) -> tuple[int, ...]:
        """How many of the first k came, went, and moved within them."""
        return tuple(map(len, self.sorted_moves(k)))

    def plain(self, k: int) -> dict[str, Any]:
        """What changed within the first k, as plain values; documents are named by their ranks."""
        came, went, moved = self.sorted_moves(k)
        old, new = (
            [doc.id or cut(doc.text or "", 80) for doc in (side or ())[:k]]
            for side in (self.old, self.new)
        )
        return {
            "query_id": self.query.id,
            "query": self.query.text,
            "weight": self.weight,
            "rbo": self.overlap(),
            "came": [move.new for move in came],
            "went": [move.old for move in went],
            "moved": [list(move) for move in moved],
            "old": old,
            "new": new,
        }


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
    rank_of = {item: rank for rank, item in enumerate(shorter, 1)}
    # At which depth of both a common item is seen in both.
    meeting = Counter(
        max(rank, rank_of[item]) for rank, item in enumerate(longer, 1) if item in rank_of
    )
    common = [0, *accumulate(meeting[depth] for depth in range(1, n_longer + 1))]
    total = 0.0
    for depth in range(1, n_longer + 1):
        beyond = common[s] * (depth - s) / s if depth > s else 0.0
        total += (common[depth] + beyond) / depth * p**depth
    tail = (common[-1] - common[s]) / n_longer + common[s] / s
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
    either = {*old, *new}
    return len({*old} & {*new}) / len(either) if either else 1.0


By = Literal["id", "text", "overlap"]
"""By what documents are told: id and text; the text; half of the shorter text's word pairs."""

Pair = tuple[Sequence[Doc], Sequence[Doc]]
"""The old and the new list of a question."""

ALIKE = 0.5
"""From this share of the shorter text's word pairs on, passages of two chunkings are alike."""


@dataclass(frozen=True)
class Identity:
    """How the documents of two versions are told.

    Attributes:
        by: what is compared.
        fields: the metadata that must be the same as well, as paths.
        is_exact: whether documents that are called the same are so in all that a metric reads; else
            they are alike, and equal lists need not have equal values.
        n_shared: how many ids both versions have.
        n_edited: how many of these have another text in the new one.
        n_renamed: how many texts both have under other ids alone, copies included.
        reads_texts: whether texts are compared; without one in a version ids alone are.
    """

    by: By
    fields: tuple[str, ...] = ()
    is_exact: bool = True
    n_shared: int = 0
    n_edited: int = 0
    reads_texts: bool = True
    n_renamed: int = 0

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], by: By | None = None, fields: Sequence[str] = ()
    ) -> Identity:
        """That of two versions.

        Args:
            pairs: their lists, question by question.
            by: what is compared; None for id and text where both have ids and meet in a document,
                for ``overlap`` where they never do, as after chunking anew, else for the text. A
                version whose lists are all empty says nothing, and the other's documents decide.
            fields: metadata that must be the same as well.

        Raises:
            DataError: nothing tells them: the one has ids alone, the other texts alone.
            UsageError: `by` needs what one of them lacks.
        """
        filled = [side for side in (0, 1) if any(pair[side] for pair in pairs)]
        if len(filled) == 1:
            identity = cls.of([(pair[filled[0]], pair[filled[0]]) for pair in pairs], by, fields)
            return replace(identity, is_exact=True, n_shared=0)  # empty lists alone are equal
        (old_ids, old_has_text), (new_ids, new_has_text) = (
            _texts_by_id(pair[side] for pair in pairs) for side in (0, 1)
        )
        both_named, both_texts = bool(old_ids and new_ids), old_has_text and new_has_text
        if filled and not both_named and not both_texts:
            raise DataError(
                "the versions have neither ids nor texts in common, so nothing tells their "
                "documents",
                remedy="give one of them the ids or the texts of the other's documents",
            )
        if by not in (None, *get_args(By)):
            raise UsageError(
                "by: {by!r} is unknown; {hint}", by=by, hint=nearest(str(by), get_args(By))
            )
        if by and filled and not (both_named if by == "id" else both_texts):
            lacking = "ids" if by == "id" else "texts"
            raise UsageError(
                "by: {by} compares {lacking}, which a version lacks", by=by, lacking=lacking
            )
        # An id that means another text in the new version tells nothing: both are looked at.
        shared = old_ids.keys() & new_ids.keys()
        same = {name for name in shared if not both_texts or old_ids[name] == new_ids[name]}
        texts = {*old_ids.values()} & {*new_ids.values()} - {None}
        # Chunks that were counted anew share ids by accident; one true meeting tells them apart.
        by = by or ("text" if not both_named else "id" if same or not both_texts else "overlap")
        is_unnamed = not (old_ids or new_ids)
        return cls(
            by,
            tuple(fields),
            is_exact=old_has_text == new_has_text if by == "id" else by == "text" and is_unnamed,
            n_shared=len(shared),
            n_edited=len(shared) - len(same),
            n_renamed=len(texts - {old_ids[name] for name in same}),
            reads_texts=both_texts,
        )

    def numbers(self, pairs: Sequence[Pair]) -> Iterator[Numbers]:
        """The documents of each question by number, the same for the same document."""
        if self.by == "overlap":
            yield from _by_overlap(pairs)
            return
        for old, new in pairs:
            keys = [[self._key(doc) for doc in side] for side in (old, new)]
            number_of = {key: number for number, key in enumerate(dict.fromkeys(keys[0] + keys[1]))}
            before, after = (tuple(number_of[key] for key in side) for side in keys)
            yield before, after

    def _key(self, doc: Doc) -> Hashable:
        # As JSON, as a metadata value may be a list.
        fields = tuple(
            json.dumps(value_at(doc.metadata, path), sort_keys=True, default=str)
            for path in self.fields
        )
        text = composed(doc.text) if self.reads_texts else None
        if text is None and (doc.id is None or self.by == "text"):
            # Without a text its id tells it, if anything does.
            return object() if doc.id is None else (None, doc.id, *fields)
        if self.by == "text":
            return text if self.is_exact or text is None else normal_form(text), *fields
        return doc.id, text, *fields


def _texts_by_id(lists: Iterator[Sequence[Doc]]) -> tuple[dict[str, str | None], bool]:
    """The text of each id where it stands first, and whether any document has a text."""
    docs = [*chain.from_iterable(lists)]
    # Where one id has two texts in a version, the first one is what its lists mean.
    texts = {doc.id: composed(doc.text) for doc in reversed(docs) if doc.id is not None}
    return texts, any(doc.text is not None for doc in docs)


def _by_overlap(pairs: Sequence[Pair]) -> Iterator[Numbers]:
    """Documents of the same text, else those with most in common, one of either list each."""
    items = [
        MatchItem(
            Query(str(row), gold=tuple(Gold(text=doc.text or "") for doc in old)),
            tuple(Doc(text=doc.text or "") for doc in new),
        )
        for row, (old, new) in enumerate(pairs)
        if old and new and any(doc.text != twin.text for doc, twin in zip(old, new))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # nobody asked for this matcher
        overlap = matchers.matcher({"method": "overlap", "short": 0})
        matcher = overlap.knowing(vocabulary_of_items(items))  # which tells siblings apart
        scores = dict(
            zip((int(item.query.id) for item in items), matcher.scores(items, Diagnostics()))
        )
    for row, (old, new) in enumerate(pairs):
        matrix = np.asarray(scores.get(row, np.zeros((len(new), len(old)))), np.float64)
        yield tuple(range(len(old))), _assigned(matrix, old, new)


def _assigned(scores: np.ndarray, old: Sequence[Doc], new: Sequence[Doc]) -> tuple[int, ...]:
    """Of each new document the place of the old one that it is taken for, else a number of its own.

    Equal texts come first, then the pairs with the highest scores.
    """
    texts = [[normal_form(doc.text or "") for doc in side] for side in (old, new)]
    are_same = [[left == right != "" for left in texts[0]] for right in texts[1]]
    # Greedy, not the best assignment: lists are short, and equal texts must never be traded away.
    ranked = sorted(
        (not are_same[i][j], -scores[i, j], abs(i - j), i, j)
        for i in range(len(new))
        for j in range(len(old))
        if are_same[i][j] or scores[i, j] >= ALIKE
    )
    place: dict[int, int] = {}
    taken = set[int]()
    for *_, i, j in ranked:
        if i not in place and j not in taken:
            place[i] = j
            taken.add(j)
    return tuple(place.get(i, len(old) + i) for i in range(len(new)))
