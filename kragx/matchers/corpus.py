"""Texts as arrays of token numbers: each distinct text is tokenised once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from kragx.tokenizers import Tokenizer

Tokens = NDArray[np.int32]
Ints = NDArray[np.int64]

# Tokens that are kept for texts that may come again; about half a gigabyte with the texts.
_MOST_TOKENS = 1 << 25


class TokenCorpus:
    """Remembers the tokens of the texts it has seen, as numbers that stand for distinct tokens.

    Two texts share a token exactly if they share its number, so counting numbers is exact. When
    the texts grow beyond some hundred megabytes, all but the latest batch are forgotten.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._tokens: dict[str, Tokens] = {}
        self._n_tokens = 0
        # Looking a new token up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        self._places = np.empty(0, np.int64)
        self._placed: Tokens = np.empty(0, np.int32)
        self.short: set[str] = set()  # texts of fewer than two tokens

    def __len__(self) -> int:
        """How many distinct texts are remembered."""
        return len(self._tokens)

    @property
    def n_distinct_tokens(self) -> int:
        """How many distinct tokens were seen; every token number is below it."""
        return len(self._numbers)

    def add(self, texts: Iterable[str]) -> None:
        """Tokenise the texts that are new, as one batch."""
        batch = dict.fromkeys(texts)
        if self._n_tokens > _MOST_TOKENS:
            self._tokens = {text: self._tokens[text] for text in batch if text in self._tokens}
            self._n_tokens = sum(map(len, self._tokens.values()))
            self.short &= self._tokens.keys()
        new = [text for text in batch if text not in self._tokens]
        number = self._numbers.__getitem__
        for text, tokens in zip(new, self.tokenizer.tokens(new), strict=True):
            self._tokens[text] = np.fromiter(map(number, tokens), np.int32, len(tokens))
            self._n_tokens += len(tokens)
            if len(tokens) < 2:
                self.short.add(text)

    def of(self, texts: Iterable[str]) -> list[Tokens]:
        """The token numbers of each text of the latest batch."""
        tokens = self._tokens
        return [tokens[text] for text in texts]

    def places(self, tokens: Tokens) -> Ints:
        """A table from every token number to a place where it stands in `tokens`, else -1.

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
) -> tuple[Ints, Ints, Ints]:
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
    gold_tokens, gold_lengths = _joined(golds)
    doc_tokens, doc_lengths = _joined(docs)
    shared = np.zeros((len(docs), len(golds)), np.int64)
    # Only tokens that stand in some gold text can count. Such a token is known by a place where
    # it stands there, 0..v-1, which makes pairs of them small numbers too; all others are -1.
    v = len(gold_tokens)
    places = corpus.places(gold_tokens)
    doc_grams, gold_grams = places[doc_tokens], places[gold_tokens]
    if n == 2:
        doc_grams, doc_lengths = _pairs(doc_grams, doc_lengths, v)
        gold_grams, gold_lengths = _pairs(gold_grams, gold_lengths, v)
        vocabulary, gold_grams = np.unique(gold_grams, return_inverse=True)
        v = len(vocabulary)
    known = doc_grams >= 0
    rows = np.repeat(np.arange(len(docs)), doc_lengths)[known]
    doc_grams = doc_grams[known]
    if n == 2 and v:
        at = np.searchsorted(vocabulary, doc_grams)
        at[at == v] = 0
        known = vocabulary[at] == doc_grams
        rows, doc_grams = rows[known], at[known]
    if not (v and doc_grams.size):
        return shared, doc_lengths, gold_lengths
    counts = np.bincount(rows * v + doc_grams, minlength=len(docs) * v).reshape(len(docs), v)
    start = 0
    for column, length in enumerate(gold_lengths.tolist()):
        in_gold = np.bincount(gold_grams[start : start + length], minlength=v)
        grams = in_gold.nonzero()[0]
        shared[:, column] = np.minimum(counts[:, grams], in_gold[grams]).sum(axis=1)
        start += length
    return shared, doc_lengths, gold_lengths


def _joined(texts: Sequence[Tokens]) -> tuple[Tokens, Ints]:
    """All tokens of several texts in a row, and how many each text has."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return (np.concatenate(texts) if len(texts) else np.empty(0, np.int32)), lengths


def _pairs(tokens: Ints, lengths: Ints, v: int) -> tuple[Ints, Ints]:
    """Pairs of neighbouring tokens 0..v-1 of texts in a row as one number each, and how many.

    A pair with a token that is -1 is negative.
    """
    first, second = tokens[:-1], tokens[1:]
    pairs = first * v + second
    pairs[(first < 0) | (second < 0)] = -1
    inside = np.ones(len(pairs), bool)
    ends = np.cumsum(lengths)[:-1]  # a pair must not reach over the end of its text
    inside[ends[(ends > 0) & (ends < len(tokens))] - 1] = False
    return pairs[inside], np.maximum(lengths - 1, 0)
