"""The search table: what each search for a question brought, over one table of its documents.

Every document of a question stands once in the match table, whichever searches returned it, so it
is matched once; a search, and each list that a metric may be about, are places in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kragx.data.searches import UNKNOWN_DOC, ListName, Order
from kragx.data.stretches import ranges
from kragx.metrics.match_table import Bools, Floats, Ints, MatchTable

Basis = Literal["retrieved", "first"]
"""The list that metrics are about which name none."""


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

    @property
    def query(self) -> Ints:
        """The question of each entry."""
        return np.repeat(np.arange(len(self.is_there)), self.lengths)


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
        failed: (n) whether it failed.
        seconds, tokens: (n) what it took; NaN where nobody says.
        final: what was handed on in the end; not there where a question has searches alone.
        read: what was read; not there where no search of a question says.
        basis: the list that a metric is about which names none.
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

    @property
    def n_searches(self) -> Ints:
        """(q) how many searches each question has."""
        return np.diff(self.start)

    @property
    def query(self) -> Ints:
        """(n) the question of each search."""
        return np.repeat(np.arange(len(self.start) - 1), self.n_searches)

    @property
    def n_steps(self) -> Ints:
        """(q) how many steps each question has; 0 without a search."""
        steps = np.zeros(len(self.start) - 1, np.int64)
        np.maximum.at(steps, self.query, self.step)
        return steps

    def places(self, of: ListName | None = None, order: Order = "turns") -> Places:
        """The lists that a metric is about.

        Args:
            of: which; None for the basis.
            order: of all searches.
        """
        match of or self.basis:
            case "retrieved":
                return self.final
            case "read":
                return self.read
            case "all":
                return self._all(order)
            case "last":
                return self._of_searches(np.maximum.reduceat)
            case _:
                return self._of_searches(np.minimum.reduceat)

    def of(self, of: ListName | None = None, order: Order = "turns") -> MatchTable:
        """The matches of one list for each question, which `places` says."""
        return listed(self.table, self.places(of, order), self.same)

    def _of_searches(self, chosen: Any) -> Places:
        """The list of one measured search of each question, by the number of the search."""
        n_queries = len(self.start) - 1
        numbers = np.flatnonzero(self.measured)
        queries = self.query[numbers]
        is_there = np.zeros(n_queries, bool)
        is_there[queries] = True
        lengths = np.zeros(n_queries, np.int64)
        firsts = np.zeros(n_queries, np.int64)
        if len(numbers):
            begins = np.flatnonzero(np.diff(queries, prepend=-1))
            search = chosen(numbers, begins)
            firsts[is_there] = self.list_start[search]
            lengths[is_there] = np.diff(self.list_start)[search]
        docs = self.docs[ranges(firsts, lengths)]
        return Places(np.concatenate(([0], np.cumsum(lengths))), docs, is_there)

    def _all(self, order: Order) -> Places:
        """The lists of all measured searches as one without repeats."""
        n_queries = len(self.start) - 1
        lengths = np.diff(self.list_start)
        search = np.repeat(np.arange(len(lengths)), lengths)
        rank = np.arange(len(self.docs)) - np.repeat(self.list_start[:-1], lengths)
        counts = self.measured[search]
        docs, query, search, rank = (
            column[counts] for column in (self.docs, self.query[search], search, rank)
        )
        if order == "turns":  # in the order of searches among those of one rank
            sequence = np.lexsort((search, rank, query))
            docs, query = docs[sequence], query[sequence]
        first = np.sort(np.unique(self.same[docs], return_index=True)[1])
        docs, query = docs[first], query[first]
        n_docs = np.bincount(query, minlength=n_queries)
        is_there = np.bincount(self.query[self.measured], minlength=n_queries) > 0
        return Places(np.concatenate(([0], np.cumsum(n_docs))), docs, is_there)

    @classmethod
    def joined(cls, tables: Sequence[SearchTable]) -> SearchTable:
        """That of all questions of some, in order; at least one of them."""
        if len(tables) == 1:
            return tables[0]
        docs = np.cumsum([0, *(len(part.same) for part in tables)])
        entries = np.cumsum([0, *(len(part.docs) for part in tables)])
        searches = np.cumsum([0, *(len(part.step) for part in tables)])
        moved = {"same": docs, "docs": docs}
        columns: dict[str, Any] = {
            name: np.concatenate(
                [getattr(part, name) + start for part, start in zip(tables, offsets)]
            )
            for name, offsets in moved.items()
        }
        for field in fields(cls):
            if field.name in {"step", "lane", "measured", "failed", "seconds", "tokens"}:
                columns[field.name] = np.concatenate([getattr(part, field.name) for part in tables])
        return cls(
            **columns,
            table=MatchTable.joined([part.table for part in tables]),
            start=_joined_starts([part.start for part in tables], searches),
            list_start=_joined_starts([part.list_start for part in tables], entries),
            final=_joined_places([part.final for part in tables], docs),
            read=_joined_places([part.read for part in tables], docs),
            basis=tables[0].basis,
        )


def _joined_starts(starts: Sequence[Ints], offsets: Ints) -> Ints:
    moved = (start[:-1] + offset for start, offset in zip(starts, offsets))
    return np.concatenate((*moved, offsets[-1:]))


def _joined_places(parts: Sequence[Places], docs: Ints) -> Places:
    entries = np.cumsum([0, *(len(part.docs) for part in parts)])
    moved = [
        np.where(part.docs < 0, UNKNOWN_DOC, part.docs + offset)
        for part, offset in zip(parts, docs)
    ]
    return Places(
        _joined_starts([part.start for part in parts], entries),
        np.concatenate(moved),
        np.concatenate([part.is_there for part in parts]),
    )


def listed(table: MatchTable, places: Places, same: Ints) -> MatchTable:
    """The table of other lists of its documents.

    Args:
        table: in which no document of a question stands twice.
        places: the lists.
        same: (d) as of `SearchTable`.
    """
    known = np.flatnonzero(places.docs >= 0)
    of_place = places.docs[known]
    first, last = (np.searchsorted(table.pair_doc, of_place, side) for side in _SIDES)
    lengths = last - first
    pairs = ranges(first, lengths)
    votes = table.votes
    return replace(
        table,
        doc_start=places.start,
        repeated=_repeated(places, same),
        pair_doc=np.repeat(known, lengths).astype(np.int32),
        pair_gold=table.pair_gold[pairs],
        pair_score=table.pair_score[pairs],
        votes=votes
        and replace(votes, pair_low=votes.pair_low[pairs], pair_high=votes.pair_high[pairs]),
    )


_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def _repeated(places: Places, same: Ints) -> NDArray[np.bool_]:
    """Whether each entry's document stands earlier in its list."""
    is_again = places.docs >= 0
    known = np.flatnonzero(is_again)
    is_again[known[np.unique(same[places.docs[known]], return_index=True)[1]]] = False
    return is_again
