"""Texts as arrays, tokens as numbers, texts as rows of one long array; how long a run has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kragx.data.tokens import Tokens
from kragx.metrics.match_table import Bools, Ints

RUN = 8
"""The least run, in tokens."""

EDGE, SYLLABLES = 6, 7
"""At the gold text's end: so many tokens, or two that have so many syllables (docs/coverage.md)."""

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

    def fit(self, n: int) -> Bools:
        """For each token whether n - 1 more follow in its row."""
        return np.arange(n, len(self.tokens) + n) <= self.start[self.row + 1]


def ranges(lengths: Ints) -> Ints:
    """0, 1, ... for each length, one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths)


# -- how long a run has to be ----------------------------------------------------------------


def syllables(tokens: Tokens, words: Sequence[str]) -> Ints:
    """For each token how many characters of Hangul, kana or Chinese its word has."""
    numbers, which = np.unique(tokens, return_inverse=True)
    known = [words[number] for number in numbers.tolist()]
    counts = [
        0 if word.isascii() else sum(character >= "\u1100" for character in word) for word in known
    ]
    return np.array(counts, np.int64)[which]


@dataclass(frozen=True)
class Least:
    """How many tokens of each gold text a run needs: anywhere, at its start, at its end."""

    anywhere: Ints
    at_start: Ints
    at_end: Ints

    @classmethod
    def of(cls, golds: Rows, words: Sequence[str], run: int) -> Least:
        """What the gold texts need, by their length and their first and last words."""
        lengths = golds.lengths
        first, last = golds.start[:-1], golds.start[1:] - 1

        def edge(outermost: Ints, step: int) -> Ints:
            need, spoken = np.ones_like(lengths), np.zeros_like(lengths)
            for n in range(1, min(EDGE, run)):
                inside = lengths >= n
                place = outermost[inside] + step * (n - 1)
                spoken[inside] += syllables(golds.tokens[place], words)
                # One token alone is never enough, however many syllables it has.
                need += (spoken < SYLLABLES) | (n == 1)
            return np.minimum(need, lengths)

        return cls(np.minimum(run, lengths), edge(first, 1), edge(last, -1))
