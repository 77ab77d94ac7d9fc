"""Searches of records gathered as columns, as long as they are plain.

Says what `as_searches` and `Retrieved` say, in a fraction of the time; whatever is not plain is
left to them, and so is what makes an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, repeat
from math import isnan
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from kragx.data.columns import NotPlainError
from kragx.data.documents import clean_score, clean_seconds
from kragx.data.entries import NO_TEXT
from kragx.data.entries_gathered import Gathered, Others, read_entries
from kragx.data.known import KnownTexts
from kragx.data.search_lists import SearchLists, as_numbers
from kragx.data.search_records import LARGEST
from kragx.data.searches import lane_numbers, lane_of, numbered_steps, step_order

_FIELDS = frozenset(("query", "retrieved", "tool", "step", "seconds", "tokens", "error", "read"))
_CHANGED = frozenset(("same", "score", "metadata"))
_COLUMNS = ("ids", "numbers", "metadata")

_Key = tuple[str | None, int]
"""What tells the documents of a question apart: id, and the number of the text."""

_Read = tuple[int | str, ...] | None


@dataclass(frozen=True)
class Listed:
    """Documents in a row as columns.

    Attributes:
        texts: numbers of their texts.
        columns: what else they have, by name; no column of what none has.
    """

    texts: list[int]
    columns: Mapping[str, list[Any]]

    @classmethod
    def of(cls, entries: Others, texts: list[int]) -> Listed:
        """Those of `read_entries`, with the numbers of their texts, of which there may be none."""
        n, columns = entries
        return cls(texts or [NO_TEXT] * n, columns)

    def column(self, name: str) -> list[Any]:
        """A column, of nothing where it is missing."""
        return self.columns.get(name) or [None] * len(self.texts)

    @property
    def keys(self) -> list[_Key]:
        """What tells each from others of its question."""
        return [*zip(self.column("ids"), self.texts)]

    def at(self, places: Iterable[int]) -> Listed:
        """Those at some places."""
        places = [*places]
        columns = {
            name: [*map(column.__getitem__, places)] for name, column in self.columns.items()
        }
        return Listed([*map(self.texts.__getitem__, places)], columns)


@dataclass(frozen=True)
class PlacedSearches:
    """The searches of a question in their steps.

    Attributes:
        rows: of each what a row of `GatheredSearches` says.
        sizes: how many documents each gave.
        docs: these.
        first: those of the first that is measured.
    """

    rows: list[tuple[Any, ...]]
    sizes: list[int]
    docs: Listed
    first: Listed


class PlainSearches:
    """The searches of one record.

    Args:
        values: of its field.

    Attributes:
        texts: of all documents that are written in full; none, if they have none.

    Raises:
        NotPlainError, DataError, KeyError, TypeError: they are not plain.
    """

    def __init__(self, values: Any) -> None:
        if type(values) is not list or {*map(type, values)} != {dict}:
            raise NotPlainError
        present = set().union(*values)
        if not present <= _FIELDS:
            raise NotPlainError

        def column(name: str, *kinds: type) -> list[Any]:
            if name not in present:
                return [None] * len(values)
            fields = [value.get(name) for value in values]
            if not {*map(type, fields)}.issubset((*kinds, NoneType)):
                raise NotPlainError
            return fields

        self._lists = column("retrieved", list)
        self._flat: list[Any] = [*chain.from_iterable(filter(None, self._lists))]
        full: list[dict[str, Any]] = [
            entry for entry in self._flat if type(entry) is dict and "same" not in entry
        ]
        self._are_full = len(full) == len(self._flat)
        self._others: Others
        self.texts: Sequence[str]
        self._others, self.texts = read_entries(full, "score")
        self._queries = column("query", str)
        self._tools = column("tool", str)
        self._steps = [_whole(number, -LARGEST) for number in column("step", int)]
        self._tokens = [_whole(number, 0) for number in column("tokens", int)]
        self._seconds = [*map(clean_seconds, column("seconds", float, int))]
        self._reads = column("read", list)
        errors = column("error", str)
        self._errors = [error if error and error.strip() else None for error in errors]
        for error, docs in zip(self._errors, self._lists):
            if error is not None and docs:
                raise NotPlainError

    @property
    def words(self) -> str:
        """All texts beside those of documents."""
        entries = (entry for read in self._reads for entry in read or () if type(entry) is str)
        texts = chain(self._queries, self._tools, self._errors, entries)
        return "".join([text for text in texts if text])

    def placed(self, texts: list[int], handed_on: Listed) -> PlacedSearches:
        """The searches in their steps.

        Args:
            texts: the numbers of `texts`.
            handed_on: what the question got in the end.

        Raises:
            NotPlainError, DataError, IndexError: they are not plain.
        """
        order, steps = self._order()
        docs = self._docs(Listed.of(self._others, texts), handed_on)
        sizes = [len(docs or ()) for docs in self._lists]
        ends = [*accumulate(sizes, initial=0)]
        ranges = [range(ends[place], ends[place + 1]) for place in order]
        reads: Sequence[_Read] = [None if read is None else () for read in self._reads]
        if any(self._reads):
            reads = self._read_numbers(docs, ranges, handed_on)
        measured = [
            docs is not None and error is None for docs, error in zip(self._lists, self._errors)
        ]
        lanes = self._lane_numbers(order, steps)
        rows = [
            (
                steps[place],
                lane,
                measured[place],
                self._seconds[place],
                self._tokens[place],
                reads[place],
                self._queries[place],
                self._tools[place],
                self._errors[place],
            )
            for place, lane in zip(order, lanes)
        ]
        first = next((ranges[n] for n, place in enumerate(order) if measured[place]), range(0))
        is_as_written = isinstance(order, range)
        return PlacedSearches(
            rows,
            [*map(len, ranges)],
            docs if is_as_written else docs.at(chain.from_iterable(ranges)),
            docs.at(first),
        )

    @cached_property
    def _lanes(self) -> list[tuple[str, str]]:
        return [*map(lane_of, self._queries, self._tools)]

    @cached_property
    def _failed(self) -> list[bool]:
        return [error is not None for error in self._errors]

    def _order(self) -> tuple[Sequence[int], list[int]]:
        """In which order the searches stand, and the step of each as they are written."""
        n = len(self._steps)
        if {*self._steps} == {None} and not any(self._failed):
            return range(n), [*range(1, n + 1)]
        steps = numbered_steps(self._steps, self._lanes, self._failed)
        return step_order(steps, self._lanes, self._failed, _refuse), steps

    def _lane_numbers(self, order: Sequence[int], steps: Sequence[int]) -> list[int]:
        if len({*steps}) == len(steps):
            return [0] * len(steps)
        columns = (steps, self._lanes, self._failed)
        return lane_numbers(*[[column[place] for place in order] for column in columns])  # type: ignore[arg-type]

    def _docs(self, full: Listed, handed_on: Listed) -> Listed:
        """All documents as they are written, those that are numbers as what these mean."""
        return full if self._are_full else _Numbers(handed_on, full).of(self._lists)

    def _read_numbers(
        self, docs: Listed, ranges: Sequence[range], handed_on: Listed
    ) -> list[_Read]:
        """What was read, as numbers of documents in the order of the steps, and as other ids."""
        keys = docs.keys
        as_written = [*dict.fromkeys([*handed_on.keys, *keys])]
        placed = dict.fromkeys(handed_on.keys)
        placed.update(dict.fromkeys(keys[place] for place in chain.from_iterable(ranges)))
        numbers = {key: number for number, key in enumerate(placed)}
        of_id = {key[0]: number for key, number in reversed(numbers.items())}

        def number(entry: object) -> int | str:
            if type(entry) is str and entry and not entry.isspace():
                return of_id.get(entry, entry)
            if type(entry) is int and 0 <= entry < len(as_written):
                return numbers[as_written[entry]]
            raise NotPlainError

        return [
            None if read is None else tuple([number(entry) for entry in read])
            for read in self._reads
        ]


class _Numbers:
    """Documents by their numbers, as `NumberedDocs` has them.

    Args:
        handed_on: what the question got in the end.
        full: what is written in full in its searches.
    """

    def __init__(self, handed_on: Listed, full: Listed) -> None:
        self._n_handed_on = len(handed_on.texts)
        self._texts = handed_on.texts + full.texts
        self._columns = {
            name: handed_on.column(name) + full.column(name)
            for name in _COLUMNS
            if name in handed_on.columns or name in full.columns
        }
        keys = Listed(self._texts, self._columns).keys
        self._places: Sequence[int] = range(len(keys))
        self._n_distinct: Sequence[int] = range(len(keys) + 1)
        if len({*keys}) < len(keys):
            self._number(keys)

    def _number(self, keys: list[_Key]) -> None:
        """Where the document of each number stands, and how many numbers there are before each."""
        firsts: dict[_Key, int] = {}
        self._n_distinct = [0]
        for place, key in enumerate(keys):
            firsts.setdefault(key, place)
            self._n_distinct.append(len(firsts))
        self._places = [*firsts.values()]

    def of(self, lists: Iterable[list[Any] | None]) -> Listed:
        """The documents of all lists."""
        places, changed, n_written = list[int](), list[dict[str, Any]](), self._n_handed_on
        n_known = len(self._texts)
        for entry in chain.from_iterable(filter(None, lists)):
            kind = type(entry)
            if kind is dict and "same" not in entry:
                places.append(n_written)
                n_written += 1
                continue
            number = entry["same"] if kind is dict else entry
            if type(number) is not int or not 0 <= number < self._n_distinct[n_written]:
                raise NotPlainError
            if kind is dict:
                places.append(n_known + len(changed))
                changed.append(entry)
            else:
                places.append(self._places[number])
        if changed:
            self._add_changed(changed)
        return Listed(self._texts, self._columns).at(places)

    def _add_changed(self, entries: list[dict[str, Any]]) -> None:
        """Add documents with another score, or other metadata, to those that are written."""
        if not all(map(_CHANGED.issuperset, entries)):
            raise NotPlainError
        metadata = [entry.get("metadata") or None for entry in entries]
        if not {*map(type, [entry.get("metadata") for entry in entries])} <= {dict, NoneType}:
            raise NotPlainError
        same = Listed(self._texts, self._columns).at(
            [self._places[entry["same"]] for entry in entries]
        )
        scores = _scores([entry.get("score") for entry in entries])
        changed = {"ids": same.columns.get("ids"), "numbers": scores, "metadata": metadata}
        for name, values in changed.items():
            if name in self._columns or (values and {*map(type, values)} != {NoneType}):
                before = self._columns.get(name) or [None] * len(self._texts)
                self._columns[name] = [*before, *(values or ())]
        self._texts = self._texts + same.texts


def _scores(values: list[Any]) -> list[float | None]:
    if {*map(type, values)} == {float} and not any(map(isnan, values)):
        return values
    return [*map(clean_score, values)]


class GatheredSearches:
    """The searches that were gathered.

    Args:
        known: the texts.
    """

    def __init__(self, known: KnownTexts) -> None:
        self._docs = Gathered(known)
        self._rows: list[tuple[Any, ...]] = []
        self._n: list[int] = []
        self._has_list: list[bool] = []

    def add(self, searches: PlacedSearches | None, n_before: int, *, has_list: bool) -> None:
        """Add those of a question; None of one without.

        Args:
            searches: the question's.
            n_before: how many questions stand before it.
            has_list: whether anything was handed on in the end.
        """
        n_new = n_before - len(self._n)
        self._n += [0] * n_new
        self._has_list += [True] * n_new
        self._n.append(0 if searches is None else len(searches.rows))
        self._has_list.append(has_list)
        if searches is not None:
            self._rows += searches.rows
            self._docs.add(searches.docs.texts, (0, searches.docs.columns), searches.sizes)

    def lists(self, n_queries: int) -> SearchLists | None:
        """All of them, of so many questions; None if all have lists alone."""
        if not self._rows and all(self._has_list):
            return None
        n_more = n_queries - len(self._n)
        columns = zip(*self._rows) if self._rows else repeat((), 9)
        step, lane, measured, seconds, tokens, read, queries, tools, errors = columns
        return SearchLists(
            n=np.array([*self._n, *[0] * n_more], np.int64),
            step=np.array(step, np.int64),
            lane=np.array(lane, np.int64),
            docs=self._docs.entries(),
            measured=np.array(measured, bool),
            failed=np.array([error is not None for error in errors], bool),
            seconds=as_numbers(seconds),
            tokens=as_numbers(tokens),
            read=read,
            has_list=np.array([*self._has_list, *[True] * n_more], bool),
            queries=queries,
            tools=tools,
            errors=errors,
        )


def _whole(number: int | None, least: int) -> int | None:
    if number is not None and not least <= number <= LARGEST:
        raise NotPlainError
    return number


def _refuse(place: int) -> NoReturn:
    """Searches side by side that are alike are told apart by all that they say."""
    raise NotPlainError
