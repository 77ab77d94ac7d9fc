"""Texts as arrays of token numbers: each distinct text is tokenised once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kragx.tokenizers import Tokenizer

Tokens = NDArray[np.int64]


class TokenCorpus:
    """Remembers the tokens of every text it has seen, as numbers that stand for distinct tokens.

    Two texts share a token exactly if they share its number, so counting numbers is exact.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._tokens: dict[str, Tokens] = {}
        self._places = np.empty(0, np.int64)
        self._placed = np.empty(0, np.int64)
        # Looking a new token up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)

    def __len__(self) -> int:
        """How many distinct texts were seen."""
        return len(self._tokens)

    @property
    def n_distinct_tokens(self) -> int:
        """How many distinct tokens were seen; every token number is below it."""
        return len(self._numbers)

    def add(self, texts: Iterable[str]) -> list[str]:
        """Tokenise the texts that are new, as one batch, and return those."""
        new = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        number = self._numbers.__getitem__
        for text, tokens in zip(new, self.tokenizer.tokens(new), strict=True):
            self._tokens[text] = np.fromiter(map(number, tokens), np.int64, len(tokens))
        return new

    def __getitem__(self, text: str) -> Tokens:
        """The token numbers of a text that was added."""
        return self._tokens[text]

    def places(self, tokens: Tokens) -> Tokens:
        """A table from every token number to its place in `tokens`, -1 for all others.

        It is one array that is used again for every call, so use it before the next one.
        """
        if len(self._places) < self.n_distinct_tokens:
            self._places = np.full(2 * self.n_distinct_tokens, -1, np.int64)
        else:
            self._places[self._placed] = -1
        self._places[tokens] = np.arange(len(tokens))
        self._placed = tokens
        return self._places

    def string(self, tokens: Tokens) -> str | list[int]:
        """The tokens as a sequence for rapidfuzz, which compares strings fastest.

        Each token number becomes a code point; a vocabulary beyond Unicode's range stays numbers.
        """
        if self.n_distinct_tokens > 0x110000:
            return tokens.tolist()  # type: ignore[no-any-return]
        return tokens.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def ngram_overlaps(
    docs: Sequence[Tokens], golds: Sequence[Tokens], n: int, corpus: TokenCorpus
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """How many n-grams each document shares with each gold text, repeats counted (clipped).

    Args:
        docs: the token numbers of each document.
        golds: the token numbers of each gold text.
        n: 1 for tokens, 2 for pairs of neighbouring tokens.
        corpus: where the numbers come from.

    Returns:
        Whole numbers: for each pair (documents x golds) the sum over all n-grams of min(count in
        the document, count in the gold text); and how many n-grams each document and each gold
        text has.
    """
    # Only tokens that stand in some gold text can count; among themselves they are 0..v-1, which
    # makes pairs of them small numbers too. All others are -1.
    gold_tokens, gold_lengths = _joined(golds)
    doc_tokens, doc_lengths = _joined(docs)
    vocabulary, gold_local = np.unique(gold_tokens, return_inverse=True)
    doc_local = corpus.places(vocabulary)[doc_tokens]
    if n == 2:
        v = max(1, len(vocabulary))
        gold_local, gold_lengths = _pairs(gold_local, gold_lengths, v)
        doc_local, doc_lengths = _pairs(doc_local, doc_lengths, v)
        vocabulary, gold_local = np.unique(gold_local, return_inverse=True)
    v = len(vocabulary)
    shared = np.zeros((len(docs), len(golds)), np.int64)
    if not v:
        return shared, doc_lengths, gold_lengths
    rows = np.repeat(np.arange(len(docs)), doc_lengths)
    known = doc_local >= 0
    rows, doc_local = rows[known], doc_local[known]
    if n == 2:
        at = np.minimum(np.searchsorted(vocabulary, doc_local), v - 1)
        known = vocabulary[at] == doc_local
        rows, doc_local = rows[known], at[known]
    counts = np.bincount(rows * v + doc_local, minlength=len(docs) * v).reshape(len(docs), v)
    start = 0
    for column, length in enumerate(gold_lengths.tolist()):
        in_gold = np.bincount(gold_local[start : start + length], minlength=v)
        grams = np.flatnonzero(in_gold)
        shared[:, column] = np.minimum(counts[:, grams], in_gold[grams]).sum(axis=1)
        start += length
    return shared, doc_lengths, gold_lengths


def _joined(texts: Sequence[Tokens]) -> tuple[Tokens, NDArray[np.int64]]:
    """All tokens of several texts in a row, and how many each text has."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return (np.concatenate(texts) if len(texts) else np.empty(0, np.int64)), lengths


def _pairs(tokens: Tokens, lengths: NDArray[np.int64], v: int) -> tuple[Tokens, NDArray[np.int64]]:
    """Pairs of neighbouring tokens 0..v-1 of texts in a row as one number each, and how many.

    A pair with a token that is -1 is -1.
    """
    first, second = tokens[:-1], tokens[1:]
    pairs = np.where((first < 0) | (second < 0), -1, first * v + second)
    inside = np.ones(len(pairs), bool)
    ends = np.cumsum(lengths)[:-1]  # a pair must not reach over the end of its text
    inside[ends[(ends > 0) & (ends < len(tokens))] - 1] = False
    return pairs[inside], np.maximum(lengths - 1, 0)
