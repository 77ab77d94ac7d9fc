"""The lists of a batch side by side: what questions got, what each search gave, what was read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, repeat
from typing import Any, Self

import numpy as np

from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.lists import Lists
from kragx.data.search_lists import SearchLists
from kragx.data.searches import UNKNOWN_DOC
from kragx.data.stretches import ranges, starts as starts_of
from kragx.metrics import Bools, Ints, MatchTable
from kragx.metrics.search_table import Basis, Places, SearchTable, ends


@dataclass(frozen=True)
class BasisBatch(Batch):
    """Questions whose documents are those of the list that metrics are about which name none.

    Attributes:
        listing: all of their lists.
        is_there: whether the list is known.
    """

    listing: Listing = field(kw_only=True)
    is_there: Bools = field(kw_only=True)

    @property
    def answered(self) -> Bools:
        """Of which questions the list is known."""
        return self.listing.table.table.answered & self.is_there

    @classmethod
    def of_basis(cls, batch: Batch, basis: Basis, *, says_read: bool) -> Self:
        """A batch with the documents of a list; see `SearchTable`."""
        listing = Listing.of(batch, basis, says_read=says_read)
        places = listing.table.places()
        columns = {name.name: getattr(batch, name.name) for name in fields(Batch)}
        if batch.searches is not None:  # answers would take what was read for these documents
            docs = taken(listing.entries, places.docs, places.lengths)
            columns |= {"docs": docs, "searches": None}
        return cls(**columns, listing=listing, is_there=places.is_there)


def n_came(batch: Batch) -> Ints:
    """(q) how many documents came in the end: of what was handed on, else of any search."""
    if not isinstance(batch, BasisBatch):
        return batch.docs.texts.n_texts
    final = batch.listing.table.final
    of_any = np.bincount(batch.listing.query, minlength=len(batch))
    return np.where(final.is_there, final.lengths, of_any)


@dataclass(frozen=True)
class Listing:
    """The lists of q questions as entries: those got in the end, then those that searches gave.

    A question that failed has none; of its searches only the cost counts, and whatever they brought
    was of no use. One that has a list alone has made one search.

    Attributes:
        entries: all of them.
        query: of each entry.
        table: the searches over the entries, each of which is a document, none of it matched.
    """

    entries: Entries
    query: Ints
    table: SearchTable

    @classmethod
    def of(cls, batch: Batch, basis: Basis, *, says_read: bool) -> Self:
        """That of a batch; see `SearchTable`."""
        answered, lists = batch.answered, batch.searches or _no_searches(batch)
        of_search = query_of(lists.n)
        is_meant, has_list = answered[of_search], lists.has_list & answered
        final, docs = _those(batch.docs, has_list), _those(lists.docs, is_meant)
        n_final, n_docs = final.texts.n_texts, docs.texts.n_texts
        alone = np.flatnonzero(has_list & (lists.n == 0))
        order = np.argsort(np.concatenate((of_search, alone)), kind="stable")

        def column(values: Any, of_alone: Any) -> Any:
            return np.concatenate((values, np.broadcast_to(of_alone, len(alone))))[order]

        seconds = np.array([np.nan if s is None else s for s in batch.seconds], np.float64)
        lengths = column(n_docs, n_final[alone])
        failed = column(lists.failed | ~is_meant, of_alone=False)
        n = lists.n + np.bincount(alone, minlength=len(batch))
        is_empty = ~answered | np.equal(np.bincount(query_of(n)[failed], minlength=len(n)), n)
        query = np.concatenate((final.texts.of_text, of_search[docs.texts.of_text]))
        entries = _joined(final, docs)
        reads = [read if flag else None for read, flag in zip(lists.reads, answered)]
        is_read = np.array([read is not None for read in reads], bool)
        table = SearchTable(
            table=unmatched(np.bincount(query, minlength=len(batch)), answered),
            same=np.arange(len(query)),
            start=ends(n),
            step=column(lists.step, 1),
            lane=column(lists.lane, 0),
            list_start=ends(lengths),
            docs=ranges(
                column(len(final.texts.numbers) + starts_of(n_docs), starts_of(n_final)[alone]),
                lengths,
            ),
            measured=column(lists.measured & is_meant, of_alone=True),
            failed=failed,
            seconds=column(lists.seconds, seconds[alone]),
            # What failed gave nothing that could have cost any, unless it says otherwise.
            tokens=column(
                np.where(lists.failed & np.isnan(lists.tokens), 0.0, lists.tokens), np.nan
            ),
            final=Places(ends(n_final), np.arange(n_final.sum()), has_list | is_empty),
            read=Places(
                ends(np.array([len(read or ()) for read in reads], np.int64)),
                _read(entries, query, reads),
                is_read | is_empty,
            ),
            basis=basis,
            says_read=says_read,
        )
        return cls(entries, query, table)

    @property
    def distinct(self) -> tuple[Ints, Ints]:
        """Which entries are the distinct documents, question by question; and each entry's place.

        They are told apart by id and text; without an id by metadata too, as one text may stand in
        many places, which only metadata tell.
        """
        ids, metadata = self.entries.ids or repeat(None), self.entries.metadata or repeat(None)
        about = (
            repr(told) if told and doc_id is None else None for doc_id, told in zip(ids, metadata)
        )
        columns = self.query.tolist(), ids, self.entries.texts.numbers.tolist(), about
        first = firsts(zip(*columns))
        distinct = _by_query(first, self.query)
        at = np.zeros(len(first), np.int64)
        at[distinct] = np.arange(len(distinct))
        return distinct, at[first]


def _read(entries: Entries, query: Ints, reads: Sequence[tuple[int, ...] | None]) -> Ints:
    """The entries that were read, or `UNKNOWN_DOC`.

    Args:
        entries: all of them.
        query: of each.
        reads: (q) what was read, by number among the question's distinct documents by id and text.
    """
    number = np.array([*chain.from_iterable(filter(None, reads))], np.int64)
    if not len(number):
        return number
    first = firsts(zip(query.tolist(), entries.ids or repeat(None), entries.texts.numbers.tolist()))
    distinct = _by_query(first, query)
    begins = starts_of(np.bincount(query[distinct], minlength=len(reads)))
    of_read = np.repeat(np.arange(len(reads)), [len(read or ()) for read in reads])
    is_known = number >= 0
    entry = np.full(len(number), UNKNOWN_DOC)
    entry[is_known] = distinct[(begins[of_read] + number)[is_known]]
    return entry


def firsts(names: Iterable[Hashable]) -> Ints:
    """The place at which each of some names stands first."""
    first: dict[Hashable, int] = {}
    return np.array([first.setdefault(name, place) for place, name in enumerate(names)], np.int64)


def _by_query(first: Ints, query: Ints) -> Ints:
    """The entries that stand first among equals, question by question."""
    distinct = np.flatnonzero(first == np.arange(len(first)))
    return distinct[np.argsort(query[distinct], kind="stable")]


def query_of(n: Ints) -> Ints:
    """The question of each search, of which each question has so many."""
    return np.repeat(np.arange(len(n)), n)


def _no_searches(batch: Batch) -> SearchLists:
    """What questions say that have lists alone."""
    n, has_list = np.zeros(len(batch), np.int64), np.ones(len(batch), bool)
    ints, floats, bools = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool)
    docs = taken(batch.docs, ints, ints)
    columns = ints, ints, docs, bools, bools, floats, floats
    return SearchLists(n, *columns, [None] * len(batch), has_list, ())


def _those(entries: Entries, is_meant: Bools) -> Entries:
    """The lists that are meant; the others are empty."""
    texts = entries.texts
    if not texts.n_texts[~is_meant].any():
        return entries
    lengths = np.where(is_meant, texts.n_texts, 0)
    return taken(entries, np.flatnonzero(is_meant[texts.of_text]), lengths)


def _joined(final: Entries, docs: Entries) -> Entries:
    """The entries of two parts of one batch as those of one list."""
    parts = [part for part in (final, docs) if len(part.texts.numbers)] or [final]
    numbers = np.concatenate([part.texts.numbers for part in parts])
    columns: list[Any] = []
    for name in ("ids", "numbers", "metadata"):
        values = [getattr(part, name) for part in parts]
        is_said = any(value is not None for value in values)
        filled = (
            repeat(None, len(part.texts.numbers)) if value is None else value
            for value, part in zip(values, parts)
        )
        columns.append([*chain.from_iterable(filled)] if is_said else None)
    return Entries(Lists(final.texts.known, numbers, np.array([len(numbers)], np.int64)), *columns)


def taken(entries: Entries, places: Ints, n: Ints) -> Entries:
    """Some entries as lists, n of each question."""
    rows = places.tolist()
    columns: list[Any] = [
        None if values is None else [values[row] for row in rows]
        for values in (entries.ids, entries.numbers, entries.metadata)
    ]
    return Entries(Lists(entries.texts.known, entries.texts.numbers[places], n), *columns)


def unmatched(n_docs: Ints, answered: Bools) -> MatchTable:
    """A match table of some documents, without gold."""
    nothing = np.zeros(0, np.int32)
    return MatchTable(
        doc_start=ends(n_docs),
        gold_start=np.zeros(len(n_docs) + 1, np.int64),
        grade=np.zeros(0),
        answered=answered,
        repeated=np.zeros(int(n_docs.sum()), bool),
        pair_doc=nothing,
        pair_gold=nothing,
        pair_score=np.zeros(0),
        threshold=1.0,
    )
