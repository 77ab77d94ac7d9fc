"""Searches of a question: its distinct documents, matched once, and the lists made of them.

Metrics that name no list are about one for all questions, and for all runs compared (`Seen`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, compress, pairwise, repeat
from typing import Any, Literal, Self, get_args

import numpy as np

from kragx.data import Doc, GoldDataset, Query, Run, Tokenizer, every_run
from kragx.data.batch import Batch, batches_of
from kragx.data.entries import Entries, SearchLists
from kragx.data.lists import Lists, ranges, starts as starts_of
from kragx.data.searches import UNKNOWN_DOC, ListName, Order
from kragx.evaluation.document_sizes import counted_text
from kragx.ground.errors import DataError
from kragx.matchers.items import first_same
from kragx.metrics import Bools, Ints, MatchTable, RankedList
from kragx.metrics.search_table import Basis, Places, SearchTable, SearchView, ends

SEARCHES = "searches"
"""What settings and counts of searches stand under."""

OF_SEARCHES = "searches "
"""Before the names of counts of searches, which are added up."""


Told = Literal["tokens", "read"]
"""What searches may say of themselves."""


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
        # Repeats are told list by list (`same`), as two searches may bring the same document.
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
        entries, query, table = _listed(batch, self.basis, says_read=self.says_read)
        places = table.places()
        # Not `asdict`, which copies all that it finds, down to the single texts.
        columns = {name.name: getattr(batch, name.name) for name in fields(Batch)}
        if batch.searches is not None:
            columns |= {"docs": entries.at(places.docs, places.lengths), "searches": None}
        columns |= {"entries": entries, "query_of_entry": query, "by_entry": table}
        return BasisBatch(**columns, is_there=places.is_there)

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
            by_entry, (distinct, place) = batch.by_entry, batch.distinct
            n_docs = np.bincount(batch.query_of_entry[distinct], minlength=len(batch))
            docs = batch.entries.at(distinct, n_docs)
            same = first_same(docs)
            table = by_entry.over(unmatched(n_docs, by_entry.table.answered), same, place)
            if self.counts_by is not None:
                table = table.with_counted_tokens(_lengths(batch, docs, self.counts_by))
            if self.keeps_docs:
                by_entry = replace(by_entry, same=firsts(same[place].tolist()))
                parts.append(Searched(table, by_entry, *batch.entries.documents()))
            else:
                parts.append(Searched(table))
            batch = replace(batch, searches=None)  # noqa: PLW2901
            if hears_all is not None:
                places = table.places("all")
                of_all = docs.at(places.docs, places.lengths)
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
            "query {query_ids!r}: a document has no text, and no "
            "search says its tokens, so that these are counted",
            remedy="give searches their 'tokens', or documents their texts",
            query_ids=batch.query_ids[docs.texts.of_text[place]],
        )
    # Each distinct text is cut into tokens once, and its length goes back to all places of it.
    kinds, place_of = np.unique(numbers, return_inverse=True)
    texts = (counted_text(docs.texts.known[number]) for number in kinds.tolist())
    return np.array([*map(len, tokenizer.tokens(texts))], np.int64)[place_of]


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
        "n_searches": view.step_costs("searches").sum(),
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


@dataclass(frozen=True, kw_only=True)
class BasisBatch(Batch):
    """Questions whose documents are those of the list that metrics are about which name none.

    Attributes:
        entries: those of all their lists: those got in the end, then those that searches gave. A
            question that failed has none; of its searches only the cost counts, and whatever they
            brought was of no use. One that has a list alone has made one search.
        query_of_entry: the question of each.
        by_entry: the searches over these, each of which is a document, none of it matched.
        is_there: whether the list is known.
    """

    entries: Entries
    query_of_entry: Ints
    by_entry: SearchTable
    is_there: Bools

    @property
    def answered(self) -> Bools:
        """Of which questions the list is known."""
        return self.by_entry.table.answered & self.is_there

    @property
    def distinct(self) -> tuple[Ints, Ints]:
        """Which entries are the distinct documents, question by question; and each entry's place.

        They are told apart by id and text; without an id by metadata too, as one text may stand in
        many places, which only metadata tell.
        """
        # Metadata as text: it may hold lists, by which no dictionary can find anything.
        ids, metadata = self.entries.ids or repeat(None), self.entries.metadata or repeat(None)
        about = (
            repr(told) if told and doc_id is None else None for doc_id, told in zip(ids, metadata)
        )
        columns = self.query_of_entry.tolist(), ids, self.entries.texts.numbers.tolist(), about
        distinct, first = _distinct(zip(*columns), self.query_of_entry)
        at = np.zeros(len(first), np.int64)
        at[distinct] = np.arange(len(distinct))
        return distinct, at[first]


def _listed(batch: Batch, basis: Basis, *, says_read: bool) -> tuple[Entries, Ints, SearchTable]:
    """The entries, their questions, and the searches of a `BasisBatch`; see `SearchTable`."""
    answered, lists = batch.answered, batch.searches
    if lists is None:  # they have lists alone
        lists = replace(SearchLists.of([None] * len(batch)), has_list=np.ones(len(batch), bool))
    of_search = query_of(lists.n)
    is_meant, has_list = answered[of_search], lists.has_list & answered
    final, docs = _those(batch.docs, has_list), _those(lists.docs, is_meant)
    n_final, n_docs = final.texts.n_texts, docs.texts.n_texts
    alone = np.flatnonzero(has_list & (lists.n == 0))
    # A list alone is sorted in as one search of its question; stable, as searches are in steps.
    order = np.argsort(np.concatenate((of_search, alone)), kind="stable")

    def column(values: Any, of_alone: Any) -> Any:
        return np.concatenate((values, np.broadcast_to(of_alone, len(alone))))[order]

    seconds = np.array([np.nan if s is None else s for s in batch.seconds], np.float64)
    lengths = column(n_docs, n_final[alone])
    failed = column(lists.failed | ~is_meant, of_alone=False)
    n = lists.n + np.bincount(alone, minlength=len(batch))
    # Where each search failed, or none was made, it is known what came in the end: nothing.
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
        tokens=column(np.where(lists.failed & np.isnan(lists.tokens), 0.0, lists.tokens), np.nan),
        final=Places(ends(n_final), np.arange(n_final.sum()), has_list | is_empty),
        read=Places(
            ends(np.array([len(read or ()) for read in reads], np.int64)),
            _read(entries, query, reads),
            is_read | is_empty,
        ),
        basis=basis,
        says_read=says_read,
    )
    return entries, query, table


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
    columns = query.tolist(), entries.ids or repeat(None), entries.texts.numbers.tolist()
    distinct, _ = _distinct(zip(*columns), query)
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


def _distinct(names: Iterable[Hashable], query: Ints) -> tuple[Ints, Ints]:
    """The entries that stand first among equals, question by question; and the first of each."""
    first = firsts(names)
    distinct = np.flatnonzero(first == np.arange(len(first)))
    return distinct[np.argsort(query[distinct], kind="stable")], first


def query_of(n: Ints) -> Ints:
    """The question of each search, of which each question has so many."""
    return np.repeat(np.arange(len(n)), n)


def _those(entries: Entries, is_meant: Bools) -> Entries:
    """The lists that are meant; the others are empty."""
    texts = entries.texts
    if not texts.n_texts[~is_meant].any():
        return entries
    lengths = np.where(is_meant, texts.n_texts, 0)
    return entries.at(np.flatnonzero(is_meant[texts.of_text]), lengths)


def _joined(final: Entries, docs: Entries) -> Entries:
    """The entries of two parts of one batch as those of one list."""
    parts = [(part, len(part.texts.numbers)) for part in (final, docs)]
    columns: dict[str, Any] = {}
    for name in ("ids", "numbers", "metadata"):
        values = [(getattr(part, name), n) for part, n in parts]
        if any(column is not None for column, _ in values):
            pieces = ([None] * n if column is None else column for column, n in values)
            columns[name] = [*chain.from_iterable(pieces)]
    numbers = np.concatenate([part.texts.numbers for part, _ in parts])
    n_entries = np.array([len(numbers)], np.int64)
    return Entries(Lists(final.texts.known, numbers, n_entries), **columns)


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
        unanswerable=np.zeros(len(n_docs), bool),
    )


@dataclass(frozen=True)
class Seen:
    """What a look at all searches shows before the first of them is matched.

    Attributes:
        basis: what each question got in the end where all have that, else what its first search
            gave.
        says: what any of those that were looked at says: what it cost in tokens, what was read.
    """

    basis: Basis
    says: frozenset[Told]

    @classmethod
    def joined(cls, parts: Iterable[Self | None]) -> Self | None:
        """What several looks show together; None where none showed any search."""
        looks = [part for part in parts if part is not None]
        is_first = any(part.basis == "first" for part in looks)
        says = frozenset[Told]().union(*(part.says for part in looks))
        return cls("first" if is_first else "retrieved", says) if looks else None


def seen_in(batches: Iterable[Batch]) -> Seen | None:
    """What questions with their searches show; None where none has any."""
    seen: Seen | None = None
    for batch in batches:
        seen = Seen.joined((seen, _seen(batch)))
        if seen is not None and seen.basis == "first" and len(seen.says) == len(get_args(Told)):
            break  # nothing more could show
    return seen


def _seen(batch: Batch) -> Seen | None:
    lists, answered = batch.searches, batch.answered
    if lists is None or not (answered & ((lists.n > 0) | ~lists.has_list)).any():
        return None
    query = query_of(lists.n)
    says: set[Told] = set()
    if not np.isnan(lists.tokens[answered[query]]).all():
        says.add("tokens")
    if any(read is not None for read in compress(lists.reads, answered)):
        says.add("read")
    # A search that is measured, and no list beside.
    is_first = (lists.measured & ~lists.has_list[query] & answered[query]).any()
    return Seen("first" if is_first else "retrieved", frozenset(says))


def seen_in_runs(dataset: GoldDataset, runs: Iterable[Run]) -> Seen | None:
    """The same of several runs, which have one basis."""
    rows = [
        (None, Query(query_id), answer)
        for run in every_run(runs)
        for query_id, answer in run.results.items()
        if query_id in dataset and answer.error is None and (answer.searches or not answer.has_list)
    ]
    return seen_in(batches_of(rows)) if rows else None
