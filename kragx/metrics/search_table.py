"""The search table: what each search for a question brought, over one table of its documents.

Every document of a question stands once in the match table, whichever searches returned it, so it
is matched once; a search, and each list that a metric may be about, are places in it. A view of it
says in which step each gold item came, and what it cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from kragx.data.lists import Bools, Floats, Ints, ranges
from kragx.data.searches import UNKNOWN_DOC, ListName, Order
from kragx.metrics.match_table import MatchTable

Basis = Literal["retrieved", "first"]
"""The list that metrics are about which name none."""


NEVER = np.iinfo(np.int64).max
"""The step of what no search brought."""


Cost = Literal["tokens", "seconds", "searches"]
"""What a search takes."""


@dataclass(frozen=True)
class Places:
    """A list of documents for each of q questions, as places in a match table.

    Attributes:
        start: (q + 1) the list of question i is ``docs[start[i]:start[i + 1]]``.
        docs: the documents, by rank; `UNKNOWN_DOC` for one that the table lacks.
        is_there: (q) whether anybody knows the list. Without, nothing is known of the question;
            a retriever that failed gave an empty list, as ever.
    """

    start: Ints
    docs: Ints
    is_there: Bools

    @property
    def lengths(self) -> Ints:
        """(q) how long each is."""
        return np.diff(self.start)


@dataclass(frozen=True)
class SearchTable:
    """The n searches for q questions, over the d distinct documents of these.

    Attributes:
        table: the matches; of each question the documents that anything returned, each once, so
            that none is `repeated`. What is not answered failed, or is missing.
        same: (d) the first document of its question that is the same by id, or without one by its
            text; a list in which two such stand repeats one.
        start: (q + 1) the searches of question i are ``start[i]`` to ``start[i + 1] - 1``. Somebody
            who searches once, and has a list alone, has made one search.
        step: (n) from 1 on, ascending within a question; those side by side have one number.
        lane: (n) from 0 on within a step: searches of one lane were tried one after the other,
            lanes ran side by side.
        list_start: (n + 1) and `docs`: the documents of search j, by rank, are the places
            ``docs[list_start[j]:list_start[j + 1]]`` in the table.
        measured: (n) whether it is known what documents came; False of failed searches, too.
        failed: (n) whether it, or its question, failed: it brought nothing; only its cost counts.
        seconds, tokens: (n) what it took; NaN where nobody says.
        final: what was handed on in the end; not there where a question has searches alone.
        read: what was read; not there where no search of a question says.
        basis: the list that a metric is about which names none.
        says_read: whether anybody in the whole evaluation says what was read, so that nothing was
            where nothing came; else nobody knows that of any question.
    """

    table: MatchTable
    same: Ints
    start: Ints
    step: Ints
    lane: Ints
    list_start: Ints
    docs: Ints
    measured: Bools
    failed: Bools
    seconds: Floats
    tokens: Floats
    final: Places
    read: Places
    basis: Basis = "retrieved"
    says_read: bool = True

    @property
    def n_searches(self) -> Ints:
        """(q) how many searches each question has."""
        return np.diff(self.start)

    @property
    def query(self) -> Ints:
        """(n) the question of each search."""
        return np.repeat(np.arange(len(self.start) - 1), self.n_searches)

    @property
    def n_docs(self) -> Ints:
        """(n) how many documents each search brought."""
        return np.diff(self.list_start)

    @property
    def n_steps(self) -> Ints:
        """(q) how many steps each question has; 0 without a search."""
        steps = np.zeros(len(self.start) - 1, np.int64)
        np.maximum.at(steps, self.query, self.step)
        return steps

    @property
    def n_came(self) -> Ints:
        """(q) how many documents came in the end: of what was handed on, else of any search.

        What was handed on may be nothing on purpose.
        """
        return np.where(self.final.is_there, self.final.lengths, self.table.n_docs)

    def is_known(self, n: int | None = None) -> Bools:
        """(q) whether it is known what the first n steps of a question brought; None for all steps.

        One measured search says it, and so does it that nothing came: where nothing was searched
        for, where all searches failed, and where the question did. A failed search beside one that
        is not measured says nothing.
        """
        within = np.ones(len(self.step), bool) if n is None else self.step <= n
        queries, is_open = np.arange(len(self.n_searches)), ~self.measured & ~self.failed
        have_measured, are_open = (
            np.isin(queries, self.query[within & mask]) for mask in (self.measured, is_open)
        )
        return have_measured | ~are_open | ~self.table.answered

    @property
    def entries(self) -> tuple[Ints, Ints]:
        """(e) of each of `docs` its search, and its rank from 1 on."""
        search = np.repeat(np.arange(len(self.n_docs)), self.n_docs)
        return search, np.arange(1, len(search) + 1) - self.list_start[search]

    def places(self, of: ListName | None = None, order: Order = "turns") -> Places:
        """The lists that a metric is about.

        They are there, and empty, of who failed or is missing, and where nothing was searched for,
        or all searches failed, unless somebody has handed on something else. What was read is not
        there of anybody if nobody says it.

        Args:
            of: which; None for the basis.
            order: of all searches.
        """
        match of or self.basis:
            case "retrieved":
                places = self.final
            case "read" if not self.says_read:
                n, nothing = len(self.n_searches), np.zeros(0, np.int64)
                return Places(np.zeros(n + 1, np.int64), nothing, np.zeros(n, bool))
            case "read":
                places = self.read
            case "all":
                places = self._all(order)
            case _:
                places = self._of_search(first=of != "last")
        in_vain = ~np.isin(np.arange(len(self.n_searches)), self.query[~self.failed])
        empty = ~self.table.answered | (in_vain & ~places.is_there)
        docs = places.docs[np.repeat(~empty, places.lengths)]
        return Places(ends(np.where(empty, 0, places.lengths)), docs, places.is_there | empty)

    def of(self, of: ListName | None = None, order: Order = "turns") -> MatchTable:
        """The matches of one list for each question, which `places` says."""
        return on_places(self.table, self.places(of, order), self.same)

    def over(self, table: MatchTable, same: Ints, place: Ints) -> SearchTable:
        """The same over other documents.

        Args:
            table: of these documents.
            same: (d) as of this one, of these documents.
            place: which of them each of the documents is that this one is over.
        """

        def moved(docs: Ints) -> Ints:
            # Where there is no document at all, none can be looked up.
            return np.where(docs == UNKNOWN_DOC, UNKNOWN_DOC, place[docs]) if len(place) else docs

        final, read = (
            replace(places, docs=moved(places.docs)) for places in (self.final, self.read)
        )
        docs = moved(self.docs)
        return replace(self, table=table, same=same, docs=docs, final=final, read=read)

    def with_counted_tokens(self, lengths: Ints) -> SearchTable:
        """The same where the tokens of a search are those of the documents that it brought.

        Only where no search of a whole evaluation says its tokens: what is counted is never mixed
        with what is measured. One that failed brought nothing; of one that is not measured, or of a
        question that failed, nobody knows.

        Args:
            lengths: (d) the tokens of each document.
        """
        search, _ = self.entries
        sums = np.bincount(search, lengths[self.docs], minlength=len(self.step))
        tokens = sums.astype(np.float64)  # of no document at all they are whole numbers
        tokens[self.failed] = 0.0
        tokens[~(self.measured | self.failed) | ~self.table.answered[self.query]] = np.nan
        return replace(self, tokens=tokens)

    def _of_search(self, *, first: bool) -> Places:
        """The list of the first, or last, measured search of each question.

        Where none is measured, though some failed, it is empty.
        """
        numbers = np.flatnonzero(self.measured)[:: -1 if first else 1]
        search = np.full(len(self.n_searches), -1)
        search[self.query[numbers]] = numbers  # of several the one that is written last
        # -1, where no search is measured, takes the 0 at the end.
        lengths = np.append(self.n_docs, 0)[search]
        docs = self.docs[ranges(self.list_start[search], lengths)]
        return Places(ends(lengths), docs, self.is_known())

    def _all(self, order: Order) -> Places:
        """The lists of all measured searches as one without repeats."""
        search, rank = self.entries
        counts = self.measured[search]
        docs, search, rank = self.docs[counts], search[counts], rank[counts]
        query = self.query[search]
        if order == "turns":  # in the order of searches among those of one rank
            sequence = np.argsort(query * (int(rank.max(initial=0)) + 1) + rank, kind="stable")
            docs, query = docs[sequence], query[sequence]
        first = ~_again(self.same[docs], len(self.same))
        lengths = np.bincount(query[first], minlength=len(self.n_searches))
        return Places(ends(lengths), docs[first], self.is_known())

    @classmethod
    def joined(cls, tables: Sequence[SearchTable]) -> SearchTable:
        """That of all questions of some, in order; at least one of them."""
        if len(tables) == 1:
            return tables[0]
        starts = np.cumsum([0, *(len(part.same) for part in tables)]).tolist()
        moved = [
            part.over(part.table, part.same + start, np.arange(start, start + len(part.same)))
            for part, start in zip(tables, starts)
        ]

        def column(name: str) -> Any:
            return np.concatenate([*map(attrgetter(name), moved)])

        def places(name: str) -> Places:
            lengths, *others = (
                column(f"{name}.{part}") for part in ("lengths", "docs", "is_there")
            )
            return Places(ends(lengths), *others)

        names = ("same", "step", "lane", "docs", "measured", "failed", "seconds", "tokens")
        return replace(
            tables[0],
            **{name: column(name) for name in names},
            table=MatchTable.joined([part.table for part in tables]),
            start=ends(column("n_searches")),
            list_start=ends(column("n_docs")),
            final=places("final"),
            read=places("read"),
        )


def on_places(table: MatchTable, places: Places, same: Ints) -> MatchTable:
    """The table of other lists of its documents.

    Args:
        table: in which no document of a question stands twice.
        places: the lists.
        same: (d) as of `SearchTable`.
    """
    known_places = np.flatnonzero(places.docs >= 0)
    of_place = places.docs[known_places]
    repeated = np.zeros(len(places.docs), bool)
    repeated[known_places] = _again(same[of_place], len(same))
    # Pairs are sorted by document: those of one are a stretch, found without a walk over all.
    first = np.searchsorted(table.pair_doc, of_place, "left")
    last = np.searchsorted(table.pair_doc, of_place, "right")
    lengths = last - first
    return replace(
        table.of_pairs(ranges(first, lengths)),
        doc_start=places.start,
        answered=table.answered & places.is_there,
        repeated=repeated,
        pair_doc=np.repeat(known_places, lengths).astype(np.int32),
    )


def ends(lengths: Ints) -> Ints:
    """Where lists of these lengths begin, and the last ends, one behind the other."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))


