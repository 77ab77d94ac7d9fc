"""How many n-grams texts share, for the documents and gold texts of many queries at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import Lists
from kragx.data.stretches import Ints, counted, parts, ranges, starts
from kragx.data.tokens import HASH_BITS, TokenCorpus, Tokens

# What is worked on at once: enough that numpy's calls take no time beside the work, few enough for
# some ten megabytes.
_MOST_TOKENS = 1 << 18
_MOST_QUERIES = 1 << 12

_SLOTS_A_GRAM = 16
_LEAST_BITS, _MOST_BITS = 8, HASH_BITS


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
    doc_sizes, gold_sizes = (
        np.maximum(corpus.lengths[numbers] - n + 1, 0)
        for numbers in (docs.numbers[doc], golds.numbers[gold])
    )
    # Gold is a chunk that is retrieved, as a rule, and shares with itself all that it has.
    is_identical = docs.numbers[doc] == golds.numbers[gold]
    is_uncounted = np.bincount(doc[~is_identical], minlength=len(docs.numbers)) > 0
    uncounted = docs.those(is_uncounted)
    first_pair = starts(golds.n_texts[docs.of_text])[is_uncounted]
    shared = np.zeros(len(doc), np.int64)
    n_tokens = uncounted.sums(corpus.lengths) + golds.sums(corpus.lengths)
    for part in parts(n_tokens + _MOST_TOKENS // _MOST_QUERIES, _MOST_TOKENS):
        part_docs, part_golds = uncounted.part(part), golds.part(part)
        first = first_pair[uncounted.starts[part.start] :][: len(part_docs.numbers)]
        sides = _Side(part_docs, n, corpus), _Side(part_golds, n, corpus)
        _add_common_counts(*sides, first - part_golds.starts[part_docs.of_text], shared)
    return Pairs(np.where(is_identical, doc_sizes, shared), doc_sizes, gold_sizes)


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


def pairs_at(places: Ints, n_docs: Ints, n_golds: Ints) -> tuple[Ints, Ints]:
    """The same of some pairs, by their places in that order; less work where these are few."""
    n_pairs = n_docs * n_golds
    query = np.searchsorted(np.cumsum(n_pairs), places, side="right")
    doc, gold = np.divmod(places - starts(n_pairs)[query], n_golds[query])
    return starts(n_docs)[query] + doc, starts(n_golds)[query] + gold


class _Side:
    """The n-grams of the documents, or of the gold texts, of some queries, one after the other.

    Attributes:
        size: how many there are.
        queries: which query each text is of.
        starts: which text is each query's first.
    """

    def __init__(self, texts: Lists, n: int, corpus: TokenCorpus) -> None:
        self._n, self._corpus = n, corpus
        self._sizes = np.maximum(corpus.lengths[texts.numbers] - n + 1, 0)
        self._ends = np.cumsum(self._sizes)
        self._begins = corpus.starts[texts.numbers]
        self.size = int(self._sizes.sum())
        self.queries = texts.of_text
        self.starts = texts.starts

    def slots(self, bits: int) -> NDArray[np.intp]:
        """For each n-gram a slot of its query's stretch of a table."""
        hashes = self._corpus.hashes(self._n)
        # A piece for each text is a fraction of the time of an index for each n-gram.
        pieces = zip(self._begins.tolist(), (self._begins + self._sizes).tolist())
        grams = np.concatenate([hashes[begin:end] for begin, end in pieces])
        slots: NDArray[np.intp] = np.repeat(self.queries << bits, self._sizes)
        slots += grams >> np.uint16(HASH_BITS - bits)
        return slots

    def texts_at(self, numbers: Ints) -> Ints:
        """The text of which each of some n-grams is."""
        return np.searchsorted(self._ends, numbers, side="right")

    def tokens_at(self, numbers: Ints) -> list[Tokens]:
        """The first token of each of some n-grams, in their order, and then the next."""
        n_of_texts = np.diff(np.searchsorted(numbers, self._ends), prepend=0)
        firsts = numbers + np.repeat(self._begins + self._sizes - self._ends, n_of_texts)
        return [self._corpus.tokens[firsts + offset] for offset in range(self._n)]


