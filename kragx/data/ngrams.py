"""How many n-grams texts share, for the documents and gold texts of many queries at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from kragx.data.tokens import Ints, TokenCorpus, Tokens, joined

# What is worked on at once: enough that numpy's calls take no time beside the work, few enough for
# some ten megabytes.
_MOST_TOKENS = 1 << 18
_MOST_PLACES = 1 << 22
_MOST_MEETINGS = 1 << 20

Texts = Sequence[Sequence[Tokens]]
"""The token numbers of each text of each query."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of documents and gold texts of some queries in a row.

    They stand query after query, document after document, gold text after gold text.

    Attributes:
        shapes: how many documents and how many gold texts each query has.
        shared: how much the two of each pair share.
        doc_sizes, gold_sizes: how much the document, and how much the gold text, of each pair has.
    """

    shapes: Sequence[tuple[int, int]]
    shared: Ints
    doc_sizes: Ints
    gold_sizes: Ints


def ngram_overlaps(docs: Texts, golds: Texts, n: int, corpus: TokenCorpus) -> Iterator[Pairs]:
    """How many n-grams each document shares with each gold text, repeats counted (clipped).

    A pair shares the sum over all n-grams of min(count in the document, count in the gold text).

    Args:
        docs: the documents of each query.
        golds: the gold texts of each query.
        n: 1 for tokens, 2 for pairs of neighbouring tokens.
        corpus: where the numbers come from.

    Yields:
        The pairs of as many queries as are worked on at once, in their order.
    """
    start = n_tokens = n_gold = 0
    for query, (of_docs, of_golds) in enumerate(zip(docs, golds)):
        own_gold = sum(map(len, of_golds))
        own = sum(map(len, of_docs)) + own_gold
        n_places = (query + 1 - start) * (n_gold + own_gold)
        if query > start and (n_tokens + own > _MOST_TOKENS or n_places > _MOST_PLACES):
            yield _pairs(docs[start:query], golds[start:query], n, corpus)
            start, n_tokens, n_gold = query, 0, 0
        n_tokens, n_gold = n_tokens + own, n_gold + own_gold
    if start < len(docs):
        yield _pairs(docs[start:], golds[start:], n, corpus)


class _Side:
    """The documents, or the gold texts, of some queries.

    Attributes:
        tokens: of all texts in a row.
        rows: which text each token is of.
        sizes: how many n-grams each text has.
        queries: which query each text is of.
        n_texts: how many texts each query has.
        starts: which text is each query's first.
    """

    def __init__(self, texts: Texts, n: int) -> None:
        self.tokens, self.rows, lengths = joined([*chain.from_iterable(texts)])
        self.sizes = np.maximum(lengths - n + 1, 0)
        self.n_texts = np.fromiter(map(len, texts), np.int64, len(texts))
        self.queries = np.repeat(np.arange(len(texts)), self.n_texts)
        self.starts = _starts(self.n_texts)


def _pairs(docs: Texts, golds: Texts, n: int, corpus: TokenCorpus) -> Pairs:
    doc, gold = _Side(docs, n), _Side(golds, n)
    n_pairs = gold.n_texts[doc.queries]  # of each document
    starts = _starts(n_pairs)
    gold_of_pair = _ranges(gold.starts[doc.queries], n_pairs)
    return Pairs(
        shapes=[*zip(doc.n_texts.tolist(), gold.n_texts.tolist())],
        shared=_shared(doc, gold, starts - gold.starts[doc.queries], len(gold_of_pair), n, corpus),
        doc_sizes=np.repeat(doc.sizes, n_pairs),
        gold_sizes=gold.sizes[gold_of_pair],
    )


def _shared(
    doc: _Side, gold: _Side, pair_of_first: Ints, n_pairs: int, n: int, corpus: TokenCorpus
) -> Ints:
    """How much each pair shares; a document and a gold text are pair `pair_of_first` + gold."""
    shared = np.zeros(n_pairs, np.int64)
    # Only tokens that stand in gold of the same query can count. Such a token is known by a place
    # where it stands in all of the gold, 0..v-1; others are negative.
    v = len(gold.tokens)
    places = corpus.places(gold.tokens)
    in_gold, in_docs = places[gold.tokens], places[doc.tokens]
    standing = np.zeros(len(gold.n_texts) * v, bool)
    standing[gold.queries[gold.rows] * v + in_gold] = True
    known = (in_docs >= 0).nonzero()[0]
    base = doc.queries[doc.rows[known]] * v + in_docs[known]
    known = known[standing[base]]
    gold_grams, gold_rows = _grams(np.arange(v), in_gold, gold, n, v)
    doc_grams, doc_rows = _grams(known, in_docs, doc, n, v)
    vocabulary, gold_grams = np.unique(gold_grams, return_inverse=True)
    v = len(vocabulary)
    if not v or not doc_grams.size:
        return shared
    nearest = np.minimum(np.searchsorted(vocabulary, doc_grams), v - 1)
    hits = (vocabulary[nearest] == doc_grams).nonzero()[0]
    # Each distinct n-gram of a document meets every gold text of its query that has it.
    of_docs, n_in_doc = np.unique(doc_rows[hits] * v + nearest[hits], return_counts=True)
    rows, grams = np.divmod(of_docs, v)
    of_golds, n_in_gold = np.unique(gold_grams * len(gold.sizes) + gold_rows, return_counts=True)
    grams_of_golds, gold_rows = np.divmod(of_golds, len(gold.sizes))
    n_having = np.bincount(grams_of_golds, minlength=v)
    first, n_meetings = _starts(n_having)[grams], n_having[grams]
    for part in _parts(n_meetings):
        entry = _ranges(first[part], n_meetings[part])
        hit = np.repeat(np.arange(part.start, part.stop), n_meetings[part])
        pairs = pair_of_first[rows[hit]] + gold_rows[entry]
        least = np.minimum(n_in_doc[hit], n_in_gold[entry])
        # As weights whole numbers become floats, which are exact below 2**53.
        shared += np.bincount(pairs, least, n_pairs).astype(np.int64)
    return shared


def _grams(at: Ints, places: Ints, side: _Side, n: int, v: int) -> tuple[Ints, Ints]:
    """A number for each n-gram of tokens at some positions, one for each query, and its text."""
    rows = side.rows[at]
    if n == 2:
        # A pair must not reach over the end of its text.
        follows = ((at[1:] == at[:-1] + 1) & (rows[1:] == rows[:-1])).nonzero()[0]
        at, rows = at[follows], rows[follows]
    grams = side.queries[rows] * v + places[at]
    return (grams * v + places[at + 1] if n == 2 else grams), rows


def _starts(lengths: Ints) -> Ints:
    """Where stretches of these lengths begin, one behind the other."""
    return np.cumsum(lengths) - lengths


def _ranges(firsts: Ints, lengths: Ints) -> Ints:
    """The numbers of all stretches from `firsts` on, so many of each."""
    return np.repeat(firsts - _starts(lengths), lengths) + np.arange(lengths.sum())


def _parts(lengths: Ints) -> Iterator[slice]:
    """Stretches that have some thousand elements in all, or one."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + _MOST_MEETINGS, side="right")))
        yield slice(start, stop)
        start = stop
