"""What the metrics are made of: ranks and counts from the match table, at every cut-off at once.

Notation (q queries, c cut-offs): the gold items of a query number m, its documents n; c_j is the
first rank at which gold item j is matched. Each quantity is one `bincount` of events (something
happens for a query at a rank) into the cut-offs and one cumulative sum over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import Bools, Floats, Ints
from kragx.metrics.match_table import MatchTable


class TableView:
    """A match table at one relevance level and at several cut-offs.

    Args:
        table: the matches.
        cuts: the cut-offs k, ascending; infinity stands for the whole list.
        rel: the least grade that counts as gold; None for any grade above 0.
        count_repeats: whether a repeated document may be relevant again.

    Attributes:
        table, cuts: as given.
        is_gold: (g) whether each gold item's grade is high enough.
        gold_query: (g) its query.
        n_gold: (q) m, the gold items of each query.
        empty: (q) whether there is no gold.
        countable: (p) pairs of a gold item with a document that is not a repeated one.
        pairs: matches that count, by query and rank: document, gold item, rank.
        finds: of these those in which a gold item is found: at its c_j.
        found_items: found gold items by query, then c: their query, their c, their flat position.
        found_cells: the cells of these; most metrics add something up in them.
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
        self.table = table
        self.cuts: Floats = np.array(cuts, np.float64)
        self.is_gold: Bools = table.is_gold(rel)
        self.gold_query: Ints = table.gold_query
        self.n_gold: Ints = np.bincount(
            self.gold_query[self.is_gold], minlength=len(table.answered)
        )
        self.empty: Bools = np.equal(self.n_gold, 0)
        self.countable: Bools = self.is_gold[table.pair_gold]
        if not count_repeats:
            self.countable &= ~table.repeated[table.pair_doc]
        counts = table.matched & self.countable
        docs, golds = (
            column[counts].astype(np.int64) for column in (table.pair_doc, table.pair_gold)
        )
        ranks = docs - table.doc_start[self.gold_query[golds]] + 1
        self.pairs: tuple[Ints, Ints, Ints] = docs, golds, ranks
        self.finds: Bools = np.equal(self.first_rank(golds, ranks)[golds], ranks)
        found_golds = golds[self.finds]  # of each gold item's pairs one has its first rank
        self.found_items: tuple[Ints, Ints, Ints] = (
            self.gold_query[found_golds],
            ranks[self.finds],
            found_golds,
        )
        # For each rank at which anything can be credited the first cut-off that reaches it.
        last_rank = int(max(table.longest, self.n_gold.max(initial=0)))
        self._cut_of_rank: Ints = np.searchsorted(self.cuts, np.arange(last_rank + 1))
        self.found_cells: Ints = self.cells(*self.found_items[:2])

    @cached_property
    def depth(self) -> Floats:
        """(c, q) min(k, n), the documents within each cut-off."""
        return np.minimum(self.cuts[:, None], self.table.n_docs)

    @cached_property
    def limit(self) -> Floats:
        """(c, q) k, or n where nothing is cut."""
        return np.where(np.isinf(self.cuts)[:, None], self.table.n_docs, self.cuts[:, None])

    def first_rank(self, golds: Ints, ranks: Ints) -> Ints:
        """(g) the first rank of each gold item in matches that go by rank, 0 without any."""
        first = np.zeros(len(self.is_gold), np.int64)
        # Written backwards, the first match of each gold item is written last.
        first[golds[::-1]] = ranks[::-1]
        return first

    @cached_property
    def new_grades(self) -> tuple[Ints, Ints, Floats]:
        """Ranks at which gold is found: their query, the rank, the largest grade found there."""
        queries, ranks, golds = self.found_items
        is_other_query = np.diff(queries, prepend=-1) != 0
        starts = np.flatnonzero(is_other_query | (np.diff(ranks, prepend=-1) != 0))
        grades = self.table.grade[golds]
        return queries[starts], ranks[starts], np.maximum.reduceat(grades, starts)

    @cached_property
    def not_one_to_one(self) -> Bools:
        """(q) whether a document matches several gold items, or a gold item several documents."""
        docs, golds, _ = self.pairs
        several = ~self.finds | (np.diff(docs, prepend=-1) == 0)
        queries = np.zeros(self.table.n_queries, bool)
        queries[self.gold_query[golds[several]]] = True
        return queries

    @cached_property
    def judged_not_relevant(self) -> TableView:
        """The documents that match no gold, with what is graded 0, or below `rel`, as their gold.

        As trec_eval has it: items of a grade below 0 count as not judged.
        """
        table = self.table
        is_relevant = table.docs_in(table.matched & self.is_gold[table.pair_gold])
        rest = table.of_pairs(~is_relevant[table.pair_doc])
        grade = (~self.is_gold & (table.grade >= 0)).astype(np.float64)
        repeats = self._count_repeats
        return TableView(replace(rest, grade=grade), [np.inf], None, count_repeats=repeats)

    @cached_property
    def found(self) -> Floats:
        """(c, q) gold items with c_j <= k."""
        return self.sums(self.found_cells)

    @cached_property
    def reciprocal_rank(self) -> Floats:
        """(c, q) 1/c of the first found gold item, 0 if there is none within k."""
        queries, ranks, _ = self.found_items
        first = np.flatnonzero(np.diff(queries, prepend=-1))
        return self.sums(self.found_cells[first], 1.0 / ranks[first])

    def precision_sum(self, credit: str, *, at_most_k: bool = False) -> Floats:
        """(c, q) the sum over hits within k, i = 1, 2, ... in order of rank c, of i / max(c_i, i).

        Hits are found gold items or, with credit ``document``, relevant documents. `at_most_k`
        takes only the first k of them: one document can be several hits at once.
        """
        queries, ranks, _ = self.found_items if credit == "gold" else self.relevant_docs
        i = order_within(queries)
        credited = np.maximum(ranks, i)
        return self.sums(self.cells(queries, credited if at_most_k else ranks), i / credited)

    def hits(self, credit: str) -> Floats:
        """(c, q) found gold items within k or, with credit ``document``, relevant documents."""
        return self.found if credit == "gold" else self.relevant

    @cached_property
    def relevant_docs(self) -> tuple[Ints, Ints, Bools]:
        """Relevant documents: their query, their rank, whether they find a gold item first."""
        docs, golds, ranks = self.pairs
        starts = np.flatnonzero(np.diff(docs, prepend=-1))
        is_new = np.logical_or.reduceat(self.finds, starts)
        return self.gold_query[golds[starts]], ranks[starts], is_new

    @cached_property
    def relevant(self) -> Floats:
        """(c, q) documents within k that match a gold item."""
        queries, ranks, _ = self.relevant_docs
        return self.sums(self.cells(queries, ranks))

    @cached_property
    def redundant(self) -> Floats:
        """(c, q) documents within k that match only gold items found before them."""
        queries, ranks, is_new = self.relevant_docs
        return self.sums(self.cells(queries[~is_new], ranks[~is_new]))

    @cached_property
    def discount(self) -> Floats:
        """For each rank from 0, 1 / log2(1 + rank); infinity, and never used, for 0."""
        with np.errstate(divide="ignore"):
            discount: Floats = 1.0 / np.log2(1.0 + np.arange(len(self._cut_of_rank)))
        return discount

    def cells(self, queries: Ints, ranks: Ints) -> Ints:
        """Where events fall: the first cut-off that reaches each, and its query, as one number."""
        cells = self._cut_of_rank[ranks]
        cells *= self.table.n_queries
        cells += queries
        return cells

    def sums(self, cells: Ints, weights: Floats | None = None) -> Floats:
        """(c, q) for each query and cut-off, the sum of the events with rank <= k."""
        n_queries, n_cuts = self.table.n_queries, len(self.cuts)
        # One more row takes what lies beyond the last cut-off.
        counts = np.bincount(cells, weights, minlength=(n_cuts + 1) * n_queries)
        sums = counts.reshape(n_cuts + 1, n_queries)[:n_cuts]
        for row in range(1, n_cuts):  # whole rows at once, which is faster than cumsum
            sums[row] += sums[row - 1]
        return sums.astype(np.float64, copy=False)

    def discounted(self, queries: Ints, ranks: Ints, gains: Floats | float = 1.0) -> Floats:
        """(c, q) the sum of discounted gains of the events with rank <= k."""
        return self.sums(self.cells(queries, ranks), gains * self.discount[ranks])

    def at_every_cut(self, values: Floats) -> Floats:
        """(c, q) values (q) that know no cut-off, the same at each."""
        return np.broadcast_to(values, (len(self.cuts), len(values)))

    def zeros(self) -> Floats:
        """(c, q) nothing yet."""
        return np.zeros((len(self.cuts), self.table.n_queries))


