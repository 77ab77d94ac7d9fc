"""Entries of several lists as one: joined, taken by place, and told apart by number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from kragx.data.entries import Entries
from kragx.data.lists import Lists
from kragx.metrics import Bools, Ints

_MOST = 1 << 62


def joined(parts: Sequence[Entries]) -> Entries:
    """All entries of some, one part after the other, as those of one list.

    Args:
        parts: of one batch, so that the numbers of their texts are of one time.
    """
    numbers = np.concatenate([part.texts.numbers for part in parts])
    known = parts[0].texts.known
    assert all(part.texts.known is known for part in parts)
    return Entries(
        Lists(known, numbers, np.array([len(numbers)], np.int64)),
        _column([(part.ids, len(part.texts.numbers)) for part in parts]),
        _column([(part.numbers, len(part.texts.numbers)) for part in parts]),
        _column([(part.metadata, len(part.texts.numbers)) for part in parts]),
    )


def _column(parts: Sequence[tuple[Any, int]]) -> Any:
    """A column of all parts, of which each has so many entries; None where none has it."""
    values = [(part, n) for part, n in parts if n]
    if all(part is None for part, _ in values):
        return None
    if all(isinstance(part, np.ndarray) for part, _ in values):
        return np.concatenate([part for part, _ in values])
    plain = ([None] * n if part is None else [*part] for part, n in values)
    return [*chain.from_iterable(plain)]


def taken(entries: Entries, places: Ints, n: Ints) -> Entries:
    """Some entries as lists, n of each question."""

    def column(values: Any) -> Any:
        if values is None or isinstance(values, np.ndarray):
            return values if values is None else values[places]
        return [*map(values.__getitem__, rows)]

    rows = places.tolist()
    return Entries(
        Lists(entries.texts.known, entries.texts.numbers[places], n),
        column(entries.ids),
        column(entries.numbers),
        column(entries.metadata),
    )


def numbers_of(values: Sequence[Hashable] | None, n: int) -> Ints:
    """A number for each of n values, the same for equal ones; 0 for all of them where None."""
    if values is None:
        return np.zeros(n, np.int64)
    by_value: dict[Hashable, int] = {}
    return np.fromiter((by_value.setdefault(value, len(by_value)) for value in values), np.int64, n)


def metadata_numbers(metadata: Sequence[Any] | None, n: int) -> Ints:
    """A number for each mapping, another one for whatever is written otherwise."""
    if metadata is None or not any(metadata):
        return np.zeros(n, np.int64)
    written: dict[int, str] = {}  # one mapping may stand beside many entries
    texts = [
        written.get(id(about)) or written.setdefault(id(about), repr(about or None))
        for about in metadata
    ]
    return numbers_of(texts, n)


def keys(*columns: Ints) -> Ints:
    """One number for several of each entry, equal where all of them are."""
    key, size = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        values = column - min(int(column.min(initial=0)), 0)
        width = int(values.max(initial=0)) + 1
        if size * width >= _MOST:
            key = np.unique(key, return_inverse=True)[1]
            values = np.unique(values, return_inverse=True)[1]
            size, width = len(key) + 1, len(key) + 1
        key, size = key * width + values, size * width
    return key


def first_of_equals(key: Ints) -> Ints:
    """The place at which each key stands first."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    begins = np.ones(len(key), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    first = np.empty(len(key), np.int64)
    first[order] = order[begins][np.cumsum(begins) - 1]
    return first


def is_first(first: Ints) -> Bools:
    """Which entries stand first among equal ones."""
    return np.equal(first, np.arange(len(first)))
