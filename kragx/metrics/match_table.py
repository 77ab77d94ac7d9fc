"""The match table: who matched whom for all queries at once; the one thing that metrics read.

Queries hold different numbers of documents and gold items, so the columns are ragged: everything
of one kind stands in one flat array, and the `*_start` arrays say where each query's part begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import Bools, Floats, Ints
from kragx.ground.errors import DataError, UsageError
from kragx.metrics.threshold import matches


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

    def of_pairs(self, pairs: Bools | Ints) -> Votes:
        """Those of some pairs alone."""
        return replace(self, pair_low=self.pair_low[pairs], pair_high=self.pair_high[pairs])


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
        top: the highest score or grade there is, which what is not known may have.
        unanswerable: (q) whether the gold set says that nothing answers the query; none if not
            given.
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
    top: float = 1.0
    unanswerable: Bools = field(default_factory=lambda: np.zeros(0, bool))
    votes: Votes | None = None
    weights: Floats | None = None

    def __post_init__(self) -> None:
        if not self.unanswerable.size:
            object.__setattr__(self, "unanswerable", np.zeros_like(self.answered))

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
    def judged(self) -> Bools:
        """(d) whether each document matches a gold item of any grade."""
        return self.docs_in(self.matched)

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
            votes=self.votes and self.votes.of_pairs(pairs),
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
