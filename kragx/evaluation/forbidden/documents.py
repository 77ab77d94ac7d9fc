"""The documents of a batch, and which of them is which forbidden item: by text, id or source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from kragx.data import value_at
from kragx.data.batch import Batch
from kragx.data.corpus import Corpus
from kragx.data.entries import Entries
from kragx.data.forbidden import Forbidden, stretch_in
from kragx.data.gold import cut
from kragx.data.ngrams import of_pairs
from kragx.data.rules import UNKNOWN
from kragx.matchers import Notes
from kragx.matchers.batches import BatchMatcher
from kragx.matchers.items import every_pair
from kragx.metrics.threshold import matches

Stretch = tuple[str | None, int | None, int | None]
"""The source of a document, and its first character and the one behind its last; None: unsaid."""

_NAME = 60
"""Characters of a text that stand for a document without id."""

_LEAST_SHARED = 0.5
"""So much of the shorter of two stretches of a source has to be in the other one."""


class Documents:
    """The documents of a batch, by their rows, with what a corpus knows of them.

    Args:
        batch: the questions.
        id_key: where a document keeps its id, as of the matcher `id`.
        corpus: has sources and metadata that documents lack; may be none.
    """

    def __init__(self, batch: Batch, id_key: str | None, corpus: Corpus) -> None:
        self.batch: Batch = batch
        self.corpus: Corpus = corpus
        self.text_numbers: list[int] = batch.docs.texts.numbers.tolist()
        self.queries: list[int] = batch.docs.texts.of_text.tolist()
        self._id_key = id_key
        self._starts: list[int] = batch.docs.texts.starts.tolist()
        self._places: dict[int, Stretch] = {}

    def __len__(self) -> int:
        return len(self.text_numbers)

    def rows(self, query: int) -> range:
        """The documents of a question, by rank."""
        start = self._starts[query]
        return range(start, start + int(self.batch.docs.texts.n_texts[query]))

    @cached_property
    def ids(self) -> Sequence[str | None]:
        """(d) their ids; None of those without one."""
        return doc_ids(self.batch.docs, self._id_key)

    @cached_property
    def metadata(self) -> Sequence[Any]:
        """(d) their metadata; None, or empty, where there are none."""
        return self.batch.docs.metadata or [None] * len(self)

    def place(self, row: int) -> Stretch:
        """Of which source a document is, and where in it."""
        if row not in self._places:
            self._places[row] = self._place_of(row)
        return self._places[row]

    def _place_of(self, row: int) -> Stretch:
        doc_id, number = self.ids[row] or "", self.text_numbers[row]
        source, start, end = stretch_in(self.metadata[row] or {}, doc_id)
        if source is None and (doc := self.corpus.docs.get(doc_id)) is not None:
            source, start, end = stretch_in(doc.metadata, doc_id)
        if start is not None and end is None and number >= 0:
            end = start + len(self.batch.docs.texts.known[number])
        return source, start, end

    def names(self, row: int) -> set[str]:
        """What a document may be meant by: its id, and its source."""
        return {*filter(None, (self.ids[row], self.place(row)[0]))}

    def label(self, row: int) -> str:
        """What people call a document: its id, or without one the beginning of its text."""
        number = self.text_numbers[row]
        text = self.batch.docs.texts.known[number] if number >= 0 else ""
        return self.ids[row] or cut(text, _NAME)

    def where(self, row: int) -> str:
        """Where a document stands, for messages."""
        query = self.queries[row]
        rank = row - self._starts[query] + 1
        return f"query {self.batch.query_ids[query]!r}, rank {rank} ({self.ids[row]!r})"

    def values(self, path: str) -> list[Any]:
        """(d) the value of each document at a path; the corpus's where it has none itself."""
        values = [value_at(about, path) if about else None for about in self.metadata]
        if self.corpus.source is None or None not in values:
            return values
        return [
            self._in_corpus(doc_id, path) if value is None else value
            for value, doc_id in zip(values, self.ids)
        ]

    def _in_corpus(self, doc_id: str | None, path: str) -> Any:
        doc = self.corpus.docs.get(doc_id or "")
        return None if doc is None else value_at(doc.metadata, path)


def doc_ids(docs: Entries, id_key: str | None) -> Sequence[str | None]:
    """The ids of documents, as the matcher `id` reads them; None for what it would refuse."""
    nothing = [None] * len(docs.texts.numbers)
    metadata = docs.metadata or nothing
    if id_key is not None and id_key != "id":
        return [as_id(value_at(about or {}, id_key)) for about in metadata]
    ids = docs.ids or nothing
    if docs.metadata is None or id_key is not None or None not in ids:
        return ids
    return [
        as_id((about or {}).get("id")) if doc_id is None else doc_id
        for doc_id, about in zip(ids, metadata)
    ]


def as_id(value: object) -> str | None:
    """A value as an id; None where it is none."""
    is_id = isinstance(value, (str, Integral)) and not isinstance(value, bool)
    return (str(value).strip() and str(value)) or None if is_id else None


