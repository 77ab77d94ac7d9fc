"""Documents, or gold items, of many questions as columns: what a batch is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, repeat
from math import nan
from operator import attrgetter, itemgetter, methodcaller
from types import NoneType
from typing import Any, Literal, Self

import numpy as np

from kragx.data.documents import Doc, key_of
from kragx.data.gold import Gold
from kragx.data.lists import Bools, Floats, Ints, Lists, interned_texts
from kragx.data.runs import Retrieved
from kragx.data.searches import UNKNOWN_DOC, Search, distinct_docs, lanes_of

NO_TEXT = -1
"""Stands for the text of an entry that has none."""

# Beyond it whole numbers may be more than a float holds: the checks say so, one by one.
_MOST = 1e300

_EMPTY = {NoneType, dict, tuple}
_UNSAID: Mapping[str, Any] = {"text": NO_TEXT, "alternatives": ()}
_KINDS: Mapping[str, set[type]] = {
    "text": {str},
    "id": {str, NoneType},
    "metadata": {dict, NoneType},
    "score": {float, int, NoneType},
    "grade": {float, int, NoneType},
}
Number = Literal["score", "grade"]
"""What the number of an entry is: of a document its score, of a gold item its grade."""


def plain_columns(values: object, number: Number, *, mended: bool) -> dict[str, Any] | None:
    """Records as plain as most are, field by field; None of others (for `as_doc`, `as_gold`).

    A field of all of them at once takes a tenth of the time of one value after the other.

    Args:
        values: the records.
        number: the field that is a score, or grade.
        mended: whether lone surrogates were replaced already, as in what was read as JSON.
    """
    if type(values) is not list or not {*map(type, values)} <= {dict}:
        return None
    names, columns = set[str]().union(*values), dict[str, Any]()
    are_alike = {*map(len, values)} == {len(names)}
    if not names <= {"text", "id", "metadata", number}:
        return None
    for name in names:
        get = itemgetter(name) if are_alike else methodcaller("get", name)
        columns[name] = [*map(get, values)]
        if not _KINDS[name].issuperset(map(type, columns[name])):
            return None
    texts, ids, numbers, metadata = map(columns.get, ("text", "id", number, "metadata"))
    if (
        (texts is None and (ids is None or None in ids) and values)  # which is a mistake
        or not all(map(str.strip, map(str, ids or ())))
        or not all(map(_MOST.__gt__, map(abs, {*(numbers or ())} - {None})))  # or NaN
        or not (mended or are_whole((*(texts or ()), *(ids or ()))))
    ):
        return None
    if numbers:
        columns[number] = [None if value is None else float(value) for value in numbers]
    if metadata:
        columns["metadata"] = [dict(about or {}) for about in metadata]
    return columns


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
    def of(cls, items: Sequence[Doc] | Sequence[Gold], n: Sequence[int], number: Number) -> Entries:
        """Those of objects, n of each question."""
        builder = EntriesBuilder(number)
        builder.add(items)
        return builder.entries(n)

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
        columns: list[Any] = [Lists(self.texts.known, self.texts.numbers[places], n)]
        for column in (self.ids, self.numbers, self.metadata, self.alternatives):
            if column is None or isinstance(column, np.ndarray):
                columns.append(column if column is None else column[places])
            else:
                columns.append([*map(column.__getitem__, rows)])
        return type(self)(*columns, *[self.are_distinct])

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
        golds = list[Gold]()
        for text, gold_id, grade, metadata, alternatives in self._rows():
            value = 1.0 if grade is None else grade
            golds.append(Gold(gold_id, text, value, alternatives or (), metadata or {}))
        return self._by_question(golds)

    def documents(self) -> list[tuple[Doc, ...]]:
        """The documents of each question; those with one text and nothing else are one."""
        if self.ids is self.numbers is self.metadata is None and self.have_texts:
            numbers = self.texts.numbers.tolist()
            docs = {number: Doc(text=self.texts.known[number]) for number in {*numbers}}
            return self._by_question(map(docs.__getitem__, numbers))
        rows = self._rows()
        return self._by_question(Doc(row[1], row[0], row[3] or {}, row[2]) for row in rows)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Text, id, number, metadata and alternatives of each entry."""
        known, text_numbers = self.texts.known, self.texts.numbers.tolist()
        texts: Iterable[str | None] = map(known.__getitem__, text_numbers)
        if not self.have_texts:
            texts = [None if number < 0 else known[number] for number in text_numbers]
        nothing = [None] * len(text_numbers)
        numbers = nothing if self.numbers is None else np.asarray(self.numbers, object).tolist()
        others = self.metadata or nothing, self.alternatives or nothing
        return zip(texts, self.ids or nothing, numbers, *others)

    def _by_question(self, entries: Iterable[Any]) -> list[tuple[Any, ...]]:
        stream = repeat(iter(entries))
        return [*map(tuple, map(islice, stream, self.texts.n_texts.tolist()))]


