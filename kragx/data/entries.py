"""Documents, or gold items, of many questions as columns: what a batch is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import nan
from operator import attrgetter, itemgetter, methodcaller
from types import NoneType
from typing import Any, NamedTuple, Self

import numpy as np

from kragx.data.documents import Doc
from kragx.data.gold import Gold
from kragx.data.lists import Floats, Ints, Lists, known_texts

NO_TEXT = -1
"""Stands for the text of an entry that has none."""

# Beyond it whole numbers may be more than a float holds: the checks say so, one by one.
_MOST = 1e300


class Columns(NamedTuple):
    """One list of documents or gold items, field by field; None for a field that none of them has.

    Attributes:
        n: how many there are.
        texts: theirs; or their numbers.
        ids: theirs.
        numbers: scores, or grades.
        metadata: a mapping for each.
        alternatives: of gold items.
    """

    n: int
    texts: Sequence[Any] | None = None
    ids: Sequence[str | None] | None = None
    numbers: Sequence[float | None] | None = None
    metadata: Sequence[Mapping[str, Any] | None] | None = None
    alternatives: Sequence[tuple[Doc, ...]] | None = None

    @classmethod
    def of(cls, items: Sequence[Doc] | Sequence[Gold], number: str) -> Self:
        """Those of objects; `number` names their score, or grade."""
        columns = [[*map(field, items)] for field in _FIELDS[number]]
        # Nothing is said by None alone, nor by mappings and tuples that are empty.
        return cls(
            len(items),
            *(
                None
                if column.count(None) == len(column)
                or not (any(column) or not _EMPTY.issuperset(map(type, column)))
                else column
                for column in columns
            ),
        )

    @classmethod
    def of_records(cls, values: object, number: str, *, mended: bool = False) -> Self | None:
        """Those of records as plain as most are; None of others, which are for `as_doc`, `as_gold`.

        A field of all of them at once takes a tenth of the time of one value after the other.

        Args:
            values: the records.
            number: the name of the field that is a score, or grade.
            mended: whether lone surrogates were replaced already, as in what was read as JSON.
        """
        if type(values) is not list or not {*map(type, values)} <= {dict}:
            return None
        kinds, fields = _KINDS[number], dict[str, list[Any]]()
        names = set().union(*values)
        are_alike = {*map(len, values)} == {len(names)}
        for name in names:
            get = itemgetter(name) if are_alike else methodcaller("get", name)
            fields[name] = [*map(get, values)]
            if name not in kinds or not kinds[name].issuperset(map(type, fields[name])):
                return None
        texts, ids, numbers, metadata = map(fields.get, ("text", "id", number, "metadata"))
        if (
            (texts is None and (ids is None or None in ids) and values)  # which is a mistake
            or (ids and not all(doc_id is None or doc_id.strip() for doc_id in ids))
            or (numbers and not all(n is None or -_MOST < n < _MOST for n in numbers))  # or NaN
            or not (mended or are_whole((*(texts or ()), *(ids or ()))))
        ):
            return None
        return cls(
            len(values),
            texts,
            ids if ids and any(ids) else None,
            numbers and [None if value is None else float(value) for value in numbers],
            [dict(about or {}) for about in metadata] if metadata and any(metadata) else None,
        )

    def numbered(self) -> Self:
        """The same with the numbers of texts among the known ones in their place."""
        return (
            self if self.texts is None else type(self)(self.n, text_numbers(self.texts), *self[2:])
        )

    def documents(self) -> Iterator[Doc]:
        """The documents as objects."""
        for text, doc_id, score, metadata, _ in self._rows():
            yield Doc(doc_id, text, metadata or {}, score)

    def golds(self) -> Iterator[Gold]:
        """The gold items as objects."""
        for text, gold_id, grade, metadata, alternatives in self._rows():
            value = 1.0 if grade is None else grade
            yield Gold(gold_id, text, value, alternatives or (), metadata or {})

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        nothing = [None] * self.n
        return zip(*(nothing if column is None else column for column in self[1:]))


_FIELDS = {
    number: [*map(attrgetter, ("text", "id", number, "metadata", *more))]
    for number, more in (("score", ()), ("grade", ("alternatives",)))
}
_EMPTY = {NoneType, dict, tuple}
_OF_ANY: Mapping[str, set[type]] = {
    "text": {str},
    "id": {str, NoneType},
    "metadata": {dict, NoneType},
}
_KINDS: Mapping[str, Mapping[str, set[type]]] = {
    number: {**_OF_ANY, number: {float, int, NoneType}} for number in ("grade", "score")
}


def are_whole(texts: Iterable[str | None]) -> bool:
    """Whether texts have no lone surrogate, which is mended, and counted, where one is read."""
    try:
        "".join(filter(None, texts)).encode()
    except UnicodeEncodeError:
        return False
    return True


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
    def of(cls, items: Sequence[Doc] | Sequence[Gold], n: Sequence[int], number: str) -> Entries:
        """Those of objects, n of each question; `number` names their score, or grade."""
        return cls.of_lists([Columns.of(items, number).numbered()], n)

    @classmethod
    def of_lists(cls, lists: Sequence[Columns], n: Sequence[int] | None = None) -> Entries:
        """Those of lists whose texts are numbers (`Columns.numbered`).

        Args:
            lists: one of each question; or, with `n`, of several questions.
            n: how many entries each question has.
        """

        def column(name: str, unsaid: object = None) -> list[Any] | None:
            parts = [getattr(of_list, name) for of_list in lists]
            if parts.count(None) == len(parts):
                return None
            entries: list[Any] = []
            for part, of_list in zip(parts, lists):
                entries += [unsaid] * of_list.n if part is None else part
            return entries

        sizes = [of_list.n for of_list in lists]
        texts = column("texts", NO_TEXT)
        numbers = np.full(sum(sizes), NO_TEXT) if texts is None else np.array(texts, np.int64)
        return cls(
            Lists(known_texts().texts, numbers, np.array(sizes if n is None else n, np.int64)),
            column("ids"),
            column("numbers"),
            column("metadata"),
            column("alternatives", ()),
        )

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

    def at(self, places: Ints, n: Ints) -> Self:
        """Those at some places, in lists of n each."""
        rows = places.tolist()

        def column(values: Any) -> Any:
            if values is None or isinstance(values, np.ndarray):
                return values if values is None else values[places]
            return [*map(values.__getitem__, rows)]

        return type(self)(
            Lists(self.texts.known, self.texts.numbers[places], n),
            column(self.ids),
            column(self.numbers),
            column(self.metadata),
            column(self.alternatives),
            self.are_distinct,
        )

    def part(self, queries: slice) -> Self:
        """Those of some questions in a row."""
        n = self.texts.n_texts[queries]
        first = int(self.texts.n_texts[: queries.start].sum())
        return self.at(np.arange(first, first + n.sum()), n)

    def ranked(self) -> Self:
        """The documents of each question by score, ties by id descending (as UTF-8 bytes).

        A list without scores stays as it is; of another one each document has one.
        """
        if self.numbers is None:
            return self
        query, places = self.texts.of_text, np.arange(len(self.values))
        # A list without scores keeps its order: what comes later counts as lower.
        scores = np.where(np.isnan(self.values), -places, self.values)
        # Most runs come in their order, and nothing is sorted.
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
                key=lambda place: (
                    scores[place],
                    (ids[place] or "").encode("utf-8", "surrogatepass"),
                ),
                reverse=True,
            )
        return self if (order == places).all() else self.at(order, self.texts.n_texts)

    def golds(self) -> list[tuple[Gold, ...]]:
        """The gold items of each question."""
        return self._by_question(self._columns.golds())

    def documents(self) -> list[tuple[Doc, ...]]:
        """The documents of each question; those with one text and nothing else are one."""
        is_text_alone = self.ids is None and self.numbers is None and self.metadata is None
        if not (is_text_alone and self.have_texts):
            return self._by_question(self._columns.documents())
        numbers = self.texts.numbers.tolist()
        docs = {number: Doc(text=self.texts.known[number]) for number in {*numbers}}
        return self._by_question(map(docs.__getitem__, numbers))

    @property
    def _columns(self) -> Columns:
        known, text_numbers, numbers = self.texts.known, self.texts.numbers.tolist(), self.numbers
        return Columns(
            len(text_numbers),
            [None if number < 0 else known[number] for number in text_numbers],
            self.ids,
            numbers.tolist() if isinstance(numbers, np.ndarray) else numbers,
            self.metadata,
            self.alternatives,
        )

    def _by_question(self, entries: Iterator[Any]) -> list[tuple[Any, ...]]:
        return [tuple(islice(entries, n)) for n in self.texts.n_texts.tolist()]


def text_numbers(texts: Sequence[str | None]) -> list[int]:
    """The numbers of texts among the known ones."""
    if None not in texts:
        return known_texts().numbers(texts)  # type: ignore[arg-type]
    numbers = iter(known_texts().numbers(text for text in texts if text is not None))
    return [NO_TEXT if text is None else next(numbers) for text in texts]


def numbered(texts: Sequence[str | None], n: Sequence[int]) -> Lists:
    """Texts, n of each question, by their numbers among the known ones."""
    numbers = np.array(text_numbers(texts), np.int64)
    return Lists(known_texts().texts, numbers, np.array(n, np.int64))
