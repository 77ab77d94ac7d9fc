"""How much of the gold, and how much beside it, the first tokens of a stream hold.

A query's retrieved texts, one after another, are its *stream*. Each token of gold is covered from
some place of the stream on, so one alignment answers for every cut: the top k texts, or a budget of
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kragx.data.lists import Floats, Ints
from kragx.metrics.match_table import ratio
from kragx.metrics.spans.align import Cells
from kragx.metrics.spans.rows import NEVER


@dataclass(frozen=True)
class Spread:
    """Where in its stream each token of gold is covered, for q queries.

    Attributes:
        first: for each token of gold how many tokens of the stream have to be read until it is
            covered.
        where: the token of all streams that covers it, -1 without.
        twin: for each token of gold the first one that is the same passage's.
        text: the gold text of each token of gold.
        text_length, text_item: its tokens and its gold item, for each gold text.
        item_query: the query of each gold item.
        dull: for each token of the streams that is gold or a repetition how many have to be read
            until that is known; all others are beside the point.
        dull_query: the query of each of them.
        ends: for each query the tokens in the stream after each of its documents, from 0.
    """

    first: Ints
    where: Ints
    twin: Ints
    text: Ints
    text_length: Ints
    text_item: Ints
    item_query: Ints
    dull: Ints
    dull_query: Ints
    ends: Sequence[Ints]

    @classmethod
    def of(
        cls,
        cells: Cells,
        repeats: Ints,
        twin: Ints,
        text_length: Ints,
        text_item: Ints,
        item_query: Ints,
        doc_lengths: Sequence[Ints],
    ) -> Spread:
        """That of some queries, whose streams and gold tokens stand one after another.

        Args:
            cells: the aligned tokens.
            repeats: for each token of the streams where it is known to repeat an earlier one.
            twin: as of the class.
            text_length: as of the class.
            text_item: as of the class.
            item_query: as of the class.
            doc_lengths: for each query how many tokens each of its documents adds to its stream.
        """
        ends = [np.concatenate(([0], np.cumsum(lengths))) for lengths in doc_lengths]
        sizes = np.array([end[-1] for end in ends], np.int64)
        start = np.cumsum(sizes) - sizes
        text = np.repeat(np.arange(len(text_length)), text_length)
        first, stream_place = np.full(len(text), NEVER), np.full(len(text), -1)
        # Sorted so that of several cells of a token the first known is written last.
        order = np.lexsort((-cells.stream, -cells.known))
        gold = cells.gold[order]
        first[gold], stream_place[gold] = cells.known[order], cells.stream[order]
        dull = repeats.copy()
        np.minimum.at(dull, cells.stream, cells.known)
        # Most tokens are neither, and streams are long.
        places = np.flatnonzero(dull != NEVER)
        dull_query = np.repeat(np.arange(len(sizes)), sizes)[places]
        first = _read(first, start[item_query[text_item[text]]])
        dull = _read(dull[places], start[dull_query])
        return cls(
            first,
            stream_place,
            twin,
            text,
            text_length,
            text_item,
            item_query,
            dull,
            dull_query,
            ends,
        )

    @classmethod
    def joined(cls, spreads: Iterable[Spread]) -> Spread:
        """The spread of all queries of some, one after another."""
        columns: list[tuple[Ints, ...]] = [(np.empty(0, np.int64),) * 9]
        ends: list[Ints] = []
        n_tokens = n_texts = n_items = n_stream = 0
        for part in spreads:
            columns.append(
                (
                    part.first,
                    np.where(part.where < 0, -1, part.where + n_stream),
                    part.twin + n_tokens,
                    part.text + n_texts,
                    part.text_length,
                    part.text_item + n_items,
                    part.item_query + len(ends),
                    part.dull,
                    part.dull_query + len(ends),
                )
            )
            ends += part.ends
            n_tokens += len(part.first)
            n_texts += len(part.text_length)
            n_items += len(part.item_query)
            n_stream += sum(int(end[-1]) for end in part.ends)
        first, stream_place, twin, text, length, item, query, dull, dull_query = (
            np.concatenate(column) for column in zip(*columns)
        )
        return cls(first, stream_place, twin, text, length, item, query, dull, dull_query, ends)

    @property
    def n_queries(self) -> int:
        """How many queries there are (q)."""
        return len(self.ends)

    def after(self, depths: Sequence[int] | Ints) -> Ints:
        """(q) how many tokens of each stream its first documents hold."""
        return np.array(
            [end[min(int(depth), len(end) - 1)] for end, depth in zip(self.ends, depths)], np.int64
        )

    def coverage(self, cut: Ints) -> Floats:
        """(q) the share of gold tokens in the first `cut` tokens, mean over the gold items.

        Of a gold item's alternatives the best covered counts. NaN for a query without gold.
        """
        texts, shares = self._best_texts(cut)
        total = self._per_query(self.item_query[self.text_item[texts]], shares)
        return ratio(total, self._per_query(self.item_query), empty=np.nan)

    def density(self, cut: Ints) -> Floats:
        """(q) covered gold tokens over those and what is beside the point; 0 for an empty list."""
        covered, _, beside = self._counts(cut)
        return ratio(covered, covered + beside)

    def iou(self, cut: Ints) -> Floats:
        """(q) covered gold tokens over all gold tokens and what is beside the point."""
        covered, missed, beside = self._counts(cut)
        return ratio(covered, covered + missed + beside)

    def _best_texts(self, cut: Ints) -> tuple[Ints, Floats]:
        """For each gold item the text that is best covered, and its covered share."""
        covered = self.first <= cut[self._token_query]
        counts = np.bincount(self.text[covered], minlength=len(self.text_length))
        shares = counts / np.maximum(self.text_length, 1)
        best = np.arange(len(shares))
        # Without alternatives each text is its item's best.
        if len(shares) > len(self.item_query):
            order = np.lexsort((best, -shares, self.text_item))
            best = order[np.flatnonzero(np.diff(self.text_item[order], prepend=-1))]
        return best, shares[best]

    def _counts(self, cut: Ints) -> tuple[Floats, Floats, Floats]:
        """(q) distinct covered gold tokens, gold tokens missed, and tokens beside the point.

        NaN for a query without gold.
        """
        is_best = np.zeros(len(self.text_length), bool)
        is_best[self._best_texts(cut)[0]] = True
        counts = is_best[self.text]
        covered = counts & (self.first <= cut[self._token_query])
        # Gold items may share a passage; what one token of the stream covers counts once.
        place, place_query = self._places
        covers = np.zeros(len(place_query), bool)
        covers[place[covered]] = True
        missed = np.zeros(len(counts), bool)
        missed[self.twin[counts & ~covered]] = True
        # Last, as a passage that one item's text covers is missed by none that shares it.
        missed[self.twin[covered]] = False
        is_known = self.dull <= cut[self.dull_query]
        has_gold = self._per_query(self.item_query) > 0
        return (
            np.where(has_gold, self._per_query(place_query[covers]), np.nan),
            self._per_query(self._token_query[missed]),
            cut - self._per_query(self.dull_query[is_known]),
        )

    def _per_query(self, queries: Ints, weights: Floats | None = None) -> Floats:
        """(q) the sum of what is a query's."""
        sums = np.bincount(queries, weights, minlength=self.n_queries)
        return sums.astype(np.float64, copy=False)

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """For each token of gold which of the places that cover one; the query of each of these."""
        _, first, place = np.unique(self.where, return_index=True, return_inverse=True)
        return place, self._token_query[first]

    @cached_property
    def _token_query(self) -> Ints:
        return self.item_query[self.text_item[self.text]]


def _read(places: Ints, start: Ints) -> Ints:
    """From places in the streams of a part to how many tokens of its own one have been read."""
    return np.where(places == NEVER, NEVER, places - start + 1)