def ratio(numerator: Floats | Ints, denominator: Floats | Ints, empty: float = 0.0) -> Floats:
    """`numerator / denominator`, and `empty` where the denominator is 0."""
    result = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), empty)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result


def order_within(queries: NDArray[np.integer[Any]]) -> Ints:
    """1, 2, ... within each stretch of equal queries."""
    return count_within(queries, np.ones(len(queries), bool))


def count_within(queries: NDArray[np.integer[Any]], flags: Bools) -> Ints:
    """The running count of flags within each stretch of equal queries."""
    is_first = np.ones(len(queries), bool)
    is_first[1:] = queries[1:] != queries[:-1]
    starts, counts = np.flatnonzero(is_first), np.cumsum(flags, dtype=np.int64)
    # The count at a stretch's first element, but for its own flag, is of what came before.
    return counts - np.repeat(counts[starts] - flags[starts], np.diff(starts, append=len(queries)))


@dataclass(frozen=True)
class PooledCounts:
    """The four counts of a micro average, over the queries that were scored.

    There is no single count of true positives: one chunk that covers two gold items is one
    relevant document and two found gold items. Where queries have weights, each document and item
    counts as often as its query is asked.
    """

    relevant: float
    other: float
    found: float
    missed: float

    @property
    def settled(self) -> PooledCounts:
        """As they are kept: sums of weights are the same in another order, numbers whole."""
        return PooledCounts(*map(settled, (self.relevant, self.other, self.found, self.missed)))

    def precision(self) -> float:
        """Relevant documents over all; 0 without any."""
        counts = self.settled
        return counts.relevant / (counts.relevant + counts.other or 1)

    def recall(self) -> float:
        """Found gold over all; 0 without any."""
        counts = self.settled
        return counts.found / (counts.found + counts.missed or 1)

    def f1(self) -> float:
        """The harmonic mean of the two."""
        return harmonic(self.precision(), self.recall())


def settled(total: float) -> float:
    """A sum of weights without what depends on its order; whole where it is."""
    n = round(float(total), 6)
    return int(n) if n.is_integer() else n


def harmonic(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where both are."""
    return 2 * precision * recall / (precision + recall or 1.0)
