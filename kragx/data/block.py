"""Questions as columns: what is done with many of them looks at no object of each.

A block stands for its questions wherever these pass one after the other; who looks at a question
or a document has it made (`Block.rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data.documents import Doc, chunk_of
from kragx.data.gold import Gold, Query, plain_gold_json, plain_query_hash, query_hash
from kragx.data.lists import Lists
from kragx.data.runs import Retrieved
from kragx.errors import DataError

Row = tuple[int | None, Query, Retrieved | None]
"""The line on which a question begins, the question, and what was retrieved for it."""

NO_TEXT = -1
"""Stands for the text of an entry that has none."""


@dataclass(frozen=True)
class Entries:
    """The documents, or the gold items, of some questions, one question after the other.

    Attributes:
        texts: of each question, by number among the known ones; `NO_TEXT` for none.
        ids: None where no entry has one, and so below.
        numbers: scores, or grades.
        metadata: a mapping for each entry.
        alternatives: of gold items.
    """

    texts: Lists
    ids: Sequence[str | None] | None = None
    numbers: Sequence[float | None] | None = None
    metadata: Sequence[Mapping[str, Any] | None] | None = None
    alternatives: Sequence[tuple[Doc, ...]] | None = None

    @cached_property
    def have_texts(self) -> bool:
        """Whether none is without."""
        return bool((self.texts.numbers >= 0).all())

    def rows(
        self,
    ) -> Iterator[tuple[str | None, str | None, float | None, Mapping[str, Any] | None]]:
        """Id, text, number and metadata of each entry."""
        known = self.texts.known
        texts = [None if own < 0 else known[own] for own in self.texts.numbers.tolist()]
        none = repeat(None)
        return zip(
            none if self.ids is None else self.ids,
            texts,
            none if self.numbers is None else self.numbers,
            none if self.metadata is None else self.metadata,
        )

    def golds(self) -> list[tuple[Gold, ...]]:
        """The gold items of each question."""
        others = repeat(()) if self.alternatives is None else self.alternatives
        return self._by_question(
            [
                Gold(gold_id, text, 1.0 if grade is None else grade, own, metadata or {})
                for (gold_id, text, grade, metadata), own in zip(self.rows(), others)
            ]
        )

    def documents(self) -> list[tuple[Doc, ...]]:
        """The documents of each question; those with the same text and nothing else are one."""
        others = (self.ids, self.numbers, self.metadata)
        if others == (None, None, None) and self.have_texts:
            known = self.texts.known
            chunks = (chunk_of(known[own]) for own in self.texts.numbers.tolist())
            return self._by_question(chunks)
        return self._by_question(
            Doc(doc_id, text, metadata or {}, score)
            for doc_id, text, score, metadata in self.rows()
        )

    def _by_question(self, entries: Any) -> list[tuple[Any, ...]]:
        stream = iter(entries)
        return [tuple(islice(stream, n)) for n in self.texts.n_texts.tolist()]


@dataclass(frozen=True)
class Block:
    """Some questions, and what was retrieved for each; all entries of a list are plain.

    Attributes:
        lines: on which they begin.
        query_ids: theirs.
        questions: their texts.
        golds: their gold items.
        docs: what was retrieved for them.
        answered: whether anything says what was retrieved.
        seconds: how long that took.
        more: further fields of a `Query` by name, of each question.
        made: the questions, where they are objects already.
    """

    lines: Sequence[int | None]
    query_ids: Sequence[str]
    questions: Sequence[str | None]
    golds: Entries
    docs: Entries
    answered: Sequence[bool]
    seconds: Sequence[float | None]
    more: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    made: Sequence[Query] = ()

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def is_texts(self) -> bool:
        """Whether each gold item and document has one text."""
        return self.golds.alternatives is None and self.golds.have_texts and self.docs.have_texts

    @property
    def may_contradict(self) -> bool:
        """Whether a question may say two things of its gold: by grades, alternatives, or a flag."""
        grades = {*(self.golds.numbers or ())}
        is_plain = self.golds.alternatives is None and "answerable" not in self.more
        return not (is_plain and grades <= {None, 1.0})

    @property
    def grades(self) -> NDArray[np.float64]:
        """Of all gold items."""
        grades = self.golds.numbers
        if grades is None:
            return np.ones(len(self.golds.texts.numbers))
        return np.array([1.0 if own is None else own for own in grades])

    @property
    def unanswerable(self) -> NDArray[np.bool_]:
        """Of which questions the gold set says that nothing answers them."""
        flags = self.more.get("answerable") or [None] * len(self)
        return np.array([own is False for own in flags], bool)

    def queries(self) -> list[Query]:
        """The questions with their gold."""
        if self.made:
            return [*self.made]
        each = zip(self.query_ids, self.questions, self.golds.golds())
        if not self.more:
            return [Query(query_id, text, gold) for query_id, text, gold in each]
        more = zip(*self.more.values())
        return [Query(*own, **dict(zip(self.more, about))) for own, about in zip(each, more)]

    def rows(self) -> Iterator[Row]:
        """The questions one by one, as objects."""
        each = zip(self.docs.documents(), self.answered, self.seconds)
        answers = [Retrieved(docs, time) if is_there else None for docs, is_there, time in each]
        return zip(self.lines, self.queries(), answers)

    def hashes(self) -> list[bytes]:
        """`query_hash` of each question."""
        golds, kinds = self.golds, self.more.get("query_type", repeat(None))
        others = (golds.metadata, golds.alternatives)
        if others != (None, None) or not self.more.keys() <= {"query_type"}:
            return [*map(query_hash, self.queries())]
        items = iter(
            [
                plain_gold_json(gold_id, text, 1.0 if grade is None else grade)
                for gold_id, text, grade, _ in golds.rows()
            ]
        )
        each = zip(self.query_ids, self.questions, kinds, golds.texts.n_texts.tolist())
        return [
            plain_query_hash(query_id, text, kind, islice(items, n))
            for query_id, text, kind, n in each
        ]


def in_rows(stream: Iterable[Row | Block]) -> Iterator[Row]:
    """A stream with the questions of blocks one by one."""
    for own in stream:
        if isinstance(own, Block):
            yield from own.rows()
        else:
            yield own


class Kept:
    """A stream of which somebody looks at the beginning before it passes: that is kept.

    Args:
        stream: can be read once.

    Attributes:
        is_whole: whether all of it is kept.
    """

    def __init__(self, stream: Iterator[Row | Block]) -> None:
        self._stream = stream
        self._kept: list[Row | Block] = []
        self._error: DataError | None = None
        self.is_whole: bool = False

    def ahead(self, n_whole: float, room: float) -> Iterator[Row | Block]:
        """The stream, until what was kept of it has taken the room; a mistake is kept, too.

        Args:
            n_whole: so many questions are kept, whatever room they take.
            room: for how many entries that are texts alone; another takes that of `_HEAVY`.
        """
        n, known = 0, set()
        try:
            for own in self._stream:
                self._kept.append(own)
                yield own
                n += len(own) if isinstance(own, Block) else 1
                room -= _room(own)
                if isinstance(own, Block):  # other lists hold some ten million other characters
                    known.add(id(own.docs.texts.known))
                if n >= n_whole and (room <= 0 or len(known) > _MOST_KNOWN):
                    return
        except DataError as error:
            self._error = error
        self._stream, self.is_whole = iter(()), True

    def blocks(self) -> Iterator[Row | Block]:
        """All of it, with questions in blocks.

        Raises:
            DataError: what was kept ends with a mistake.
        """
        yield from self._kept
        if self._error is not None:
            raise self._error
        yield from self._stream

    def __iter__(self) -> Iterator[Row]:
        return in_rows(self.blocks())


_HEAVY, _MOST_KNOWN = 8, 2


def _room(own: Row | Block) -> int:
    """How much room some questions take, in entries that are texts alone."""
    if isinstance(own, Block):
        docs = own.docs
        is_light = docs.ids is None and docs.metadata is None
        return len(docs.texts.numbers) * (1 if is_light else _HEAVY)
    return _HEAVY**2 * (1 if own[2] is None else 1 + len(own[2].documents))