class EntriesBuilder:
    """Fills the columns of entries, list by list.

    Each text is looked up while its list is at hand: what was read just now is found fastest.

    Args:
        number: what the number of an entry is.
    """

    def __init__(self, number: Number) -> None:
        self._fields = _FIELDS[number]
        self._columns = defaultdict[str, list[Any]](list)
        self._n: list[int] = []

    def add(self, items: Sequence[Doc] | Sequence[Gold]) -> None:
        """Add a list of objects."""
        columns: dict[str, list[Any]] = {}
        for name, field in self._fields.items():
            columns[name] = [*map(field, items)]
        self.add_columns(len(items), columns)

    def add_columns(self, n: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add a list of n entries by field; one that none of them has need not be there."""
        self._n.append(n)
        for name in self._fields:
            values: Sequence[Any] | None = columns.get(name)
            if values is None:
                values = [_UNSAID.get(name)] * n
            elif name == "text":
                values = interned_texts().numbers(values)
            self._columns[name] += values

    def cut(self, n: int) -> None:
        """Leave the first n lists, whatever was added of others."""
        n_entries = sum(self._n[:n])
        del self._n[n:]
        for column in self._columns.values():
            del column[n_entries:]

    def entries(self, n: Sequence[int] | None = None) -> Entries:
        """What was added; `n` is how many entries each question has, where that is not its list."""
        numbers = np.array(self._columns["text"], np.int64)
        sizes = np.array(self._n if n is None else n, np.int64)
        columns: list[Any] = [Lists(interned_texts().texts, numbers, sizes)]
        for name in [*self._fields][1:]:
            column = self._columns[name]
            # Nothing is said by None alone, nor by mappings and tuples that are empty.
            says_nothing = _EMPTY.issuperset(map(type, column)) and not any(column)
            columns.append(None if says_nothing else column)
        return Entries(*columns)


_FIELDS: Mapping[Number, Mapping[str, attrgetter[Any]]] = {
    "score": {name: attrgetter(name) for name in ("text", "id", "score", "metadata")},
    "grade": {
        name: attrgetter(name) for name in ("text", "id", "grade", "metadata", "alternatives")
    },
}
"""The fields of a document, and of a gold item, in the order of those of `Entries`."""


def numbered(texts: Sequence[str | None], n: Sequence[int]) -> Lists:
    """Texts, n of each question, by their numbers among the known ones."""
    numbers = np.array(interned_texts().numbers(texts), np.int64)
    return Lists(interned_texts().texts, numbers, np.array(n, np.int64))


@dataclass(frozen=True)
class SearchLists:
    """The n searches for the q questions of a batch, one question after the other, in steps.

    Attributes:
        n: (q) how many each question has; 0 of one that has a list alone, or nothing.
        step: (n) from 1 on.
        lane: (n) from 0 on within a step; a search and its retries are one.
        docs: what each search gave, a list for each; nothing of one that is not measured.
        measured: (n) whether it is known what it gave.
        failed: (n) whether it failed.
        seconds, tokens: (n) what it took; NaN where nobody says.
        reads: (q) what was read for each question, in order, each document once: by its number
            among the question's distinct ones (by id and text: those of its list first, then what
            searches add in order); `UNKNOWN_DOC` for one that no search returned; None where nobody
            says.
        has_list: (q) whether the documents of the batch are what was handed on in the end.
        of_answers: (q) the same as objects.
    """

    n: Ints
    step: Ints
    lane: Ints
    docs: Entries
    measured: Bools
    failed: Bools
    seconds: Floats
    tokens: Floats
    reads: Sequence[tuple[int, ...] | None]
    has_list: Bools
    of_answers: Sequence[tuple[Search, ...]]

    @classmethod
    def of(cls, answers: Sequence[Retrieved | None]) -> SearchLists:
        """Those of answers that are objects."""
        of_answers = [() if answer is None else answer.searches for answer in answers]
        searches = [*chain.from_iterable(of_answers)]
        docs = [search.measured for search in searches]
        return cls(
            n=np.array([*map(len, of_answers)], np.int64),
            step=np.array([search.step for search in searches], np.int64),
            lane=np.array([*chain.from_iterable(map(lanes_of, of_answers))], np.int64),
            docs=Entries.of([*chain.from_iterable(docs)], [*map(len, docs)], "score"),
            measured=np.array([search.is_measured for search in searches], bool),
            failed=np.array([search.error is not None for search in searches], bool),
            seconds=np.array([search.seconds for search in searches], np.float64),
            tokens=np.array([search.tokens for search in searches], np.float64),
            reads=[None if answer is None else _read(answer) for answer in answers],
            has_list=np.array([answer is None or answer.has_list for answer in answers], bool),
            of_answers=of_answers,
        )


def _read(answer: Retrieved) -> tuple[int, ...] | None:
    """What was read, as numbers of documents."""
    lists = [search.read for search in answer.searches if search.read is not None]
    # An empty list says that nothing was read; none at all, that nobody knows.
    if not any(lists):
        return () if lists else None
    docs = distinct_docs(answer.documents, answer.searches)
    numbers = {key: number for number, key in enumerate(docs)}

    def number(entry: int | str | Doc) -> int | str:
        if isinstance(entry, Doc):
            return numbers.get(key_of(entry), entry.id or entry.text or "")
        return entry

    distinct = dict.fromkeys(map(number, chain.from_iterable(lists)))
    return tuple(UNKNOWN_DOC if isinstance(entry, str) else entry for entry in distinct)
