"""The match table, who matched whom for all queries at once; and the ranks and counts in it.

Queries hold different numbers of documents and gold items, so the columns are ragged: everything
of one kind stands in one flat array, and the `*_start` arrays say where each query's part begins.

A `TableView` has what metrics are made of, at every cut-off at once. Notation (q queries, c
cut-offs): the gold items of a query number m, its documents n; c_j is the first rank at which gold
item j is matched. Each quantity is one `bincount` of events (something happens for a query at a
rank) into the cut-offs and one cumulative sum over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import Bools, Floats, Ints
from kragx.ground.errors import DataError, KragxError, UsageError
from kragx.metrics.threshold import matches


class RowPlace(str):
    """The query of an error, by its row of a table, until whoever knows its id says that."""

    def __new__(cls, row: int, label: str = "") -> Self:
        """A query that is known by its row alone, behind a label."""
        place = super().__new__(cls, f"{label}query number {row + 1}")
        place.row, place.label = row, label
        return place

    row: int
    label: str


@contextmanager
def by_id(query_ids: Sequence[str]) -> Iterator[None]:
    """Around what may raise for a row of a table: the error says the query's id."""
    try:
        yield
    except KragxError as error:
        place = error.field
        if not isinstance(place, RowPlace):
            raise
        named = error.within()
        named.field = f"{place.label}query {query_ids[place.row]!r}"
        raise named from error.__cause__


@dataclass(frozen=True)
class Votes:
    """Where several judges have decided: the least and the greatest vote.

    Attributes:
        pair_low, pair_high: (p) of each pair; NaN where its score is not known.
        grade_low, grade_high: (g) of each gold item's grade, which a pool's judges have given.
    """

    pair_low: Floats
    pair_high: Floats
    grade_low: Floats
    grade_high: Floats


