"""How many n-grams texts share, for the documents and gold texts of many queries at once."""

from typing import NamedTuple

import numpy as np

from kragx.data.lists import Lists
from kragx.data.stretches import Ints, parts, ranges, starts
from kragx.data.tokens import TokenCorpus


class Pairs(NamedTuple):
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
        n: 1 for tokens, 2 for pairs of neighbouring tokens, and so on.
        corpus: where they stand.
    """
    of_doc, of_gold = of_pairs(docs.n_texts, golds.n_texts)
    doc, gold = docs.numbers[of_doc], golds.numbers[of_gold]
    sizes = np.maximum(corpus.lengths - n + 1, 0)
    shared = sizes[doc]
    # Gold is a chunk that is retrieved, as a rule, and shares with itself all that it has.
    differ = (doc != gold).nonzero()[0]
    counts = corpus.ngrams(n)
    for part in parts(shared[differ] + sizes[gold[differ]]):
        pairs = differ[part]
        shared[pairs] = counts[doc[pairs]].minimum(counts[gold[pairs]]).sum(axis=1)
    return Pairs(shared, sizes[doc], sizes[gold])


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
