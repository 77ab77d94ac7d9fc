"""The lists of a batch side by side: what questions got, what each search gave, what was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain, repeat
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.search_lists import SearchLists
from kragx.data.searches import UNKNOWN_DOC
from kragx.data.stretches import ranges, starts as starts_of
from kragx.evaluation.searching.entries import (
    first_of_equals,
    is_first,
    joined,
    keys,
    metadata_numbers,
    numbers_of,
    taken,
)
from kragx.metrics import Bools, Floats, Ints, MatchTable
from kragx.metrics.search_table import Basis, Places, SearchTable


@dataclass(frozen=True)
class BasisBatch(Batch):
    """Questions whose documents are those of the list that metrics are about which name none.

    Attributes:
        final: what each got in the end; of a question that has searches alone it says nothing.
        lists: what searches gave; None where no question has any.
        is_there: whether the list is known.
    """

    final: Entries = field(kw_only=True)
    lists: SearchLists | None = field(kw_only=True)
    is_there: Bools = field(kw_only=True)

    @property
    def answered(self) -> Bools:
        """Of which questions the list is known."""
        return self.has_answer & self.is_there

    @property
    def has_answer(self) -> Bools:
        """Which questions were answered, whatever is known of that."""
        return np.array([status == "answered" for status in self.statuses], bool)


def on_basis(batch: Batch, basis: Basis) -> BasisBatch:
    """A batch with the documents of the list that metrics are about which name none."""
    lists, docs = batch.searches, batch.docs
    is_there = np.ones(len(batch), bool)
    if lists is not None:
        is_there = nothing_came(lists.n, lists.failed)
        if basis == "retrieved":
            is_there = is_there | lists.has_list
        else:
            is_there[query_of(lists.n)[lists.measured]] = True
            docs = _first_lists(batch, lists)
    columns = {name.name: getattr(batch, name.name) for name in fields(Batch)}
    if lists is not None:  # answers would take what was read by numbers for these documents
        columns |= {"docs": docs, "searches": None}
    return BasisBatch(**columns, final=batch.docs, lists=lists, is_there=is_there)


def n_came(batch: Batch) -> Ints:
    """(q) how many documents came in the end: of what was handed on, else of any search."""
    n_docs: Ints = batch.docs.texts.n_texts
    if not isinstance(batch, BasisBatch) or batch.lists is None:
        return n_docs
    n_final, lists = batch.final.texts.n_texts, batch.lists
    of_searches = np.zeros_like(n_docs)
    np.add.at(of_searches, query_of(lists.n), lists.docs.texts.n_texts)
    return np.where(lists.has_list, n_final, of_searches)


def _first_lists(batch: Batch, lists: SearchLists) -> Entries:
    """What the first search of each question gave that is measured; of who has none, its list."""
    final = batch.docs
    n_final = final.texts.n_texts
    if not (lists.has_list & (lists.n > 0) & batch.answered).any():
        return final  # it is that already
    firsts = final.texts.starts.copy()
    lengths = np.where(lists.n > 0, 0, n_final)
    numbers = np.flatnonzero(lists.measured & batch.answered[query_of(lists.n)])
    queries = query_of(lists.n)[numbers]
    begins = np.flatnonzero(np.diff(queries, prepend=-1))
    search, queries = numbers[begins], queries[begins]
    firsts[queries] = len(final.texts.numbers) + lists.docs.texts.starts[search]
    lengths[queries] = lists.docs.texts.n_texts[search]
    return taken(joined([final, lists.docs]), ranges(firsts, lengths), lengths)


def nothing_came(n: Ints, failed: Bools) -> Bools:
    """(q) of which questions all searches failed, if there were any: whatever they got is empty."""
    n_failed = np.bincount(query_of(n)[failed], minlength=len(n))
    return np.equal(n_failed, n)


def query_of(n: Ints) -> Ints:
    """The question of each search, of which each question has so many."""
    return np.repeat(np.arange(len(n)), n)


@dataclass(frozen=True)
class Listing:
    """The lists of q questions as entries: those got in the end, then those that searches gave.

    A question that failed has none; of its searches only the cost counts, and whatever they brought
    was of no use. One that has a list alone has made one search.

    Attributes:
        entries: all of them.
        query: of each entry.
        n_final: (q) how many are of the list that was got in the end.
        n: (q) the searches of each question; the columns below are theirs.
        firsts, lengths: which entries each search gave.
        has_list: (q) whether the list that was got in the end is known.
        reads: (q) what was read, by number among the question's distinct documents; None where
            nobody says.
        answered: (q).
    """

    entries: Entries
    query: Ints
    n_final: Ints
    n: Ints
    firsts: Ints
    lengths: Ints
    step: Ints
    lane: Ints
    measured: Bools
    failed: Bools
    seconds: Floats
    tokens: Floats
    has_list: Bools
    reads: Sequence[tuple[int, ...] | None]
    answered: Bools

    @classmethod
    def of(cls, batch: BasisBatch) -> Self:
        """That of a batch."""
        answered, lists = batch.has_answer, batch.lists or _no_searches(batch)
        of_search = query_of(lists.n)
        is_meant = answered[of_search]
        has_list = lists.has_list & answered
        final, docs = _those(batch.final, has_list), _those(lists.docs, is_meant)
        n_final, n_docs = final.texts.n_texts, docs.texts.n_texts
        alone = np.flatnonzero(has_list & (lists.n == 0))
        order = np.argsort(np.concatenate((of_search, alone)), kind="stable")

        def column(values: NDArray[Any], of_alone: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate((values, of_alone))[order]

        zero, nan = np.zeros(len(alone), np.int64), np.full(len(alone), np.nan)
        seconds = np.array([np.nan if s is None else s for s in batch.seconds], np.float64)
        # What failed gave nothing that could have cost any, unless it says otherwise.
        tokens = np.where(lists.failed & np.isnan(lists.tokens), 0.0, lists.tokens)
        return cls(
            entries=joined([final, docs]),
            query=np.concatenate((final.texts.of_text, of_search[docs.texts.of_text])),
            n_final=n_final,
            n=lists.n + np.bincount(alone, minlength=len(batch)),
            firsts=column(len(final.texts.numbers) + starts_of(n_docs), starts_of(n_final)[alone]),
            lengths=column(n_docs, n_final[alone]),
            step=column(lists.step, zero + 1),
            lane=column(lists.lane, zero),
            measured=column(lists.measured & is_meant, zero == 0),
            failed=column(lists.failed | ~is_meant, zero > 0),
            seconds=column(lists.seconds, seconds[alone]),
            tokens=column(tokens, nan),
            has_list=has_list,
            reads=[read if flag else None for read, flag in zip(lists.reads, answered)],
            answered=answered,
        )

    @property
    def distinct(self) -> tuple[Ints, Ints]:
        """Which entries are the distinct documents, question by question; and each entry's place.

        They are told apart by id and text; without an id by metadata too, as one text may stand in
        many places, which only metadata tell.
        """
        names, metadata = self._names, self.entries.metadata
        if metadata is not None:
            ids = self.entries.ids or repeat(None)
            about = [told if doc_id is None else None for told, doc_id in zip(metadata, ids)]
            names = keys(names, metadata_numbers(about, len(names)))
        first = first_of_equals(names)
        distinct = self._by_query(first)
        at = np.zeros(len(first), np.int64)
        at[distinct] = np.arange(len(distinct))
        return distinct, at[first]

    @cached_property
    def read(self) -> tuple[Ints, Ints]:
        """(q) how many documents were read, and the entries that these are; or `UNKNOWN_DOC`."""
        n_read = np.array([len(read or ()) for read in self.reads], np.int64)
        if not n_read.any():
            return n_read, np.zeros(0, np.int64)
        distinct = self._by_query(first_of_equals(self._names))
        starts = starts_of(np.bincount(self.query[distinct], minlength=len(n_read)))
        number = np.array([*chain.from_iterable(filter(None, self.reads))], np.int64)
        entry = np.full(len(number), UNKNOWN_DOC)
        is_known = number >= 0
        entry[is_known] = distinct[(np.repeat(starts, n_read) + number)[is_known]]
        return n_read, entry

    @cached_property
    def _names(self) -> Ints:
        """What tells entries apart: question, id and text, as their data number them."""
        ids = numbers_of(self.entries.ids, len(self.query))
        return keys(self.query, ids, self.entries.texts.numbers)

    def _by_query(self, first: Ints) -> Ints:
        """The entries that stand first among equals, question by question."""
        distinct = np.flatnonzero(is_first(first))
        return distinct[np.argsort(self.query[distinct], kind="stable")]

    def table(self, place: Ints, read: Ints, same: Ints, basis: Basis, n_docs: Ints) -> SearchTable:
        """The searches over documents of which nothing is matched yet.

        Args:
            place: the document of each entry.
            read: the documents that were read; `UNKNOWN_DOC` for one that nobody retrieved.
            same: as of `SearchTable`.
            basis: the list that metrics are about which name none.
            n_docs: (q) how many documents each question has.
        """
        is_empty = ~self.answered | nothing_came(self.n, self.failed)
        n_read, _ = self.read
        is_read = np.array([of_query is not None for of_query in self.reads], bool)
        final = place[: int(self.n_final.sum())]
        return SearchTable(
            table=_unmatched(n_docs, self.answered),
            same=same,
            start=_ends(self.n),
            step=self.step,
            lane=self.lane,
            list_start=_ends(self.lengths),
            docs=place[ranges(self.firsts, self.lengths)],
            measured=self.measured,
            failed=self.failed,
            seconds=self.seconds,
            tokens=self.tokens,
            final=Places(_ends(self.n_final), final, self.has_list | is_empty),
            read=Places(_ends(n_read), read, is_read | is_empty),
            basis=basis,
        )


def _no_searches(batch: BasisBatch) -> SearchLists:
    """What questions say that have lists alone."""
    n, has_list = np.zeros(len(batch), np.int64), np.ones(len(batch), bool)
    ints, floats, bools = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, bool)
    docs = taken(batch.final, ints, ints)
    columns = ints, ints, docs, bools, bools, floats, floats
    return SearchLists(n, *columns, [None] * len(batch), has_list, ())


def _those(entries: Entries, is_meant: Bools) -> Entries:
    """The lists that are meant; the others are empty."""
    texts = entries.texts
    if not texts.n_texts[~is_meant].any():
        return entries
    lengths = np.where(is_meant, texts.n_texts, 0)
    return taken(entries, np.flatnonzero(is_meant[texts.of_text]), lengths)


def _ends(lengths: Ints) -> Ints:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))


def _unmatched(n_docs: Ints, answered: Bools) -> MatchTable:
    """A match table of some documents, without gold."""
    nothing = np.zeros(0, np.int32)
    return MatchTable(
        doc_start=_ends(n_docs),
        gold_start=np.zeros(len(n_docs) + 1, np.int64),
        grade=np.zeros(0),
        answered=answered,
        repeated=np.zeros(int(n_docs.sum()), bool),
        pair_doc=nothing,
        pair_gold=nothing,
        pair_score=np.zeros(0),
        threshold=1.0,
    )
