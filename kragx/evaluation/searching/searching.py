"""`Searching`: from a batch with searches to its distinct documents, and the lists made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np

from kragx.data import Doc, Tokenizer
from kragx.data.batch import Batch, Row
from kragx.data.entries import Entries
from kragx.data.searches import UNKNOWN_DOC, ListName, Order
from kragx.errors import DataError
from kragx.evaluation.arranging import arranged_batch
from kragx.evaluation.searching.listing import BasisBatch, firsts, taken, unmatched
from kragx.matchers.items import first_same
from kragx.metrics import Ints, MatchTable, Profile, RankedList
from kragx.metrics.search_table import Basis, SearchTable
from kragx.metrics.search_view import SearchView
from kragx.metrics.spans.reading import reading

SEARCHES = "searches"
"""What settings and counts of searches stand under."""

OF_SEARCHES = "searches "
"""Before the names of counts of searches, which are added up."""


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
        docs = [Doc() if n == UNKNOWN_DOC else self.docs[n] for n in places.docs.tolist()]
        starts = pairwise(places.start.tolist())
        return [replace(of_query, docs=(*docs[a:b],)) for of_query, (a, b) in zip(ranked, starts)]

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
        return BasisBatch.of_basis(batch, self.basis, says_read=self.says_read)

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
            listing, by_entry = batch.listing, batch.listing.table
            distinct, place = listing.distinct
            n_docs = np.bincount(listing.query[distinct], minlength=len(batch))
            docs = taken(listing.entries, distinct, n_docs)
            same = first_same(docs)
            table = by_entry.over(unmatched(n_docs, by_entry.table.answered), same, place)
            if self.counts_by is not None:
                table = table.with_counted_tokens(_lengths(batch, docs, self.counts_by))
            if self.keeps_docs:
                by_entry = replace(by_entry, same=firsts(same[place].tolist()))
                parts.append(Searched(table, by_entry, *listing.entries.documents()))
            else:
                parts.append(Searched(table))
            batch = replace(batch, searches=None)  # noqa: PLW2901
            if hears_all is not None:
                places = table.places("all")
                of_all = taken(docs, places.docs, places.lengths)
                hears_all(replace(batch, docs=of_all, is_there=places.is_there))
            yield replace(batch, docs=docs, is_there=np.ones(len(batch), bool))


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
    kinds, place_of = np.unique(numbers, return_inverse=True)
    texts = (reading(docs.texts.known[number], markup=True).strip() for number in kinds.tolist())
    return np.array([*map(len, tokenizer.tokens(texts))], np.int64)[place_of]


def documents_behind(rows: Sequence[Row], profile: Profile) -> list[tuple[Doc, ...]]:
    """The distinct documents of questions, in the order in which a `SearchTable` has them.

    Args:
        rows: the questions, with what was got for each.
        profile: orders lists.
    """
    searching = Searching("retrieved")  # whichever: all lists are taken apart
    batch = searching.on_basis(arranged_batch(Batch.of(rows), profile))
    (widened,) = searching.watching([batch], [])
    return widened.docs.documents()


def search_counts(searches: SearchTable) -> dict[str, int]:
    """The counts of some questions' searches; those of tables that follow one another add up.

    Of a question that failed searches and steps are counted, as they cost; no more is known of
    them. A search and its retries are one of ``n_searches``, as of ``searches_per_gold``; each that
    failed is one of ``n_failed``. ``n_no_search``: questions that were answered without one, but
    for unanswerable ones.
    ``n_documents``: distinct ones of each question that its searches brought. ``n_no_list`` and
    ``n_no_list_gold``: questions, and those of them with gold, of which the list is not known that
    metrics are about which name none.
    """
    table, view = searches.table, SearchView(searches)
    answered, has_searches = table.answered, searches.n_searches > 0
    no_list = answered & ~searches.places().is_there
    counts = {
        "n_questions": has_searches.sum(),
        "n_searches": view.step_lanes.sum(),
        "n_steps": searches.n_steps.sum(),
        "n_documents": len(searches.places("all").docs),
        "n_unmeasured": (~searches.measured & ~searches.failed).sum(),
        "n_failed": (searches.failed & answered[searches.query]).sum(),
        "n_no_search": (answered & ~has_searches & ~table.unanswerable).sum(),
        "n_no_tokens": np.isnan(searches.tokens).sum(),
        "n_no_seconds": np.isnan(searches.seconds).sum(),
        "n_unread": (answered & ~searches.read.is_there).sum(),
        "n_unknown_read": (searches.read.docs == UNKNOWN_DOC).sum(),
        "n_no_list": no_list.sum(),
        "n_no_list_gold": (no_list & (view.n_gold > 0)).sum(),
    }
    return {f"{OF_SEARCHES}{name}": int(n) for name, n in counts.items()}
