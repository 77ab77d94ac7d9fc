"""Texts as arrays: tokens are numbers, and texts are rows of one long array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
"""A place that is never reached."""

SEPARATOR = -1
"""A token that equals no other: no run reaches over it."""


@dataclass(frozen=True)
class Rows:
    """Texts as one array of tokens; row i is ``tokens[start[i]:start[i + 1]]``."""

    tokens: Tokens
    start: Ints

    @classmethod
    def of(cls, texts: Sequence[Tokens]) -> Rows:
        """Join texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        tokens = np.concatenate(texts) if len(texts) else np.empty(0, np.int32)
        return cls(tokens, np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))))

    @property
    def lengths(self) -> Ints:
        """How many tokens each row has."""
        return np.diff(self.start)

    @cached_property
    def row(self) -> Ints:
        """The row of each token."""
        return np.repeat(np.arange(len(self.start) - 1), self.lengths)


def ranges(lengths: Ints) -> Ints:
    """0, 1, ... for each length, one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths)