def _add_common_counts(doc: _Side, gold: _Side, pair_of_first: Ints, shared: Ints) -> None:
    """Add what each pair shares; a document and a gold text are pair `pair_of_first` + gold."""
    doc_at, grams, gold_at, gold_grams = _shared_ngrams(doc, gold)
    if not doc_at.size:
        return
    v, n_golds = gold.size, len(gold.queries)
    # Each distinct n-gram of a document meets every gold text of its query that has it.
    of_docs, _, n_in_doc = counted(doc.texts_at(doc_at) * v + grams)
    rows, grams = np.divmod(of_docs, v)
    of_golds = gold_grams * n_golds + gold.texts_at(gold_at)
    of_golds, _, n_in_gold = counted(of_golds)
    grams_of_golds, gold_rows = np.divmod(of_golds, n_golds)
    n_having = np.bincount(grams_of_golds, minlength=v)
    first, n_meetings = starts(n_having)[grams], n_having[grams]
    for part in parts(n_meetings):
        entry = ranges(first[part], n_meetings[part])
        hit = np.repeat(np.arange(part.start, part.stop), n_meetings[part])
        pairs = pair_of_first[rows[hit]] + gold_rows[entry]
        common = np.minimum(n_in_doc[hit], n_in_gold[entry])
        # As weights whole numbers become floats, which are exact below 2**53.
        shared += np.bincount(pairs, common, len(shared)).astype(np.int64)


def _shared_ngrams(doc: _Side, gold: _Side) -> tuple[Ints, Ints, Ints, Ints]:
    """The n-grams of documents that gold of the same query has, and all those of gold.

    Behind each of the two which n-grams they are: one of gold that is the same.

    Each query has a stretch of a table, in which the n-grams of its gold have slots. Nearly all
    n-grams of documents fall into a free one, so no gold has them. Where several n-grams of gold
    have the same slot, they are in it one after the other.
    """
    n_queries = len(gold.starts)
    met: list[tuple[Ints, ...]] = [(np.empty(0, np.int64),) * 4]
    if not (doc.size and gold.size):
        return met[0]  # type: ignore[return-value]  # four
    n_slots = _SLOTS_A_GRAM * gold.size // n_queries
    bits = min(max(n_slots.bit_length(), _LEAST_BITS), _MOST_BITS)
    slots, doc_slots = gold.slots(bits), doc.slots(bits)
    is_taken = np.zeros(n_queries << bits, bool)
    is_taken[slots] = True
    doc_at = is_taken.take(doc_slots).nonzero()[0]  # `take` is twice as fast as an index
    doc_slots = doc_slots[doc_at]
    table = np.zeros(n_queries << bits, np.int32)  # a number and 1; 0 is free
    rest = np.arange(gold.size)
    table[slots] = rest + 1
    doc_tokens, gold_tokens = doc.tokens_at(doc_at), gold.tokens_at(rest)
    while doc_at.size and rest.size:
        owner, first = (table[slot].astype(np.int64) - 1 for slot in (doc_slots, slots))
        is_met = _equal(doc_tokens, [ids[owner] for ids in gold_tokens])
        is_first = _equal([ids[rest] for ids in gold_tokens], [ids[first] for ids in gold_tokens])
        met.append((doc_at[is_met], owner[is_met], rest[is_first], first[is_first]))
        table[slots] = 0
        rest, slots = rest[~is_first], slots[~is_first]
        table[slots] = rest + 1
        is_unmet = ~is_met & (table[doc_slots] > 0)
        doc_at, doc_slots = doc_at[is_unmet], doc_slots[is_unmet]
        doc_tokens = [token[is_unmet] for token in doc_tokens]
    of_docs, grams, of_golds, gold_grams = map(np.concatenate, zip(*met, strict=True))
    return of_docs, grams, of_golds, gold_grams


def _equal(some: Sequence[Tokens], peers: Sequence[Tokens]) -> NDArray[np.bool_]:
    """Whether n-grams are equal: all of their tokens."""
    is_equal: NDArray[np.bool_] = some[0] == peers[0]
    for ids, peer_ids in zip(some[1:], peers[1:]):
        is_equal &= ids == peer_ids
    return is_equal
