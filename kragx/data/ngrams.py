"""How many n-grams texts share, for the documents and gold texts of many queries at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kragx.data.lists import Lists
from kragx.data.stretches import Ints, counted, parts, ranges, starts
from kragx.data.tokens import Grams, TokenCorpus

# What is worked on at once: enough that numpy's calls take no time beside the work, few enough for
# some ten megabytes.
_MOST_TOKENS = 1 << 18
_MOST_QUERIES = 1 << 12

_SLOT_BITS = 20
_OF_QUERY = np.uint64(0xD6E8FEB86659FD93)  # odd


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
    n_tokens = docs.sums(corpus.lengths) + golds.sums(corpus.lengths)
    at_once = parts(n_tokens + _MOST_TOKENS // _MOST_QUERIES, _MOST_TOKENS)
    shared = [_shared(docs.part(part), golds.part(part), n, corpus) for part in at_once]
    doc_sizes, gold_sizes = (
        np.maximum(corpus.lengths[lists.numbers[text]] - n + 1, 0)
        for lists, text in zip((docs, golds), of_pairs(docs.n_texts, golds.n_texts))
    )
    return Pairs(np.concatenate([np.empty(0, np.int64), *shared]), doc_sizes, gold_sizes)


def _shared(docs: Lists, golds: Lists, n: int, corpus: TokenCorpus) -> Ints:
    """What each pair of some queries shares."""
    (doc_ends, doc_grams), (gold_ends, gold_grams) = (
        _grams(lists, n, corpus) for lists in (docs, golds)
    )
    n_pairs, n_golds, v = int((docs.n_texts * golds.n_texts).sum()), len(gold_ends), len(gold_grams)
    if not v:
        return np.zeros(n_pairs, np.int64)
    gram_of_gold, place, gram = _met(gold_grams, doc_grams)
    doc = np.searchsorted(doc_ends, place, side="right")
    gold = np.repeat(np.arange(n_golds), np.diff(gold_ends, prepend=0))
    # Each distinct n-gram of a document meets every gold text of its query that has it.
    of_docs, _, n_in_doc = counted(doc * v + gram)
    doc, gram = np.divmod(of_docs, v)
    is_met = np.zeros(v, bool)
    is_met[gram] = True
    is_met = is_met[gram_of_gold]
    of_golds, _, n_in_gold = counted(gram_of_gold[is_met] * n_golds + gold[is_met])
    gram_of_gold, gold = np.divmod(of_golds, n_golds)
    n_having = np.bincount(gram_of_gold, minlength=v)
    first, n_meetings = starts(n_having)[gram], n_having[gram]
    pair_of_first = starts(golds.n_texts[docs.of_text]) - golds.starts[docs.of_text]
    shared = np.zeros(n_pairs)
    for part in parts(n_meetings):
        entry = ranges(first[part], n_meetings[part])
        hit = np.repeat(np.arange(part.start, part.stop), n_meetings[part])
        pair = pair_of_first[doc[hit]] + gold[entry]
        # As weights whole numbers become floats, which are exact below 2**53.
        shared += np.bincount(pair, np.minimum(n_in_doc[hit], n_in_gold[entry]), n_pairs)
    return shared.astype(np.int64)


def _grams(texts: Lists, n: int, corpus: TokenCorpus) -> tuple[Ints, Grams]:
    """The n-grams of texts, one behind the other, and where those of each text end.

    Those of different queries are different ones.
    """
    sizes = np.maximum(corpus.lengths[texts.numbers] - n + 1, 0)
    begins, every = corpus.starts[texts.numbers], corpus.grams(n)
    # A piece for each text is a fraction of the time of an index for each n-gram.
    pieces = zip(begins.tolist(), (begins + sizes).tolist())
    grams = np.concatenate([every[:0], *(every[begin:end] for begin, end in pieces)])
    grams += np.repeat(texts.of_text.astype(np.uint64) * _OF_QUERY, sizes)
    return np.cumsum(sizes), grams


def _met(gold_grams: Grams, doc_grams: Grams) -> tuple[Ints, Ints, Ints]:
    """The n-grams of documents that gold has.

    Returns:
        For each n-gram of gold the place of one that is the same, which is its number; the places
        of those of documents that gold has, and their numbers.
    """
    # Nearly all n-grams of documents are in no gold of their query: a table of slots says so. Of
    # several n-grams of gold in a slot the last has it; the few others are looked up in order.
    slots = _slots(gold_grams)
    is_taken, table = np.zeros(1 << _SLOT_BITS, bool), np.zeros(1 << _SLOT_BITS, np.int32)
    is_taken[slots] = True
    table[slots] = np.arange(len(slots))
    number = table.take(slots).astype(np.int64)
    beside = np.flatnonzero(gold_grams[number] != gold_grams)
    others, first, other = np.unique(gold_grams[beside], return_index=True, return_inverse=True)
    number[beside] = beside[first][other]
    doc_slots = _slots(doc_grams)
    place = is_taken.take(doc_slots).nonzero()[0]  # `take` is twice as fast as an index
    met = table.take(doc_slots[place]).astype(np.int64)
    if others.size:
        unmet = np.flatnonzero(gold_grams[met] != doc_grams[place])
        met[unmet] = beside[first][np.searchsorted(others[:-1], doc_grams[place[unmet]])]
    is_met = gold_grams[met] == doc_grams[place]
    return number, place[is_met], met[is_met]


def _slots(grams: Grams) -> Ints:
    return (grams >> np.uint64(64 - _SLOT_BITS)).view(np.int64)


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
