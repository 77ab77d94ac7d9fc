"""Texts as arrays, tokens as numbers, texts as rows of one long array; how long a run has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Bools, Ints
from kragx.data.phrases import UNSPACED_FOR_ONE
from kragx.data.tokens import Tokens

RUN = 8
"""The least run, in tokens; three characters of a script that writes without spaces are one."""

EDGE, SYLLABLES = 6, 7
"""At the gold text's end: so many tokens, or two that have so many syllables (docs/metrics.md)."""

NEVER = np.iinfo(np.int64).max
"""A place that is never reached."""

SEPARATOR = -1
"""A token that equals no other: no run reaches over it."""


@dataclass(frozen=True)
class TokenRows:
    """Texts as one array of tokens; row i is ``tokens[start[i]:start[i + 1]]``."""

    tokens: Tokens
    start: Ints

    @classmethod
    def of(cls, texts: Sequence[Tokens]) -> TokenRows:
        """Join texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        tokens = np.concatenate(texts) if len(texts) else np.empty(0, np.int32)
        return cls(tokens, np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))))

    def texts(self) -> list[Tokens]:
        """The tokens of each row."""
        return [self.tokens[a:b] for a, b in pairwise(self.start.tolist())]

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


def weights(tokens: Tokens, corpus: TokenCorpus) -> Ints:
    """What each token counts: a word 3, a character where words are not written apart 1."""
    return np.where(corpus.unspaced, 1, UNSPACED_FOR_ONE)[tokens]


def syllables(tokens: Tokens, words: Sequence[str]) -> Ints:
    """For each token how many characters of Hangul, kana or Chinese its word has."""
    numbers, index = np.unique(tokens, return_inverse=True)
    distinct = [words[number] for number in numbers.tolist()]
    counts = [
        0 if word.isascii() else sum(character >= "\u1100" for character in word)
        for word in distinct
    ]
    return np.array(counts, np.int64)[index]


@dataclass(frozen=True)
class Least:
    """How much of each gold text a run needs: anywhere, at its start, at its end.

    Attributes:
        anywhere: in weights of tokens.
        at_start, at_end: in tokens.
    """

    anywhere: Ints
    at_start: Ints
    at_end: Ints

    @classmethod
    def of(cls, golds: TokenRows, corpus: TokenCorpus, run: int) -> Least:
        """What the gold texts need, by their length and their first and last words."""
        lengths = golds.lengths
        weight = weights(golds.tokens, corpus)
        total = np.bincount(golds.row, weight, len(lengths)).astype(np.int64)
        minimum = np.minimum(total, min(EDGE, run) * UNSPACED_FOR_ONE)
        # Thai, Lao and Burmese lie below what `syllables` counts, and a character says as much.
        spoken = np.maximum(syllables(golds.tokens, corpus.words), weight < UNSPACED_FOR_ONE)
        n = np.arange(1, min(EDGE, run) * UNSPACED_FOR_ONE)

        def edge(outermost: Ints, step: int) -> Ints:
            inside = n <= lengths[:, None]
            # -1, where a text has no more tokens, takes the 0 at the end.
            place = np.where(inside, outermost[:, None] + step * (n - 1), -1)
            n_held, n_syllables = (
                np.append(weights, 0)[place].cumsum(axis=1) for weights in (weight, spoken)
            )
            # One token alone is never enough, however many syllables it has.
            too_few = inside & (n_held < minimum[:, None]) & ((n_syllables < SYLLABLES) | (n == 1))
            extra: Ints = np.cumprod(too_few, axis=1).sum(axis=1)
            return np.minimum(1 + extra, lengths)

        anywhere = np.minimum(total, run * UNSPACED_FOR_ONE)
        return cls(anywhere, edge(golds.start[:-1], 1), edge(golds.start[1:] - 1, -1))
