"""Documents, or gold items, of records gathered as columns, as long as they are plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from kragx.data.columns import NotPlainError, columns
from kragx.data.entries import NO_TEXT, Entries
from kragx.data.known import KnownTexts
from kragx.data.lists import Lists

_TEXT = itemgetter("text")

Others = tuple[int, Mapping[str, list[Any]]]
"""How many entries a list has, and what stands in these beside texts."""


def read_entries(entries: Any, number: str) -> tuple[Others, Sequence[str]]:
    """What stands in a list, and its texts; none of them, if the entries have none.

    Args:
        entries: of the list.
        number: the name of the one field that is a number.

    Raises:
        NotPlainError, KeyError, TypeError: they are not plain.
    """
    if type(entries) is not list:
        raise NotPlainError
    n = len(entries)
    if not n:
        return (0, {}), ()
    if {*map(len, entries)} == {1} and "text" in entries[0]:  # each is a text alone
        return (n, {}), [*map(_TEXT, entries)]
    read = columns(entries, number, strings=False, keep=lambda texts: texts)
    if read is None:
        raise NotPlainError
    beside = {"ids": read.ids, "numbers": read.numbers, "metadata": read.metadata}
    fields = {name: [*column] for name, column in beside.items() if column is not None}
    return (n, fields), read.texts or ()


class Gathered:
    """The documents, or the gold items, that were gathered."""

    def __init__(self, interned: KnownTexts) -> None:
        self._known = interned.texts
        self._n: list[int] = []
        self._texts: list[int] = []
        self._columns: dict[str, list[Any]] = {}

    def add(self, texts: list[int], entries: Others, sizes: Sequence[int] | None = None) -> None:
        """Add a list that was read; or several, of some sizes, one behind the other."""
        n, columns = entries
        if sizes is not None:
            n = len(texts)
        if columns or self._columns:
            for name in {**self._columns, **columns}:
                if name not in self._columns:
                    self._columns[name] = [None] * len(self._texts)
                self._columns[name] += columns.get(name) or [None] * n
        self._texts += texts or [NO_TEXT] * n
        self._n += [n] if sizes is None else sizes

    def entries(self) -> Entries:
        """All of them."""
        numbers, n = np.array(self._texts, np.int64), np.array(self._n, np.int64)
        return Entries(Lists(self._known, numbers, n), **self._columns)  # type: ignore[arg-type]