@dataclass(frozen=True)
class MatchTable:
    """Scores of (document, gold item) pairs, for q queries, d documents, g gold items, p pairs.

    Attributes:
        doc_start: (q + 1) documents of query i are ``doc_start[i]`` to ``doc_start[i + 1] - 1``, in
            rank order.
        gold_start: (q + 1) the same for gold items.
        grade: (g) the grade of each gold item.
        answered: (q) whether the retriever answered at all (it is neither missing nor failed).
        repeated: (d) whether an earlier document of the same query is the same document.
        pair_doc, pair_gold: (p) the document and gold item of each pair, as flat positions, sorted
            by document, then gold item. Pairs with score 0 are not stored, but for those that
            some judge has voted for.
        pair_score: (p) the score of each pair; NaN if it is not known (a judgement that
            failed), which never matches and is never taken for 0: metrics then come with bounds.
        threshold: the least score that is a match.
        unanswerable: (q) whether the gold set says that nothing answers the query.
        top: the highest score or grade there is, which what is not known may have.
        votes: how far judges differ; None unless several have decided.
        weights: (q) how many asks each query stands for; None where all are alike.
    """

    doc_start: Ints
    gold_start: Ints
    grade: Floats
    answered: Bools
    repeated: Bools
    pair_doc: NDArray[np.int32]
    pair_gold: NDArray[np.int32]
    pair_score: Floats
    threshold: float
    unanswerable: Bools
    top: float = 1.0
    votes: Votes | None = None
    weights: Floats | None = None

    @property
    def n_queries(self) -> int:
        """How many queries there are (q)."""
        return len(self.answered)

    @property
    def n_docs(self) -> Ints:
        """(q) how many documents each query retrieved."""
        return np.diff(self.doc_start)

    @property
    def longest(self) -> int:
        """How many documents the longest list has; 0 where there is none."""
        return int(self.n_docs.max(initial=0))

    @property
    def n_gold(self) -> Ints:
        """(q) how many gold items each query has, whatever their grade."""
        return np.diff(self.gold_start)

    @property
    def gold_query(self) -> Ints:
        """(g) the query of each gold item, by position."""
        return np.repeat(np.arange(len(self.answered)), np.diff(self.gold_start))

    @property
    def doc_query(self) -> Ints:
        """(d) the query of each document, by position."""
        return np.repeat(np.arange(len(self.answered)), self.n_docs)

    def is_gold(self, rel: float | None) -> Bools:
        """(g) whether each item's grade is high enough: above 0, or at least `rel`."""
        return self.grade > 0 if rel is None else self.grade >= rel

    @property
    def matched(self) -> Bools:
        """(p) whether each pair is a match."""
        return np.asarray(matches(self.pair_score, self.threshold))

    @property
    def has_unknown(self) -> bool:
        """Whether any score or grade is not known."""
        return bool(np.isnan(self.pair_score).any() or np.isnan(self.grade).any())

    @property
    def relevant(self) -> Bools:
        """(d) whether each document matches gold and is no repetition of an earlier one."""
        return self.docs_in(self.matched & self.is_gold(None)[self.pair_gold]) & ~self.repeated

    def docs_in(self, pairs: Bools) -> Bools:
        """(d) whether each document stands in one of some pairs (p)."""
        docs = np.zeros(len(self.repeated), bool)
        docs[self.pair_doc[pairs]] = True
        return docs

    @classmethod
    def joined(cls, tables: Sequence[MatchTable]) -> MatchTable:
        """The table of all queries of some tables of one matcher, in order; at least one of them.

        Raises:
            DataError: it would have more documents or gold items than fit.
        """
        if len(tables) == 1:
            return tables[0]
        # What stands at a place of its own table stands so much later in the joined one.
        docs = np.cumsum([0, *(len(table.repeated) for table in tables)]).tolist()
        golds = np.cumsum([0, *(len(table.grade) for table in tables)]).tolist()
        # Pairs name both by 32 bits: they are most of a table.
        if max(docs[-1], golds[-1]) >= 2**31:
            raise DataError("more than 2,147,483,647 documents or gold items in one evaluation")
        offsets = {"doc_start": docs, "pair_doc": docs, "gold_start": golds, "pair_gold": golds}
        columns: dict[str, Any] = {}
        for name in _COLUMNS:
            parts = [getattr(table, name) for table in tables]
            if name in offsets:
                parts = [part + start for part, start in zip(parts, offsets[name])]
            if name.endswith("_start"):  # where one ends the next begins
                parts[1:] = [part[1:] for part in parts[1:]]
            columns[name] = np.concatenate(parts)
        votes = [table.votes for table in tables if table.votes is not None]
        if votes:
            names = [entry.name for entry in fields(Votes)]
            of_all = (np.concatenate([getattr(vote, name) for vote in votes]) for name in names)
            columns["votes"] = Votes(*of_all)
        if any(table.weights is not None for table in tables):
            weights = [
                np.ones(table.n_queries) if table.weights is None else table.weights
                for table in tables
            ]
            columns["weights"] = np.concatenate(weights)
        return replace(tables[0], **columns)

    def at_threshold(self, threshold: float) -> MatchTable:
        """The same scores, decided at another threshold; nothing is scored again.

        Raises:
            UsageError: the threshold is not above 0.
        """
        if not threshold > 0:
            raise UsageError(
                "threshold: {threshold!r} would match everything; it must be above 0",
                threshold=threshold,
            )
        return replace(self, threshold=threshold)

    def of_pairs(self, pairs: Bools | Ints) -> MatchTable:
        """The table with some of its pairs (p) alone."""
        return replace(
            self,
            pair_doc=self.pair_doc[pairs],
            pair_gold=self.pair_gold[pairs],
            pair_score=self.pair_score[pairs],
            votes=None
            if (votes := self.votes) is None
            else replace(votes, pair_low=votes.pair_low[pairs], pair_high=votes.pair_high[pairs]),
        )

    def first(self, depths: Ints) -> MatchTable:
        """The table of the first ``depths[i]`` documents of each query i."""
        rank = np.arange(len(self.repeated)) - np.repeat(self.doc_start[:-1], self.n_docs)
        within = rank < np.repeat(depths, self.n_docs)
        # What stays moves up: the running count, less one, is a document's new place.
        place = np.cumsum(within) - 1
        lengths = np.minimum(depths, self.n_docs)
        cut = self.of_pairs(within[self.pair_doc])
        return replace(
            cut,
            doc_start=np.concatenate((self.doc_start[:1], np.cumsum(lengths))),
            repeated=self.repeated[within],
            pair_doc=place[cut.pair_doc].astype(np.int32),
        )

    def dense(self, query: int) -> Floats:
        """The n x m scores of one query, by its position."""
        first, last = self.doc_start[query], self.doc_start[query + 1]
        gold_first, gold_last = self.gold_start[query], self.gold_start[query + 1]
        scores = np.zeros((last - first, gold_last - gold_first))
        # Pairs are sorted by document, so that those of a query are one stretch.
        begin, end = np.searchsorted(self.pair_doc, (first, last))
        rows = self.pair_doc[begin:end] - first
        columns = self.pair_gold[begin:end] - gold_first
        scores[rows, columns] = self.pair_score[begin:end]
        return scores


