"""What metrics may look at beside the match table; `kragx.evaluation` gathers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kragx.data import Doc, Query, Status, timed_out
from kragx.data.lists import Bools, Floats, Ints, ranges
from kragx.data.searches import ListName, Order
from kragx.metrics.match_table import MatchTable
from kragx.metrics.search_table import SearchTable
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.reading import SpanOptions


@dataclass(frozen=True)
class TextBudget:
    """A cut-off by the length of what was retrieved: ``500tokens``, ``2000chars``."""

    n: int
    unit: Literal["tokens", "chars"]

    def __str__(self) -> str:
        return f"{self.n}{self.unit}"


Cut = int | TextBudget | None
"""Where a list is cut: after k documents, where a budget is spent, or not at all."""


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one query got, in the order that is its ranking, with the question itself.

    Attributes:
        query: the question with the gold set's gold.
        docs: the documents in the table's order; empty where they were not given.
        status: whether the retriever answered.
        seconds: how long it took, if measured.
        error: why it failed.
    """

    query: Query
    docs: tuple[Doc, ...]
    status: Status = "answered"
    seconds: float | None = None
    error: str | None = None

    @property
    def waited(self) -> float | None:
        """The seconds that an answer took or a timeout was waited for; None if not measured.

        Another failure's time says nothing of how long an answer takes.
        """
        return self.seconds if self.status == "answered" or timed_out(self.error) else None

    def top(self, k: Cut) -> tuple[Doc, ...]:
        """The first k documents; a list that was cut at a budget has no k."""
        assert not isinstance(k, TextBudget)
        return self.docs[:k]


@dataclass(frozen=True, slots=True)
class HeldFacts:
    """How far the first documents of each query hold its facts, f of them in all.

    Attributes:
        query: (f) the row of each fact's query.
        held: (f) 1 if they hold it, .5 if they hold a part of it, else 0; NaN where it is not
            known.
        weight: (f) 1 of a vital fact, .5 of one that is worth having.
    """

    query: Ints
    held: Floats
    weight: Floats


@dataclass(frozen=True)
class Relevance:
    """How relevant to their questions documents were judged, whatever the gold.

    Attributes:
        rows: (f) the evaluation's row of each query that was judged: those that something may
            answer.
        table: of these queries; each document judged is its own gold, with the judge's grade.
        cut: the least grade that is relevant.
        depth: how many documents of each list were judged; None for all.
        judging: what it took, as counts hold it.
        settings: who judged, and the pool.
    """

    rows: Ints
    table: MatchTable
    cut: float
    depth: int | None
    judging: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ForbiddenMarks:
    """Which of d retrieved documents must not come, for q questions and s kinds of reasons.

    Behind the columns of kinds stands one of older versions above which none of those that succeed
    them stands: these forbid nothing by themselves.

    Attributes:
        kinds: (s) what forbids, by name, sorted.
        mark: (d, s + 1) 1 of a document that must not come, 0 of one that may, -1 where that is not
            known; all lists one after the other, in the table's order.
        could: (q, s + 1) whether a document could be forbidden for that reason: an item of it is
            listed, or a rule of it has a value on the question's side; and whether the question
            names or meets an older version.
        open: (q, s + 1) whether it is not known whatever the documents say: an item can match
            nothing, or nothing was answered.
        names: of each document marked 1 its id, or without one the beginning of its text.
    """

    kinds: tuple[str, ...]
    mark: NDArray[np.int8]
    could: Bools
    open: Bools
    names: Mapping[int, str] = field(default_factory=dict)

    def probes(self, table: MatchTable) -> Bools:
        """(q) which questions only try what must not come: they have no gold, and could meet it.

        One that is marked as unanswerable says on purpose that it has none, and is no probe.
        """
        may_be_gold = table.gold_query[~(table.grade <= 0)]  # also where no grade is known
        has_gold = np.bincount(may_be_gold, minlength=table.n_queries) > 0
        is_probe: Bools = self.could[:, :-1].any(axis=1) & ~has_gold & ~table.unanswerable
        return is_probe

    def first(self, n_docs: Ints, depths: Ints) -> ForbiddenMarks:
        """Those of the first ``depths[i]`` documents of each list i, of its ``n_docs[i]``."""
        rank = ranges(0, n_docs)
        within = rank < np.repeat(depths, n_docs)
        place = np.cumsum(within) - 1
        names = {int(place[doc]): name for doc, name in self.names.items() if within[doc]}
        return replace(self, mark=self.mark[within], names=names)


@dataclass(frozen=True)
class Evidence(ABC):
    """All that a metric may look at, for q queries.

    Attributes:
        lists: (q) what each query got, in the order of the table's rows.
        table: the matches with the gold.
        concurrency: how many questions were asked at once.
        relevance: of documents to their questions, as judged; None if no metric reads it.
        forbidden: what of the lists must not come; None where nothing is forbidden. Where there are
            searches it is of what all of them brought, by turns, whatever the lists are.
        searches: what each search brought; None where nobody looks at searches.
    """

    lists: Sequence[RankedList]
    table: MatchTable
    concurrency: int = 1
    relevance: Relevance | None = None
    forbidden: ForbiddenMarks | None = None
    searches: SearchTable | None = None

    @abstractmethod
    def of(self, name: ListName, order: Order) -> Evidence:
        """The same of another list of each question, in which nothing is known to be forbidden."""

    @abstractmethod
    def within(self, budget: TextBudget) -> Evidence:
        """The same, each list cut after the documents that fit whole into a budget.

        Raises:
            DataError: a document has no text.
        """

    @abstractmethod
    def facts(self, k: Cut) -> HeldFacts:
        """Which facts the first k documents of each query hold.

        They match as the evaluation was told to.
        """

    @abstractmethod
    def spread(self, options: SpanOptions) -> Spread:
        """Where the gold of every query stands in what was retrieved."""

    @abstractmethod
    def n_tokens(self, k: Cut, spread: Spread) -> Ints:
        """(q) how many tokens of each query's stream a cut-off holds."""
