"""How long a run has to be to count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kragx.metrics.spans.rows import Ints, Rows, Tokens

RUN = 8
"""The least run, in tokens."""

EDGE, SYLLABLES = 6, 7
"""At the gold text's end: so many tokens, or two that have so many syllables (docs/coverage.md)."""


@dataclass(frozen=True)
class Words:
    """What numbers of tokens stand for.

    Attributes:
        texts: the token of each number.
    """

    texts: Sequence[str]

    def syllables(self, tokens: Tokens) -> Ints:
        """For each token how many characters of Hangul, kana or Chinese it has."""
        numbers, which = np.unique(tokens, return_inverse=True)
        words = [self.texts[number] for number in numbers.tolist()]
        counts = [
            0 if word.isascii() else sum(character >= "\u1100" for character in word)
            for word in words
        ]
        return np.array(counts, np.int64)[which]


@dataclass(frozen=True)
class Least:
    """How many tokens of each gold text a run needs: anywhere, at its start, at its end."""

    anywhere: Ints
    at_start: Ints
    at_end: Ints

    @classmethod
    def of(cls, golds: Rows, words: Words, run: int) -> Least:
        """What the gold texts need, by their length and their first and last words."""
        lengths = golds.lengths
        first, last = golds.start[:-1], golds.start[1:] - 1

        def edge(outermost: Ints, step: int) -> Ints:
            need = np.full(len(lengths), min(EDGE, run))
            syllables = np.zeros(len(lengths), np.int64)
            done = np.zeros(len(lengths), bool)
            for n in range(1, min(EDGE, run)):
                inside = lengths >= n
                place = outermost[inside] + step * (n - 1)
                syllables[inside] += words.syllables(golds.tokens[place])
                enough = inside & ~done & (n > 1) & (syllables >= SYLLABLES)
                need[enough], done = n, done | enough
            least: Ints = np.minimum(need, lengths)
            return least

        return cls(np.minimum(run, lengths), edge(first, 1), edge(last, -1))
