"""What the metrics are made of: ranks and counts from the match table, at every cut-off at once.

Notation (q queries, c cut-offs): the gold items of a query number m, its documents n; c_j is the
first rank at which gold item j is matched. Each quantity is one `bincount` of events (something
happens for a query at a rank) into the cut-offs and one cumulative sum over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from kragx.errors import DataError
from kragx.metrics.table import Bools, Floats, Ints, MatchTable


class TableView:
    """A match table at one relevance level and at several cut-offs.

    Args:
        table: the matches.
        cuts: the cut-offs k, ascending; infinity stands for the whole list.
        rel: the least grade that counts as gold; None for any grade above 0.
        count_repeats: whether a repeated document may be relevant again.
    """

    def __init__(
        self,
        table: MatchTable,
        cuts: Sequence[float],
        rel: float | None,
        *,
        count_repeats: bool = False,
    ) -> None:
        self._count_repeats = count_repeats
        self._table = table
        self._cuts = np.array(cuts, np.float64)
        self._is_gold = table.grade > 0 if rel is None else table.grade >= rel
        self._gold_query = table.gold_query

    # -- sizes -------------------------------------------------------------------------------

    @cached_property
    def n_gold(self) -> Ints:
        """(q) m, the gold items of each query."""
        return np.bincount(self._gold_query[self._is_gold], minlength=self._table.n_queries)

    @cached_property
    def empty(self) -> Bools:
        """(q) whether there is no gold."""
        empty: Bools = self.n_gold == 0
        return empty

    @cached_property
    def n_docs(self) -> Ints:
        """(q) n, the documents of each query."""
        return self._table.n_docs

    @cached_property
    def depth(self) -> Floats:
        """(c, q) min(k, n), the documents within each cut-off."""
        return np.minimum(self._cuts[:, None], self.n_docs)

    @cached_property
    def limit(self) -> Floats:
        """(c, q) k, or n where nothing is cut."""
        return np.where(np.isinf(self._cuts)[:, None], self.n_docs, self._cuts[:, None])

    @cached_property
    def cut_gold(self) -> Floats:
        """(c, q) min(m, k)."""
        return np.minimum(self._cuts[:, None], self.n_gold)

    # -- gold items, in the order in which they are found ------------------------------------

    @cached_property
    def _countable(self) -> Bools:
        """(p) pairs of a gold item with a document that is not a repeated one."""
        is_gold = self._is_gold[self._table.pair_gold]
        if self._count_repeats:
            return is_gold
        return is_gold & ~self._table.repeated[self._table.pair_doc]

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Matches that count: document, gold item, rank."""
        table = self._table
        counts = table.matched & self._countable
        docs = table.pair_doc[counts].astype(np.int64)
        golds = table.pair_gold[counts].astype(np.int64)
        return docs, golds, docs - table.doc_start[self._gold_query[golds]] + 1

    @cached_property
    def _first_rank(self) -> Ints:
        """(g) c_j of each gold item, 0 if it is never found."""
        _, golds, ranks = self._pairs
        first = np.zeros(len(self._is_gold), np.int64)
        # Pairs go by rank; written backwards, the first match of each gold item is written last.
        first[golds[::-1]] = ranks[::-1]
        return first

    @cached_property
    def _found(self) -> tuple[Ints, Ints, Ints]:
        """Found gold items by query, then c: their query, their c, their flat position."""
        _, golds, ranks = self._pairs
        # Pairs go by query and rank, and of each gold item's pairs one has its first rank.
        first = self._first_rank[golds] == ranks
        golds = golds[first]
        return self._gold_query[golds], ranks[first], golds

    @cached_property
    def _found_cells(self) -> Ints:
        """The cells of the found gold items; most metrics add something up in them."""
        queries, ranks, _ = self._found
        return self._cells(queries, ranks)

    @cached_property
    def found(self) -> Floats:
        """(c, q) gold items with c_j <= k."""
        return self._sums(self._found_cells)

    @cached_property
    def reciprocal_rank(self) -> Floats:
        """(c, q) 1/c of the first found gold item, 0 if there is none within k."""
        queries, ranks, _ = self._found
        first = np.flatnonzero(np.diff(queries, prepend=-1))
        return self._sums(self._found_cells[first], 1.0 / ranks[first])

    def precision_sum(self, credit: str, *, at_most_k: bool = False) -> Floats:
        """(c, q) the sum over hits within k, i = 1, 2, ... in order of rank c, of i / max(c_i, i).

        Hits are found gold items or, with credit ``document``, relevant documents. `at_most_k`
        takes only the first k of them: one document can be several hits at once.
        """
        queries, ranks, _ = self._found if credit == "gold" else self._relevant_docs
        cells = self._found_cells if credit == "gold" else self._relevant_cells
        i = _order_within(queries)
        credited = np.maximum(ranks, i)
        return self._sums(self._cells(queries, credited) if at_most_k else cells, i / credited)

    def hits(self, credit: str) -> Floats:
        """(c, q) found gold items within k or, with credit ``document``, relevant documents."""
        return self.found if credit == "gold" else self.relevant

    # -- documents ---------------------------------------------------------------------------

    @cached_property
    def _relevant_docs(self) -> tuple[Ints, Ints, Bools]:
        """Relevant documents: their query, their rank, whether they find a gold item first."""
        docs, golds, ranks = self._pairs
        finds = self._first_rank[golds] == ranks
        starts = np.flatnonzero(np.diff(docs, prepend=-1))
        if len(starts) == len(docs):  # each matches one gold item, as ids do
            return self._gold_query[golds], ranks, finds
        new = np.logical_or.reduceat(finds, starts) if starts.size else np.empty(0, bool)
        return self._gold_query[golds[starts]], ranks[starts], new

    @cached_property
    def _relevant_cells(self) -> Ints:
        queries, ranks, _ = self._relevant_docs
        return self._cells(queries, ranks)

    @cached_property
    def relevant(self) -> Floats:
        """(c, q) documents within k that match a gold item."""
        return self._sums(self._relevant_cells)

    @cached_property
    def redundant(self) -> Floats:
        """(c, q) documents within k that match only gold items found before them."""
        return self._sums(self._relevant_cells[~self._relevant_docs[2]])

    # -- gains -------------------------------------------------------------------------------

    def dcg(self, gain: str) -> tuple[Floats, Floats]:
        """(c, q) DCG and ideal DCG, at most t gold items credited within the first t ranks.

        DCG@k is the sum over t <= k of (T_t - T_(t-1)) / log2(1 + t), where T_t is the sum of the
        t largest gains among gold items with c_j <= t. That sum is taken in layers: between one
        gain and the next smaller one, T_t holds that difference min(t, F_t) times, F_t being the
        number of items that reach the layer with c_j <= t; so the i-th such item counts at rank
        max(c_i, i).

        Raises:
            DataError: a gain, or a query's sum of gains, is not finite.
        """
        gains = self._gains(gain)
        queries, ranks, golds = self._found
        ideal = np.flatnonzero(self._is_gold)
        of_ideal = self._gold_query[ideal]
        if (_order_within(queries) <= ranks).all():
            # No item has to wait for its rank, so all layers of an item are credited at c.
            best = self._best_first(of_ideal, gains[ideal])
            ranks_ideal = _order_within(of_ideal)
            return (
                self._sums(self._found_cells, gains[golds] * self._discount[ranks]),
                self._up_to(of_ideal, ranks_ideal, best * self._discount[ranks_ideal]),
            )
        level, step = self._levels(gains, ideal[np.lexsort((gains[ideal], of_ideal))])
        return (
            self._layered(queries, ranks, level[golds], step),
            self._layered(of_ideal, np.ones_like(ideal), level[ideal], step),
        )

    def _best_first(self, queries: Ints, gains: Floats) -> Floats:
        """The gains of each query, descending; `queries` ascend."""
        top = int(min(gains.max(initial=0.0), _FEW))
        if top == _FEW or (gains != np.floor(gains)).any():
            return gains[np.lexsort((-gains, queries))]
        # A few whole numbers, the usual gains, are counted; nothing is sorted.
        cells = queries * (top + 1) + (top - gains.astype(np.int64))
        counts = np.bincount(cells, minlength=self._table.n_queries * (top + 1))
        return np.repeat(np.tile(np.arange(top, -1.0, -1.0), self._table.n_queries), counts)

    def judged_dcg(self, gain: str) -> tuple[Floats, Floats]:
        """(c, q) DCG and ideal DCG where a gold item's gain is the judge's best grade of it so far.

        As `dcg`, with one layer for each grade: an item reaches it at the first rank at which it is
        matched with that grade. In the ideal every item has the highest grade at once.
        """
        _, golds, ranks = self._pairs
        grades = self._table.pair_score[self._table.matched & self._countable]
        total = np.zeros((len(self._cuts), self._table.n_queries))
        below = 0.0
        for grade in np.unique(grades):
            reach = grades >= grade
            first = np.zeros(len(self._is_gold), np.int64)
            first[golds[reach][::-1]] = ranks[reach][::-1]  # as in _first_rank
            new = reach & (first[golds] == ranks)
            queries = self._gold_query[golds[new]]
            credited = np.maximum(ranks[new], _order_within(queries))
            height = _gain(grade, gain) - below
            total += height * self._up_to(queries, credited, self._discount[credited])
            below += height
        return total, _gain(self._table.top, gain) * self.ideal_of_ones

    # -- gains as K-RAG has them -------------------------------------------------------------

    @cached_property
    def document_dcg(self) -> Floats:
        """(c, q) the sum of 1 / log2(1 + rank) over the relevant documents within k."""
        queries, ranks, _ = self._relevant_docs
        return self._up_to(queries, ranks, self._discount[ranks])

    @cached_property
    def ideal_of_ones(self) -> Floats:
        """(c, q) the sum of 1 / log2(1 + i) for i = 1 to min(m, k)."""
        queries = self._gold_query[self._is_gold]
        ranks = _order_within(queries)
        return self._up_to(queries, ranks, self._discount[ranks])

    @cached_property
    def _score_gains(self) -> tuple[Ints, Ints, Floats]:
        """Every document: its query, its rank, and 2^s - 1, s its best score (matched or not)."""
        table = self._table
        best = np.zeros(len(table.repeated))
        countable = self._countable
        np.maximum.at(best, table.pair_doc[countable], table.pair_score[countable])
        queries = np.repeat(np.arange(table.n_queries), table.n_docs)
        return queries, _order_within(queries), np.exp2(best) - 1.0

    @cached_property
    def score_dcg(self) -> Floats:
        """(c, q) DCG of 2^s - 1, s a document's best score (matched or not)."""
        queries, ranks, gains = self._score_gains
        return self._up_to(queries, ranks, gains * self._discount[ranks])

    @cached_property
    def ideal_of_scores(self) -> Floats:
        """(c, q) the same documents within k in their best order; each cut-off has its own.

        Raises:
            DataError: a query has documents and no gold (K-RAG itself fails there).
        """
        table = self._table
        if ((self.n_gold == 0) & (self.n_docs > 0)).any():
            query = int(np.flatnonzero((self.n_gold == 0) & (self.n_docs > 0))[0]) + 1
            raise DataError(
                f"query number {query} has no gold, and K-RAG's nDCG of ROUGE scores does not "
                "exist for it; leave ndcg out, or use the profile 'kragx'"
            )
        queries, ranks, gains = self._score_gains
        ideal = np.zeros((len(self._cuts), table.n_queries))
        for row, cut in enumerate(self._cuts):
            within = ranks <= cut
            of_query, of_cut = queries[within], gains[within]
            order = np.lexsort((-of_cut, of_query))  # queries stay in place, gains descend
            ideal[row] = np.bincount(
                of_query,
                of_cut[order] * self._discount[ranks[within]],
                minlength=table.n_queries,
            )
        return ideal

    # -- layers ------------------------------------------------------------------------------

    def _gains(self, gain: str) -> Floats:
        grades = np.where(self._is_gold, self._table.grade, 0.0)
        with np.errstate(over="ignore"):
            gains = np.exp2(grades) - 1.0 if gain == "exp2" else grades
            sums = np.bincount(self._gold_query, gains, minlength=self._table.n_queries)
        if not np.isfinite(sums).all():
            query = int(np.flatnonzero(~np.isfinite(sums))[0])
            grade = grades[self._gold_query == query].max()
            raise DataError(
                f"query number {query + 1}: a grade of {grade:g} gives a gain ({gain}) that is "
                "not finite; use smaller grades or gain=linear"
            )
        return gains

    def _levels(self, gains: Floats, golds: Ints) -> tuple[Ints, list[Floats]]:
        """(g) the layer that each gold item reaches, and for each layer its height by query (q).

        `golds` are the gold items by query, each query's gains ascending.
        """
        queries, values = self._gold_query[golds], gains[golds]
        same_query = np.diff(queries, prepend=-1) == 0
        below = np.where(same_query, np.concatenate(([0.0], values[:-1])), 0.0)
        rises = ~same_query | (values > below)
        # Within a query, count the rises: its first layer is 0.
        level_sorted = _count_within(queries, rises) - 1
        level = np.zeros(len(gains), np.int64)
        level[golds] = level_sorted
        steps: list[Floats] = []
        for layer in range(int(level_sorted.max(initial=-1)) + 1):
            heights = np.zeros(self._table.n_queries)
            at = rises & (level_sorted == layer)
            heights[queries[at]] = values[at] - below[at]
            steps.append(heights)
        return level, steps

    def _layered(self, queries: Ints, ranks: Ints, level: Ints, steps: list[Floats]) -> Floats:
        total = np.zeros((len(self._cuts), self._table.n_queries))
        for layer, heights in enumerate(steps):
            reach = level >= layer
            of_query = queries[reach]
            credited = np.maximum(ranks[reach], _order_within(of_query))
            total += self._up_to(of_query, credited, heights[of_query] * self._discount[credited])
        return total

    @cached_property
    def _last_rank(self) -> int:
        """The greatest rank at which anything can be credited in any query."""
        return int(max(self.n_docs.max(initial=0), self._table.n_gold.max(initial=0)))

    @cached_property
    def _cut_of_rank(self) -> Ints:
        """For each rank from 0, the first cut-off that reaches it."""
        return np.searchsorted(self._cuts, np.arange(self._last_rank + 1))

    @cached_property
    def _discount(self) -> Floats:
        """For each rank from 0, 1 / log2(1 + rank); infinity, and never used, for 0."""
        with np.errstate(divide="ignore"):
            discount: Floats = 1.0 / np.log2(1.0 + np.arange(self._last_rank + 1))
        return discount

    # -- events ------------------------------------------------------------------------------

    def _cells(self, queries: Ints, ranks: Ints) -> Ints:
        """Where events fall: the first cut-off that reaches each, and its query, as one number."""
        cells = self._cut_of_rank[ranks]
        cells *= self._table.n_queries
        cells += queries
        return cells

    def _sums(self, cells: Ints, weights: Floats | None = None) -> Floats:
        """(c, q) for each query and cut-off, the sum of the events with rank <= k."""
        n_queries, n_cuts = self._table.n_queries, len(self._cuts)
        # One more row takes what lies beyond the last cut-off.
        counts = np.bincount(cells, weights, minlength=(n_cuts + 1) * n_queries)
        sums = counts.reshape(n_cuts + 1, n_queries)[:n_cuts]
        for row in range(1, n_cuts):  # whole rows at once, which is faster than cumsum
            sums[row] += sums[row - 1]
        return sums.astype(np.float64, copy=False)

    def _up_to(self, queries: Ints, ranks: Ints, weights: Floats | None = None) -> Floats:
        return self._sums(self._cells(queries, ranks), weights)


