"""Stretches of arrays: where they begin, all the places in them, some at a time, one of equals."""

from collections.abc import Iterator

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