@dataclass
class ItemMatches:
    """The f forbidden items of some questions, and which documents of the question they are.

    Attributes:
        items: (f) one question after the other.
        queries: (f) of which question each is.
        pairs: a document, an item, and 1 where the one is the other or -1 where nobody knows;
            others have no pair.
        lost: the items that can match nothing.
        by_id: those that can match nothing if no retrieved id is named anywhere.
    """

    items: list[Forbidden]
    queries: list[int]
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    by_id: list[int] = field(default_factory=list)


def matched_items(
    docs: Documents, matcher: BatchMatcher | None, is_known: Callable[[str], bool]
) -> ItemMatches:
    """All pairs, each item compared by the first of text, id and source that can be.

    Args:
        docs: the documents.
        matcher: compares texts; None where ids alone are compared.
        is_known: whether the corpus has a document that is called so.
    """
    lists = [*enumerate(docs.batch.forbidden or ())]
    result = ItemMatches(
        [item for _, items in lists for item in items or ()],
        [query for query, items in lists for _ in items or ()],
    )
    carriers = _carriers(docs, result, matcher)
    has_corpus = docs.corpus.source is not None
    for number, item in enumerate(result.items):
        truths = _truths(docs, result.queries[number], item, carriers.get(number))
        result.pairs += [(row, number, truth) for row, truth in truths.items() if truth]
        if number in carriers:
            continue
        if item.id is not None and not has_corpus:
            result.by_id.append(number)
        elif 1 not in truths.values() and not _may_match(item, docs.corpus, is_known):
            result.lost.append(number)
    return result


def _may_match(item: Forbidden, corpus: Corpus, is_known: Callable[[str], bool]) -> bool:
    """Whether any document can be an item whose text is not compared."""
    if item.id is not None:
        return is_known(item.id)
    return item.source is not None and (corpus.source is None or item.source in corpus.sources)


def _truths(
    docs: Documents, query: int, item: Forbidden, carriers: set[int] | None
) -> dict[int, int]:
    """Which documents of a question an item is: 1, or -1 where nobody knows.

    Args:
        docs: the documents.
        query: the question.
        item: what must not come.
        carriers: the documents that have its text; None where no text is compared.
    """
    rows, ids = docs.rows(query), docs.ids
    truths: dict[int, int] = {}
    if carriers is not None:
        truths = {row: UNKNOWN for row in rows if docs.text_numbers[row] < 0}
        truths |= dict.fromkeys(carriers, 1)
        if item.text is not None:
            return truths
    # The text of an id that the corpus has stands beside it: either tells the document.
    if item.id is not None:
        if carriers is None:
            truths = {row: UNKNOWN for row in rows if ids[row] is None}
        return truths | {row: 1 for row in rows if ids[row] == item.id}
    if item.source is not None:
        return {row: _is_there(docs.place(row), item) for row in rows}
    return truths


def _carriers(
    docs: Documents, items: ItemMatches, matcher: BatchMatcher | None
) -> dict[int, set[int]]:
    """The documents that have an item's text, for each in whose text the matcher finds anything."""
    texts, batch = docs.batch.forbidden_texts, docs.batch
    has_text = np.zeros(0, bool) if texts is None else texts.numbers >= 0
    if texts is None or matcher is None or not has_text.any():
        return {}
    (golds,) = matcher.numbered(texts.those(has_text))
    has_text[has_text] = ~matcher.useless(golds, gold=True)
    readable = np.flatnonzero(has_text)
    texts, lists = texts.those(has_text), batch.docs.texts
    is_meant = (texts.n_texts > 0)[lists.of_text] & (lists.numbers >= 0)
    compared = lists.those(is_meant)
    pairs = replace(
        batch,
        golds=Entries(texts),
        docs=Entries(compared),
        more={},
    )
    are = matches(matcher.trace(pairs, Notes(), every_pair(pairs)).scores, matcher.threshold)
    doc, gold = (part[are] for part in of_pairs(compared.n_texts, texts.n_texts))
    carriers: dict[int, set[int]] = {number: set() for number in readable.tolist()}
    rows = np.flatnonzero(is_meant)[doc]
    for row, number in zip(rows.tolist(), readable[gold].tolist()):
        source = items.items[number].source
        if source is None or docs.place(row)[0] in (None, source):
            carriers[number].add(row)
    return carriers


def _is_there(place: Stretch, item: Forbidden) -> int:
    """Whether a document stands where an item says: 1, 0, or -1 where nobody knows."""
    source, start, end = place
    if source is None:
        return UNKNOWN
    if source != item.source or item.start is None or item.end is None:
        return int(source == item.source)
    if start is None or end is None:
        return UNKNOWN
    shared = min(end, item.end) - max(start, item.start)
    return int(shared > 0 and shared >= _LEAST_SHARED * min(end - start, item.end - item.start))
