"""Matchers that score all pairs of a batch at once, and what they are given of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Self

import numpy as np

from kragx.data import Doc, Retrieved
from kragx.data.batch import Batch, Entries
from kragx.data.ngrams import of_pairs
from kragx.data.stretches import starts
from kragx.matchers.base import BaseMatcher, MatchItem
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats, Ints

# Queries whose texts are compared at once: enough for a tokenizer or a model that works in batches,
# and for numpy's calls to take no time beside the work, few enough to hold in memory.
_BATCH = 512


def items_of(batch: Batch) -> list[MatchItem]:
    """The questions of a batch as objects, for whoever looks at one at a time."""
    return [
        MatchItem(query, () if status != "answered" else answer.documents, status, seconds, error)
        for query, answer, status, seconds, error in zip(
            batch.queries(),
            [answer or Retrieved() for answer in batch.answers()],
            batch.statuses,
            batch.seconds,
            map(batch.errors.get, range(len(batch))),
        )
    ]


def batch_of(items: Sequence[MatchItem]) -> Batch:
    """Questions with their documents as a batch."""
    return Batch.of(
        [
            (
                None,
                item.query,
                None
                if item.status == "missing"
                else Retrieved(item.docs, item.seconds, item.error),
            )
            for item in items
        ]
    )


@dataclass(frozen=True)
class Targets:
    """The gold items of a batch and their alternatives, each of which a document may match.

    Attributes:
        entries: of the t targets, one question after the other; each gold item stands before its
            alternatives.
        gold: (t) which gold item of them all each one is of.
    """

    entries: Entries
    gold: Ints

    @classmethod
    def of(cls, golds: Entries) -> Self:
        """Those of gold items."""
        if golds.alternatives is None:
            return cls(golds, np.arange(len(golds.texts.numbers)))
        targets: list[Any] = []
        gold: list[int] = []
        flat = chain.from_iterable(golds.golds())
        for position, item in enumerate(flat):
            one = Doc(item.id, item.text, item.metadata)
            targets += (one, *item.alternatives)
            gold += [position] * (1 + len(item.alternatives))
        of_query = golds.texts.of_text[gold] if gold else np.empty(0, np.int64)
        n_targets = np.bincount(of_query, minlength=len(golds.texts))
        return cls(Entries.of(targets, n_targets.tolist(), "score"), np.array(gold, np.int64))

    def where(self, is_kept: Bools) -> Self:
        """Some of them; nothing but their texts is kept."""
        return type(self)(Entries(self.entries.texts.those(is_kept)), self.gold[is_kept])


class ArrayMatcher(BaseMatcher):
    """Scores all pairs of documents and targets of a batch at once."""

    def target_scores(self, batch: Batch, targets: Targets, notes: Notes) -> Floats:
        """The scores of each query, n documents down, t targets across, one behind the other."""
        raise NotImplementedError

    def targets(self, batch: Batch) -> Targets:
        """Those that it compares, at least one of each gold item."""
        return Targets.of(batch.golds)

    def flat_scores(self, batch: Batch, notes: Notes) -> Floats:
        """Of each query the n x m scores, gold items across: the best of a gold item's targets."""
        targets = self.targets(batch)
        scores = self.target_scores(batch, targets, notes)
        if len(targets.gold) == len(batch.golds.texts.numbers):
            return scores
        n_targets = np.bincount(targets.gold, minlength=len(batch.golds.texts.numbers))
        _, gold = of_pairs(batch.docs.texts.n_texts, batch.golds.texts.n_texts)
        if not gold.size:
            return np.zeros(0)
        best: Floats = np.maximum.reduceat(scores, starts(n_targets[gold]))
        return best

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield n x t scores in [0, 1]; 0 for a target that is not compared."""
        stream = iter(items)
        while part := [*islice(stream, _BATCH)]:
            batch = batch_of(part)
            every = Targets.of(batch.golds)
            targets = self.targets(batch)
            scores = self.target_scores(batch, targets, notes)
            is_compared = _compared(every, targets)
            end = first = 0
            for item in part:
                n, t = item.shape
                columns = is_compared[first : (first := first + t)].nonzero()[0]
                of_item = np.zeros((n, t))
                size = n * len(columns)
                of_item[:, columns] = scores[end : (end := end + size)].reshape(n, len(columns))
                yield of_item


def _compared(every: Targets, targets: Targets) -> Bools:
    """Which of all targets are compared; those left out have no text."""
    if len(every.gold) == len(targets.gold):
        return np.ones(len(every.gold), bool)
    is_compared: Bools = every.entries.texts.numbers >= 0
    return is_compared


def with_texts(matcher: BaseMatcher, batch: Batch) -> Targets:
    """The targets of a batch that have a text, for a matcher that compares texts.

    Raises:
        TextlessError: a document has none, or a gold item and all its alternatives have none.
    """
    targets = Targets.of(batch.golds)
    has_text: Bools = targets.entries.texts.numbers >= 0
    n_golds = len(batch.golds.texts.numbers)
    n_with_text = np.bincount(targets.gold[has_text], minlength=n_golds)
    if not (batch.docs.have_texts and n_with_text.all()):
        items = items_of(batch)
        for item in items:
            item.target_texts(matcher.name)
        for item in items:
            item.doc_texts(matcher.name)
    return targets if has_text.all() else targets.where(has_text)