def ratio(numerator: Floats, denominator: Floats, empty: float = 0.0) -> Floats:
    """`numerator / denominator`, and `empty` where the denominator is 0."""
    zero = denominator == 0
    if not zero.any():
        return numerator / denominator
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), empty)
    np.divide(numerator, denominator, out=result, where=~zero)
    return result


def _gain(grade: float, gain: str) -> float:
    return float(np.exp2(grade) - 1.0) if gain == "exp2" else float(grade)


_FEW = 32
"""Gains below this are counted where they are whole; from there on one sort is as fast."""


def _order_within(queries: Ints) -> Ints:
    """1, 2, ... within each stretch of equal queries."""
    starts, lengths = _stretches(queries)
    return np.arange(1, len(queries) + 1) - np.repeat(starts, lengths)


def _count_within(queries: Ints, flags: Bools) -> Ints:
    """The running count of flags within each stretch of equal queries."""
    counts: Ints = np.cumsum(flags, dtype=np.int64)
    starts, lengths = _stretches(queries)
    return counts - np.repeat(counts[starts] - flags[starts], lengths)


def _stretches(queries: Ints) -> tuple[Ints, Ints]:
    """Where each stretch of equal queries begins, and how long it is."""
    if not queries.size:
        return queries, queries
    starts = np.concatenate(([0], np.flatnonzero(queries[1:] != queries[:-1]) + 1))
    return starts, np.diff(np.append(starts, len(queries)))


def distinct_cuts(ks: Iterator[int | None]) -> list[float]:
    """The cut-offs of several metrics as a `TableView` takes them: ascending, infinity for None."""
    return sorted({np.inf if k is None else float(k) for k in ks})
