"""Lists of texts by number, and stretches of arrays: no text is looked at."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_MOST_AT_ONCE = 1 << 20


def starts(lengths: Ints) -> Ints:
    """Where stretches of these lengths begin, one behind the other."""
    return np.cumsum(lengths) - lengths


def ranges(firsts: Ints, lengths: Ints) -> Ints:
    """The numbers of all stretches from `firsts` on, so many of each."""
    return np.repeat(firsts - starts(lengths), lengths) + np.arange(lengths.sum())


def distinct(values: Ints) -> Ints:
    """The distinct numbers, in order.

    `numpy.unique` hashes whole numbers from numpy 2.3 on: a hundred times the time of sorting them.
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def counted(values: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct numbers, in order, where each stands first, and how often it stands."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    begins = is_first.nonzero()[0]
    return ordered[begins], order[begins], np.diff(begins, append=len(ordered))


def parts(lengths: Ints, limit: int = _MOST_AT_ONCE) -> Iterator[slice]:
    """Stretches that have at most so many elements in all, or one."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop


class Lists:
    """The documents, or the gold texts, of each of some queries.

    By the number of a query it gives a list of its texts, made for who looks at them.

    Attributes:
        known: texts by number.
        numbers: of all texts of all queries, one query after the other.
        n_texts: how many each query has.
    """

    def __init__(self, texts: Sequence[str], numbers: Ints, n_texts: Ints) -> None:
        self.known: Sequence[str] = texts
        self.numbers: Ints = numbers
        self.n_texts: Ints = n_texts

    @cached_property
    def starts(self) -> Ints:
        """Which text is each query's first."""
        return starts(self.n_texts)

    @cached_property
    def of_text(self) -> Ints:
        """Which query each text is of."""
        return np.repeat(np.arange(len(self.n_texts)), self.n_texts)

    def __len__(self) -> int:
        return len(self.n_texts)

    def __getitem__(self, query: int) -> list[str]:
        start = self.starts[query]
        numbers = self.numbers[start : start + self.n_texts[query]].tolist()
        return [self.known[number] for number in numbers]

    def __iter__(self) -> Iterator[list[str]]:
        return map(self.__getitem__, range(len(self)))

    def distinct(self, is_meant: NDArray[np.bool_] | None = None) -> list[str]:
        """The distinct texts, or those of them that are meant."""
        numbers = self.numbers if is_meant is None else self.numbers[is_meant]
        return [self.known[number] for number in distinct(numbers).tolist()]

    def sums(self, of_number: Ints) -> Ints:
        """What the texts of each query come to, if there is so much of each number."""
        up_to = np.concatenate(([0], np.cumsum(of_number[self.numbers])))
        sums: Ints = up_to[self.starts + self.n_texts] - up_to[self.starts]
        return sums

    def part(self, queries: slice) -> Self:
        """Those of some queries in a row."""
        n_texts = self.n_texts[queries]
        first = self.starts[queries.start]
        return type(self)(self.known, self.numbers[first : first + n_texts.sum()], n_texts)

    def those(self, is_kept: NDArray[np.bool_]) -> Self:
        """The same queries with some of their texts alone."""
        n_texts = np.bincount(self.of_text[is_kept], minlength=len(self))
        return type(self)(self.known, self.numbers[is_kept], n_texts)

    def by(self, numbers: Ints) -> Self:
        """The same lists of other texts."""
        return type(self)(self.known, numbers, self.n_texts)
