"""What the metrics of searches are made of: in which step each gold item came, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from kragx.data.lists import Bools, Floats, Ints
from kragx.metrics.search_table import SearchTable

NEVER = np.iinfo(np.int64).max
"""The step of what no search brought."""


Cost = Literal["tokens", "seconds", "searches"]
"""What a search takes."""


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
        query, step = self.searches.query, self.searches.step
        begins = (np.diff(query, prepend=-1) != 0) | (np.diff(step, prepend=-1) != 0)
        return np.cumsum(begins) - 1, np.flatnonzero(begins)

    @cached_property
    def _lanes(self) -> tuple[Ints, Ints]:
        """(n) the lane of each search as a number, and (l) the step of each lane as a place."""
        of_search, lane = self._steps[0], self.searches.lane
        # Step and lane as one number, so that one sort tells all lanes apart.
        width = int(lane.max(initial=0)) + 1
        lanes, number = np.unique(of_search * width + lane, return_inverse=True)
        return number.astype(np.int64), lanes // width

    def step_costs(self, cost: Cost) -> Floats:
        """(s) what each step takes; NaN where one of its searches does not say.

        Tokens are those of its searches, seconds those of its slowest lane; of searches one that
        was tried again counts once.
        """
        (of_search, first), (number, step_of_lane) = self._steps, self._lanes
        if cost == "tokens":
            return _sums(of_search, self.searches.tokens, len(first))
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


def _sums(places: Ints, values: Floats, n: int) -> Floats:
    """(n) the sum of the values at each place."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)
