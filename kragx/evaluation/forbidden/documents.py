"""The documents of a batch as what forbids them looks at them: ids, places, metadata, names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from numbers import Integral
from typing import Any

from kragx.data import value_at
from kragx.data.batch import Batch
from kragx.data.corpus import Corpus, stretch_of
from kragx.data.entries import Entries
from kragx.data.forbidden import stretch_in
from kragx.data.gold import cut

Stretch = tuple[str | None, int | None, int | None]
"""The source of a document, and its first character and the one behind its last; None: unsaid."""

_NAME = 60
"""Characters of a text that stand for a document without id."""


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
        stretch = stretch_of(doc_id)
        source, start, end = stretch_in(self.metadata[row] or {}, stretch)
        if source is None and (doc := self.corpus.docs.get(doc_id)) is not None:
            source, start, end = stretch_in(doc.metadata, stretch)
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
