"""How many n-grams texts share, for the documents and gold texts of many queries at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import Lists
from kragx.data.stretches import Ints, counted, distinct, parts, ranges, starts
from kragx.data.tokens import TokenCorpus

# What is worked on at once: enough that numpy's calls take no time beside the work, few enough for
# some ten megabytes.
_MOST_TOKENS = 1 << 19

_SPARE_BITS = 2  # four slots of a table for each number
_ODD = 0x9E3779B97F4A7C15  # Knuth's multiplier
_HALF, _LOW = 32, (1 << 32) - 1  # bits of a number that holds two

_Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class Pairs:
    """The pairs of documents and gold texts of some queries in a row.

    They stand query after query, document after document, gold text after gold text.

    Attributes:
        shared: how much the two of each pair share.
        doc_sizes, gold_sizes: how much the document, and how much the gold text, of each pair has.
    """

    shared: Ints
    doc_sizes: Ints
    gold_sizes: Ints


def ngram_overlaps(docs: Lists, golds: Lists, n: int, corpus: TokenCorpus) -> Pairs:
    """How many n-grams each document shares with each gold text, repeats counted (clipped).

    A pair shares the sum over all n-grams of min(count in the document, count in the gold text).

    Args:
        docs: the documents of each query, by their rows in the corpus.
        golds: the gold texts of each query.
        n: 1 for tokens, 2 for pairs of neighbouring tokens, 4 for twice as many.
        corpus: where they stand.
    """
    doc, gold = of_pairs(docs.n_texts, golds.n_texts)
    doc, gold = docs.numbers[doc], golds.numbers[gold]
    doc_sizes, gold_sizes = (np.maximum(corpus.lengths[rows] - n + 1, 0) for rows in (doc, gold))
    shared = np.zeros(len(doc), np.int64)
    for part in parts(doc_sizes + gold_sizes, _MOST_TOKENS):
        shared[part] = _shared(doc[part], gold[part], n, corpus)
    return Pairs(shared, doc_sizes, gold_sizes)


def of_pairs(n_docs: Ints, n_golds: Ints) -> tuple[Ints, Ints]:
    """For each pair of a document and a gold text of its query, in the order of `Pairs`, which.

    Args:
        n_docs: how many documents each query has.
        n_golds: how many gold texts.
    """
    n_pairs = np.repeat(n_golds, n_docs)  # of each document
    return (
        np.repeat(np.arange(len(n_pairs)), n_pairs),
        ranges(np.repeat(starts(n_golds), n_docs), n_pairs),
    )


def _shared(docs: Ints, golds: Ints, n: int, corpus: TokenCorpus) -> Ints:
    """How many n-grams the document and the gold text of each pair share.

    Args:
        docs: for each pair the row of its document.
        golds: the row of its gold text.
        n: as of `ngram_overlaps`.
        corpus: where they stand.
    """
    gold_rows, doc_rows = distinct(golds), distinct(docs)
    rows = np.concatenate((gold_rows, doc_rows))
    lengths = corpus.lengths[rows]
    text = np.repeat(np.arange(len(rows)), lengths)
    # Where numbers of tokens are small enough they stand side by side in a key; else it is a hash.
    bits = 64 // n
    base = np.uint64(1 << bits if corpus.n_distinct_tokens < 1 << bits and n > 1 else _ODD)
    tokens = corpus.tokens_of(rows).view(np.uint32).astype(np.uint64)  # pieces are below 0
    n_keys = max(0, len(tokens) - n + 1)
    keys = tokens[:n_keys]
    for step in range(1, n):
        keys = keys * base + tokens[step : step + n_keys]
    place = (text[:n_keys] == text[n - 1 :]).nonzero()[0]  # not over the end of a text
    keys, text = keys[place], text[place]
    gram = _places(keys, distinct(keys[text < len(gold_rows)]))
    place = (gram >= 0).nonzero()[0]

    # Of each text how often it has each n-gram; a key says both.
    held, first, times = counted((text[place] << _HALF) + gram[place])
    texts = text[place[first]]
    n_grams = np.bincount(texts, minlength=len(rows))
    begins = starts(n_grams)
    # Each pair looks the n-grams of its gold text up among those of its document.
    gold, doc = np.searchsorted(gold_rows, golds), np.searchsorted(doc_rows, docs)
    entries = ranges(begins[gold], n_grams[gold])
    pair = np.repeat(np.arange(len(docs)), n_grams[gold])
    wanted = (held[entries] & _LOW) + (doc[pair] + len(gold_rows) << _HALF)
    found = _places(wanted.view(np.uint64), held.view(np.uint64))
    is_met = found >= 0
    common = np.minimum(times[entries[is_met]], times[found[is_met]])
    # As weights whole numbers become floats, which are exact below 2**53.
    return np.bincount(pair[is_met], common, len(docs)).astype(np.int64)


def _places(wanted: _Keys, keys: _Keys) -> Ints:
    """Where each number stands among ascending distinct ones; -1 where it does not."""
    if not keys.size:
        return np.full(len(wanted), -1)
    bits = len(keys).bit_length() + _SPARE_BITS
    table = np.full(1 << bits, -1, np.int32)
    table[_slots(keys, bits)] = np.arange(len(keys))
    places = table.take(_slots(wanted, bits)).astype(np.int64)
    # A search takes many times as long, so only those whose slot another one has are searched for.
    rest = ((keys.take(places) != wanted) & (places >= 0)).nonzero()[0]
    found = np.searchsorted(keys, wanted[rest])
    places[rest] = np.where(keys.take(found, mode="clip") == wanted[rest], found, -1)
    return places


def _slots(keys: _Keys, bits: int) -> NDArray[np.intp]:
    return (keys * np.uint64(_ODD) >> np.uint64(64 - bits)).astype(np.intp)