def _again(numbers: Ints, n: int) -> Bools:
    """Whether each of some numbers below n has come before."""
    first = np.zeros(n, np.int64)
    # Written backwards, the first place of each number is written last.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return np.not_equal(first[numbers], np.arange(len(numbers)))


@dataclass(frozen=True)
class SearchView:
    """Searches for q questions at one relevance level, each search cut at one rank.

    A question that was not answered has found nothing: it is scored as an empty list, whatever came
    before it failed, though that had its costs. Nothing here depends on the order of searches that
    ran side by side.

    Attributes:
        searches: what each brought.
        rel: the least grade that counts as gold; None for any grade above 0.
        k: how many documents of each search count; None for all.
    """

    searches: SearchTable
    rel: float | None = None
    k: int | None = None

    @property
    def n_queries(self) -> int:
        """How many questions there are (q)."""
        return self.searches.table.n_queries

    @cached_property
    def is_gold(self) -> Bools:
        """(g) whether each gold item's grade is high enough."""
        return self.searches.table.is_gold(self.rel)

    @cached_property
    def gold_query(self) -> Ints:
        """(g) the question of each gold item."""
        return self.searches.table.gold_query

    @cached_property
    def n_gold(self) -> Ints:
        """(q) m, the gold items of each question."""
        return self.of_queries(self.gold_query[self.is_gold])

    @cached_property
    def gold_step(self) -> Ints:
        """(g) the first step in which a document matches each gold item; `NEVER` without one."""
        table = self.searches.table
        steps = np.full(len(table.grade), NEVER)
        matched = table.matched & self.is_gold[table.pair_gold]
        docs, golds = table.pair_doc[matched], table.pair_gold[matched]
        np.minimum.at(steps, golds, self._doc_step[docs])
        steps[~table.answered[self.gold_query]] = NEVER
        return steps

    @cached_property
    def is_found(self) -> Bools:
        """(g) whether any search brought each gold item."""
        return np.not_equal(self.gold_step, NEVER)

    @cached_property
    def n_found(self) -> Ints:
        """(q) the gold items that any search brought."""
        return self.of_queries(self.gold_query[self.is_found])

    def first_step(self, need: str = "any") -> Ints:
        """(q) the step that brought the first gold, or completed it (``all``), or `NEVER`."""
        if need == "all":
            last = np.zeros(self.n_queries, np.int64)
            golds = np.flatnonzero(self.is_gold)
            # NEVER is the greatest number, so that one item that lacks makes all of them never.
            np.maximum.at(last, self.gold_query[golds], self.gold_step[golds])
            return np.where(self.n_gold == 0, NEVER, last)
        first = np.full(self.n_queries, NEVER)
        np.minimum.at(first, self.gold_query, self.gold_step)
        return first

    @cached_property
    def last_new(self) -> Ints:
        """(q) the last step that brought gold which none before had; 0 without one."""
        last = np.zeros(self.n_queries, np.int64)
        np.maximum.at(last, self.gold_query[self.is_found], self.gold_step[self.is_found])
        return last

    @cached_property
    def _doc_step(self) -> Ints:
        """(d) the first step in which each document of the table counts."""
        searches = self.searches
        search, rank = searches.entries
        counts = searches.measured[search] & ~self._repeated
        if self.k is not None:
            counts &= rank <= self.k
        steps = np.full(len(searches.same), NEVER)
        # Written backwards, the first step of each document is written last.
        steps[searches.docs[counts][::-1]] = searches.step[search[counts]][::-1]
        return steps

    @cached_property
    def _repeated(self) -> Bools:
        """(e) whether a document is the same as another one above it in one search.

        As in any list that is no match again. Where it is the same to the letter this changes
        nothing, so it is looked at only where documents of a question are the same but for that.
        """
        same, docs = self.searches.same, self.searches.docs
        is_repeated = np.full(len(docs), bool((same != np.arange(len(same))).any()))
        if is_repeated.any():
            keys = self.searches.entries[0] * len(same) + same[docs]
            # `unique` says where each stands first, which repeats nothing.
            is_repeated[np.unique(keys, return_index=True)[1]] = False
        return is_repeated

    @cached_property
    def n_steps(self) -> Ints:
        """(q) how many steps each question took."""
        return np.where(self.searches.table.answered, self.searches.n_steps, 0)

    def is_known(self, n: int | None = None) -> Bools:
        """(q) whether it is known what the first n steps of a question brought; None for all.

        Of a question of which nothing is known it is not, whatever its first steps were.
        """
        is_known: Bools = self.searches.is_known() & self.searches.is_known(n)
        return is_known

    @cached_property
    def repeats(self) -> tuple[Ints, Ints]:
        """(q) the places in later steps than the first, and those held by documents of earlier."""
        searches = self.searches
        search, _ = searches.entries
        counts = searches.measured[search] & searches.table.answered[searches.query[search]]
        same, search = searches.same[searches.docs[counts]], search[counts]
        step, query = searches.step[search], searches.query[search]
        first = np.full(len(searches.same), NEVER)
        first[same[::-1]] = step[::-1]
        is_later, is_again = step > 1, first[same] < step
        return self.of_queries(query[is_later]), self.of_queries(query[is_again])

    @cached_property
    def _steps(self) -> tuple[Ints, Ints]:
        """(n) the step of each search, as a place among all steps, and (s) each one's first."""
        return _stretches(self.searches.query, self.searches.step)

    def step_costs(self, cost: Cost) -> Floats:
        """(s) what each step takes; NaN where one of its searches does not say.

        Tokens are those of its searches, seconds those of its slowest lane; of searches one that
        was tried again counts once.
        """
        of_search, first = self._steps
        if cost == "tokens":
            return _sums(of_search, self.searches.tokens, len(first))
        number, first_of_lane = _stretches(of_search, self.searches.lane)
        step_of_lane = of_search[first_of_lane]
        if cost == "searches":
            return _sums(step_of_lane, np.ones(len(step_of_lane)), len(first))
        slowest = np.zeros(len(first))
        with np.errstate(invalid="ignore"):  # NaN is passed on
            of_lanes = _sums(number, self.searches.seconds, len(step_of_lane))
            np.maximum.at(slowest, step_of_lane, of_lanes)
        return slowest

    def until(self, cost: Cost, last: Ints | None = None) -> Floats:
        """(q) what each question's steps took up to `last` (q), all without; NaN if one says none.

        Of a question that failed these are the searches before that; without any nobody knows.
        """
        (_, first), searches = self._steps, self.searches
        query = searches.query[first]
        within = slice(None) if last is None else searches.step[first] <= last[query]
        costs = _sums(query[within], self.step_costs(cost)[within], self.n_queries)
        return np.where(~searches.table.answered & (searches.n_searches == 0), np.nan, costs)

    def of_queries(self, queries: Any) -> Ints:
        """(q) how often each question stands among some."""
        return np.bincount(queries, minlength=self.n_queries)


def _stretches(*columns: Ints) -> tuple[Ints, Ints]:
    """(n) the stretch of equal rows in which each stands, as a number, and where each begins."""
    begins = np.logical_or.reduce([np.diff(column, prepend=-1) != 0 for column in columns])
    return np.cumsum(begins) - 1, np.flatnonzero(begins)


def _sums(places: Ints, values: Floats, n: int) -> Floats:
    """(n) the sum of the values at each place."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)
