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

    def string(self, tokens: Tokens) -> str | list[int]:
        """The tokens as a sequence for rapidfuzz, which compares strings fastest.

        Each token number becomes a code point; a vocabulary beyond Unicode's range stays numbers.
        """
        if self.n_distinct_tokens > 0x110000:
            return tokens.tolist()  # type: ignore[no-any-return]
        return tokens.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def unigrams(texts: Sequence[Tokens]) -> tuple[Tokens, NDArray[np.int64]]:
    """All tokens of several texts in a row, and how many each text has."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return (np.concatenate(texts) if len(texts) else np.empty(0, np.int64)), lengths


def bigrams(texts: Sequence[Tokens]) -> tuple[Tokens, NDArray[np.int64]]:
    """All pairs of neighbouring tokens of several texts, and how many each text has."""
    tokens, lengths = unigrams(texts)
    # A pair is one number: token numbers are below 2**31, as memory ends long before.
    pairs = (tokens[:-1] << 32) | tokens[1:]
    inside = np.ones(len(pairs), bool)
    ends = np.cumsum(lengths)[:-1]  # a pair must not reach over the end of its text
    inside[ends[(ends > 0) & (ends < len(tokens))] - 1] = False
    return pairs[inside], np.maximum(lengths - 1, 0)


def overlaps(
    docs: tuple[Tokens, NDArray[np.int64]], golds: tuple[Tokens, NDArray[np.int64]]
) -> NDArray[np.int64]:
    """How many n-grams each document shares with each gold text, repeats counted (clipped).

    Args:
        docs: the documents' n-grams in a row and how many each has, as `unigrams` gives them.
        golds: the same of the gold texts.

    Returns:
        n x m whole numbers: the sum over all n-grams of min(count in document, count in gold).
    """
    (doc_grams, doc_lengths), (gold_grams, gold_lengths) = docs, golds
    n, m = len(doc_lengths), len(gold_lengths)
    shared = np.zeros((n, m), np.int64)
    if not (doc_grams.size and gold_grams.size):
        return shared
    # Only n-grams that stand in some gold text can count; number those 0..v-1.
    vocabulary, gold_numbers = np.unique(gold_grams, return_inverse=True)
    v = len(vocabulary)
    doc_numbers = np.searchsorted(vocabulary, doc_grams)
    doc_numbers[doc_numbers == v] = 0
    known = vocabulary[doc_numbers] == doc_grams
    rows = np.repeat(np.arange(n), doc_lengths)[known]
    doc_counts = np.bincount(rows * v + doc_numbers[known], minlength=n * v).reshape(n, v)
    start = 0
    for column, length in enumerate(gold_lengths.tolist()):
        numbers, counts = np.unique(gold_numbers[start : start + length], return_counts=True)
        shared[:, column] = np.minimum(doc_counts[:, numbers], counts).sum(axis=1)
        start += length
    return shared
