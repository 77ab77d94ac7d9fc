"""`Searching`: from a batch with searches to its distinct documents, and the lists made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Self

import numpy as np

from kragx.data import Doc, Tokenizer
from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.searches import UNKNOWN_DOC, ListName, Order
from kragx.data.stretches import distinct
from kragx.errors import DataError
from kragx.evaluation.searching.entries import first_of_equals, taken
from kragx.evaluation.searching.listing import BasisBatch, Listing, on_basis
from kragx.matchers.items import first_same
from kragx.metrics import Ints, MatchTable, RankedList
from kragx.metrics.search_table import Basis, SearchTable
from kragx.metrics.spans.reading import reading


@dataclass(frozen=True)
class Searched:
    """The searches of some questions.

    Attributes:
        table: over their distinct documents, of which nothing is matched yet.
        by_entry: the same over the entries of all lists, each of which stands for itself; None
            where nobody looks at documents.
        docs: those entries.
    """

    table: SearchTable
    by_entry: SearchTable | None = None
    docs: Sequence[Doc] = ()

    def matched(self, table: MatchTable) -> SearchTable:
        """The searches with the matches of their documents."""
        return replace(self.table, table=replace(table, repeated=np.zeros_like(table.repeated)))

    def lists(
        self, ranked: Sequence[RankedList], name: ListName, order: Order
    ) -> Sequence[RankedList]:
        """What questions got with the documents of another of their lists; none if none are kept.

        Args:
            ranked: what they got.
            name: of the list.
            order: of all searches.
        """
        if self.by_entry is None:
            return ()
        places = self.by_entry.places(name, order)
        entries, starts = places.docs.tolist(), pairwise(places.start.tolist())
        lists = (tuple(self.docs[entry] for entry in entries[a:b]) for a, b in starts)
        return [replace(of_query, docs=docs) for of_query, docs in zip(ranked, lists)]

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Those of all questions of some parts, in order; at least one of them."""
        by_entry = [part.by_entry for part in parts if part.by_entry is not None]
        return cls(
            SearchTable.joined([part.table for part in parts]),
            SearchTable.joined(by_entry) if by_entry else None,
            [doc for part in parts for doc in part.docs],
        )


@dataclass(frozen=True)
class Searching:
    """How the searches of questions are taken apart; it can be sent to other processes.

    Attributes:
        basis: the list that metrics are about which name none.
        keeps_docs: whether documents are kept, as metrics look at them.
        counts_by: counts the tokens of what searches gave, as none says what it cost; None where
            that is said, or nobody asks.
        says_read: as of `SearchTable`.
    """

    basis: Basis
    keeps_docs: bool = False
    counts_by: Tokenizer | None = None
    says_read: bool = True

    def on_basis(self, batch: Batch) -> Batch:
        """A batch with the documents of the list that metrics are about which name none."""
        return on_basis(batch, self.basis)

    def watching(
        self,
        batches: Iterable[Batch],
        parts: list[Searched],
        hears_all: Callable[[Batch], None] | None = None,
    ) -> Iterator[Batch]:
        """Batches `on_basis` with all their distinct documents; the searches are added to some.

        Args:
            batches: the questions.
            parts: the searches are added to these.
            hears_all: is told each batch with the documents of all searches of a question as its
                list, by turns.
        """
        for batch in batches:
            assert isinstance(batch, BasisBatch)
            listing = Listing.of(batch)
            distinct, place = listing.distinct
            n_docs = np.bincount(listing.query[distinct], minlength=len(batch))
            docs = taken(listing.entries, distinct, n_docs)
            columns = {name.name: getattr(batch, name.name) for name in fields(Batch)}
            columns |= {"docs": docs, "searches": None}
            searched = self._searched(listing, place, first_same(docs), n_docs)
            if self.counts_by is not None:
                lengths = _lengths(batch, docs, self.counts_by)
                searched = replace(searched, table=searched.table.with_counted_tokens(lengths))
            parts.append(searched)
            if hears_all is not None:
                of_all = searched.table.places("all")
                columns |= {"docs": taken(docs, of_all.docs, of_all.lengths)}
                final, lists = batch.final, batch.lists
                hears_all(BasisBatch(**columns, final=final, lists=lists, is_there=of_all.is_there))
            yield Batch(**columns | {"docs": docs})

    def _searched(self, listing: Listing, place: Ints, same: Ints, n_docs: Ints) -> Searched:
        _, read = listing.read
        is_known = read >= 0
        of_read = np.where(is_known, place[read] if len(place) else read, UNKNOWN_DOC)
        table = listing.table(place, of_read, same, self.basis, n_docs)
        table = replace(table, says_read=self.says_read)
        if not self.keeps_docs:
            return Searched(table)
        n, n_unknown = len(place), int((~is_known).sum())
        entries = np.arange(n + n_unknown)
        read = read.copy()
        read[~is_known] = entries[n:]
        first = np.concatenate((first_of_equals(same[place]), entries[n:]))
        n_entries = np.zeros_like(n_docs)
        n_entries[-1:] = len(entries)  # whose they are is asked of nobody
        by_entry = listing.table(entries[:n], read, first, self.basis, n_entries)
        by_entry = replace(by_entry, says_read=self.says_read)
        (docs,) = listing.entries.documents()
        return Searched(table, by_entry, [*docs, *[Doc()] * n_unknown])


def _lengths(batch: Batch, docs: Entries, tokenizer: Tokenizer) -> Ints:
    """(d) the tokens of documents, which are read as for budgets.

    Raises:
        DataError: a document has no text.
    """
    numbers = docs.texts.numbers
    if not docs.have_texts:
        place = int((numbers < 0).argmax())
        raise DataError(
            f"query {batch.query_ids[docs.texts.of_text[place]]!r}: a document has no text, and no "
            "search says its tokens, so that these are counted",
            remedy="give searches their 'tokens', or documents their texts",
        )
    kinds = distinct(numbers)
    texts = (reading(docs.texts.known[number], markup=True).strip() for number in kinds.tolist())
    sizes = np.fromiter((len(tokens) for tokens in tokenizer.tokens(texts)), np.int64, len(kinds))
    lengths: Ints = sizes[np.searchsorted(kinds, numbers)]
    return lengths
