"""Matchers that score all pairs of a batch at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from kragx.data.batch import Batch
from kragx.data.ngrams import of_pairs
from kragx.matchers.base import BaseMatcher, Trace
from kragx.matchers.items import MatchItem, Targets, batch_of, items_of, shapes
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats

# Queries whose texts are compared at once: enough for a tokenizer or a model that works in batches,
# and for numpy's calls to take no time beside the work, few enough to hold in memory.
_BATCH = 512


class ArrayMatcher(BaseMatcher):
    """Scores all pairs of documents and targets of a batch at once.

    A subclass gives `target_scores`, or all of the trace (`_trace`).
    """

    def target_scores(self, batch: Batch, targets: Targets, notes: Notes) -> Floats:
        """The scores of each query, n documents down, t targets across, one behind the other."""
        raise NotImplementedError

    def compared(self, batch: Batch, targets: Targets) -> Targets:
        """Those that it compares of all targets: all, or all that have a text."""
        return targets

    def trace(self, batch: Batch, notes: Notes, wanted: Bools | None = None) -> Trace:
        """What it says of the pairs of a batch; 0 of a target that is not compared."""
        n_pairs = int((np.multiply(*shapes(batch))).sum())
        return self._trace(batch, notes, np.ones(n_pairs, bool) if wanted is None else wanted)

    def _trace(self, batch: Batch, notes: Notes, mask: Bools) -> Trace:
        every = Targets.of(batch.golds)
        targets = self.compared(batch, every)
        scores = self.target_scores(batch, targets, notes)
        if len(targets.gold) < len(every.gold):
            _, target = of_pairs(batch.docs.texts.n_texts, every.entries.texts.n_texts)
            is_compared: Bools = (every.entries.texts.numbers >= 0)[target]
            scores, of_compared = np.zeros(len(target)), scores
            scores[is_compared] = of_compared
        return Trace(self, scores, mask)

    def scores_where(
        self, items: Iterable[tuple[MatchItem, Bools | None]], notes: Notes
    ) -> Iterator[Floats]:
        """Yield n x t scores; 0 for a target that is not compared."""
        stream = iter(items)
        while part := [*islice(stream, _BATCH)]:
            batch = batch_of([item for item, _ in part])
            masks = [np.ones(item.shape, bool) if mask is None else mask for item, mask in part]
            mask = np.concatenate([*map(np.ravel, masks)])
            trace = ArrayMatcher.trace(self, batch, notes, mask)
            yield from (of_query.scores for of_query in trace.of_queries(*shapes(batch)))


def with_texts(matcher: BaseMatcher, batch: Batch, targets: Targets) -> Targets:
    """Those targets of a batch that have a text, for a matcher that compares texts.

    Raises:
        TextlessError: a document has none, or a gold item and all its alternatives have none.
    """
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