_COLUMNS = (
    *("doc_start", "gold_start", "grade", "answered", "repeated", "pair_doc", "pair_gold"),
    *("pair_score", "unanswerable"),
)
"""The arrays of a match table that stand one after the other where tables are joined."""


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
        discount: of a gain at each rank from 0.
        found_cells: the cells of these; most metrics add something up in them.
    """

    def __init__(
        self,
        table: MatchTable,
        cuts: Sequence[float] | Floats,
        rel: float | None,
        *,
        count_repeats: bool = False,
    ) -> None:
        self._count_repeats = count_repeats
        self.table = table
        self.cuts: Floats = np.array(cuts, np.float64)
        self.is_gold: Bools = table.is_gold(rel)
        self.gold_query: Ints = table.gold_query
        self.n_gold: Ints = np.bincount(self.gold_query[self.is_gold], minlength=table.n_queries)
        self.empty: Bools = np.equal(self.n_gold, 0)
        self.countable: Bools = self.is_gold[table.pair_gold]
        if not count_repeats:
            self.countable &= ~table.repeated[table.pair_doc]
        counts = table.matched & self.countable
        docs = table.pair_doc[counts].astype(np.int64)
        golds = table.pair_gold[counts].astype(np.int64)
        ranks = docs - table.doc_start[self.gold_query[golds]] + 1
        self.pairs: tuple[Ints, Ints, Ints] = docs, golds, ranks
        first_rank = np.zeros(len(table.grade), np.int64)
        # Written backwards, the first match of each gold item is written last.
        first_rank[golds[::-1]] = ranks[::-1]
        self.finds: Bools = np.equal(first_rank[golds], ranks)
        found_golds = golds[self.finds]  # of each gold item's pairs one has its first rank
        self.found_items: tuple[Ints, Ints, Ints] = (
            self.gold_query[found_golds],
            ranks[self.finds],
            found_golds,
        )
        # For each rank at which anything can be credited the first cut-off that reaches it.
        ranks = np.arange(max(table.n_docs.max(initial=0), self.n_gold.max(initial=0)) + 1)
        self._cut_of_rank: Ints = np.searchsorted(self.cuts, ranks)
        # 1 / log2(1 + rank); infinity, and never used, for 0.
        with np.errstate(divide="ignore"):
            self.discount: Floats = 1.0 / np.log2(1.0 + ranks)
        self.found_cells: Ints = self.cells(*self.found_items[:2])

    @cached_property
    def depth(self) -> Floats:
        """(c, q) min(k, n), the documents within each cut-off."""
        return np.minimum(self.cuts[:, None], self.table.n_docs)

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

    def precision_sum(self, credit: str, *, at_most_k: bool = False) -> Floats:
        """(c, q) the sum over hits within k, i = 1, 2, ... in order of rank c, of i / max(c_i, i).

        Hits are found gold items or, with credit ``document``, relevant documents. `at_most_k`
        takes only the first k of them: one document can be several hits at once.
        """
        queries, ranks, _ = self.found_items if credit == "gold" else self.relevant_docs
        i = order_within(queries)
        credited = np.maximum(ranks, i)
        return self.sums(self.cells(queries, credited if at_most_k else ranks), i / credited)

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


def order_within(queries: Ints) -> Ints:
    """1, 2, ... within each stretch of equal queries."""
    starts = np.flatnonzero(np.diff(queries, prepend=-1))
    lengths = np.diff(starts, append=len(queries))
    return np.arange(1, len(queries) + 1) - np.repeat(starts, lengths)


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
    def rounded(self) -> PooledCounts:
        """As they are kept: sums of weights are the same in another order, numbers whole."""
        return PooledCounts(*map(rounded, (self.relevant, self.other, self.found, self.missed)))

    def precision(self) -> float:
        """Relevant documents over all; 0 without any."""
        counts = self.rounded
        return counts.relevant / (counts.relevant + counts.other or 1)

    def recall(self) -> float:
        """Found gold over all; 0 without any."""
        counts = self.rounded
        return counts.found / (counts.found + counts.missed or 1)

    def f1(self) -> float:
        """The harmonic mean of the two."""
        return harmonic(self.precision(), self.recall())


def rounded(total: float) -> float:
    """A sum of weights without what depends on its order; whole where it is."""
    n = round(float(total), 6)
    return int(n) if n.is_integer() else n


def harmonic(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where both are."""
    return 2 * precision * recall / (precision + recall or 1.0)
