"""Documents, or gold items, of many questions as columns: what a batch is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, repeat
from math import nan
from operator import attrgetter
from types import NoneType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kragx.data.documents import Doc, chunk_of
from kragx.data.gold import Gold
from kragx.data.known import known_texts
from kragx.data.lists import Lists

Floats = NDArray[np.float64]

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
        are_distinct: whether it is known that all have ids, and none stands twice in a list.
    """

    texts: Lists
    ids: Sequence[str | None] | None = None
    numbers: Sequence[float | None] | Floats | None = None
    metadata: Sequence[Mapping[str, Any] | None] | None = None
    alternatives: Sequence[tuple[Doc, ...]] | None = None
    are_distinct: bool = False

    @classmethod
    def of(cls, items: Sequence[Doc] | Sequence[Gold], n: Sequence[int], number: str) -> Self:
        """Those of objects, n of each question; `number` names their score, or grade."""
        names = ("id", number, "metadata", "alternatives")
        ids, numbers, metadata, alternatives = (_column(items, name) for name in names)
        return cls(numbered([item.text for item in items], n), ids, numbers, metadata, alternatives)

    @cached_property
    def values(self) -> Floats:
        """The numbers as an array; NaN where there is none."""
        if self.numbers is None:
            return np.full(len(self.texts.numbers), nan)
        return np.asarray(self.numbers, np.float64)

    @cached_property
    def have_texts(self) -> bool:
        """Whether none is without."""
        return bool((self.texts.numbers >= 0).all())

    def part(self, queries: slice) -> Self:
        """Those of some questions in a row."""
        texts = self.texts.part(queries)
        first = int(self.texts.n_texts[: queries.start].sum())
        entries = slice(first, first + len(texts.numbers))
        return type(self)(
            texts,
            None if self.ids is None else self.ids[entries],
            None if self.numbers is None else self.numbers[entries],
            None if self.metadata is None else self.metadata[entries],
            None if self.alternatives is None else self.alternatives[entries],
            self.are_distinct,
        )

    def ranked(self) -> Self:
        """The documents of each question by score, ties by id descending (as UTF-8 bytes).

        A list without scores stays as it is; of another one each document has one.
        """
        if self.numbers is None:
            return self
        query, places = self.texts.of_text, np.arange(len(self.values))
        scores = np.where(np.isnan(self.values), -places, self.values)
        if ((scores[1:] < scores[:-1]) | (query[1:] > query[:-1])).all():
            return self
        narrow = query.astype(np.min_scalar_type(len(self.texts)))  # is sorted by its digits
        order = np.lexsort((-scores, narrow))  # equal ones stay in their order
        ordered = scores[order]
        is_tied = (ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])
        ids, ends = self.ids or [None] * len(order), np.cumsum(self.texts.n_texts)
        for row in {*query[1:][is_tied].tolist()}:
            of_list = slice(int(ends[row] - self.texts.n_texts[row]), int(ends[row]))
            order[of_list] = sorted(
                range(of_list.start, of_list.stop),
                key=lambda place: (scores[place], _bytes(ids[place])),
                reverse=True,
            )
        return self if (order == places).all() else self._in_order(order)

    def _in_order(self, order: NDArray[np.int64]) -> Self:
        """The same entries in another order within each list."""
        places = order.tolist()

        def column(values: Any) -> Any:
            if values is None or isinstance(values, np.ndarray):
                return values if values is None else values[order]
            return [*map(values.__getitem__, places)]

        return replace(
            self,
            texts=self.texts.by(self.texts.numbers[order]),
            ids=column(self.ids),
            numbers=column(self.numbers),
            metadata=column(self.metadata),
            alternatives=column(self.alternatives),
        )

    def rows(
        self,
    ) -> Iterator[tuple[str | None, str | None, float | None, Mapping[str, Any] | None]]:
        """Id, text, number and metadata of each entry."""
        interned = self.texts.known
        texts = [None if number < 0 else interned[number] for number in self.texts.numbers.tolist()]
        nothing = repeat(None)
        return zip(
            nothing if self.ids is None else self.ids,
            texts,
            nothing if self.numbers is None else self._plain_numbers,
            nothing if self.metadata is None else self.metadata,
        )

    @property
    def _plain_numbers(self) -> Iterable[float | None]:
        """The numbers as Python has them."""
        numbers = self.numbers
        return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers or ()

    def golds(self) -> list[tuple[Gold, ...]]:
        """The gold items of each question."""
        alternatives = repeat(()) if self.alternatives is None else self.alternatives
        return self._by_question(
            Gold(gold_id, text, 1.0 if grade is None else grade, alternative, metadata or {})
            for (gold_id, text, grade, metadata), alternative in zip(self.rows(), alternatives)
        )

    def documents(self) -> list[tuple[Doc, ...]]:
        """The documents of each question; those with the same text and nothing else are one."""
        is_text_alone = self.ids is None and self.numbers is None and self.metadata is None
        if is_text_alone and self.have_texts:
            interned = self.texts.known
            return self._by_question(
                chunk_of(interned[number]) for number in self.texts.numbers.tolist()
            )
        return self._by_question(
            Doc(doc_id, text, metadata or {}, score)
            for doc_id, text, score, metadata in self.rows()
        )

    def _by_question(self, entries: Iterator[Any]) -> list[tuple[Any, ...]]:
        return [tuple(islice(entries, n)) for n in self.texts.n_texts.tolist()]


def _bytes(doc_id: str | None) -> bytes:
    return (doc_id or "").encode("utf-8", "surrogatepass")


def _column(items: Sequence[Any], name: str) -> list[Any] | None:
    """A field of all items; None where it says nothing, or they have none."""
    if not items or not hasattr(items[0], name):
        return None
    values = [*map(attrgetter(name), items)]
    is_said = {*map(type, values)} != {NoneType} if name in _SCALARS else any(values)
    return values if is_said else None


_SCALARS = frozenset(("id", "score", "grade"))  # of which 0 and an empty text say something


def numbered(texts: Sequence[str | None], n: Sequence[int]) -> Lists:
    """Texts, n of each question, by their numbers among the known ones."""
    interned = known_texts()
    numbers = np.full(len(texts), NO_TEXT, np.int64)
    have_text = [text is not None for text in texts]
    numbers[have_text] = interned.numbers([text for text in texts if text is not None])
    return Lists(interned.texts, numbers, np.array(n, np.int64))
