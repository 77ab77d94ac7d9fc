"""n-grams that texts of many queries share, at once and in parts, against counting by hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import rapidfuzz.distance
from hypothesis import given, strategies as st

from kragx.data import TokenCorpus, UnicodeTokenizer, lists, tokens as module
from kragx.data.lists import Lists
from kragx.data.tokens import common_runs, ngram_overlaps
from tests.thoroughness import examples

TEXT = st.lists(st.sampled_from("abcde강산"), max_size=7).map(" ".join)
QUERY = st.tuples(st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=3))


def grams(text: str, n: int) -> Counter[tuple[str, ...]]:
    """The n-grams of a text, counted."""
    words = text.split()
    return Counter(tuple(words[at : at + n]) for at in range(len(words) - n + 1))


def by_row(lists: Sequence[list[str]], corpus: TokenCorpus) -> Lists:
    """Lists of texts that were added before."""
    n_texts = np.array([*map(len, lists)], np.int64)
    return Lists(corpus.texts, corpus.add(chain(*lists)), n_texts)


def of(
    queries: Sequence[tuple[list[str], list[str]]], n: int
) -> list[tuple[list[list[int]], list[int], list[int]]]:
    """For each query the shared n-grams, and the sizes of each pair's document and gold text."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(text for docs, golds in queries for text in (*docs, *golds))
    docs, golds = (by_row(side, corpus) for side in zip(*queries, strict=True))
    pairs = ngram_overlaps(docs, golds, n, corpus)
    shared, doc_sizes, gold_sizes = pairs.shared, pairs.doc_sizes, pairs.gold_sizes
    found, start = [], 0
    for shape in ((len(own), len(wanted)) for own, wanted in queries):
        own = slice(start, start := start + shape[0] * shape[1])
        found.append(
            (shared[own].reshape(shape).tolist(), doc_sizes[own].tolist(), gold_sizes[own].tolist())
        )
    assert start == len(shared)
    return found


@examples(150)
@given(
    queries=st.lists(QUERY, min_size=1, max_size=5),
    n=st.sampled_from([1, 2, 4]),
    most=st.sampled_from([1, 10, 1 << 20]),
    bits=st.sampled_from([1, 3, 20]),
)
def test_shared_ngrams_are_those_of_counters(
    queries: list[tuple[list[str], list[str]]], n: int, most: int, bits: int
) -> None:
    """Each pair shares what two Counters intersect to.

    However much is worked on at once, and also where most n-grams fall into the same slots.
    """
    limits = dict.fromkeys(("_TOKENS_AT_ONCE", "_QUERIES_AT_ONCE"), most)
    with (
        patch.multiple(module, **limits, _SLOT_BITS=bits),
        patch.object(lists.parts, "__defaults__", (most,)),
    ):
        found = of(queries, n)
    for (docs, golds), (shared, doc_sizes, gold_sizes) in zip(queries, found, strict=True):
        pairs = [(grams(doc, n), grams(gold, n)) for doc in docs for gold in golds]
        assert [*chain.from_iterable(shared)] == [(one & two).total() for one, two in pairs]
        assert doc_sizes == [one.total() for one, _ in pairs]
        assert gold_sizes == [two.total() for _, two in pairs]


@pytest.mark.parametrize("n", [1, 2])
def test_queries_do_not_meet_each_others_gold(n: int) -> None:
    """A document shares nothing with the gold of another query, worked out by hand."""
    queries = [(["x y z x y"], ["x y x y"]), (["a b"], ["x y"]), ([], ["a"]), (["a b a b"], [])]
    shared = {1: [[4]], 2: [[2]]}[n]
    assert [matrix for matrix, _, _ in of(queries, n)] == [shared, [[0]], [], [[]]]


def test_one_ngram_in_all_texts_is_met_in_parts() -> None:
    """A thousand documents and gold texts with the same pair meet a million times, in parts."""
    corpus = TokenCorpus(UnicodeTokenizer())
    corpus.add(["a b"])
    texts = by_row([["a b"] * 1100], corpus)
    pairs = ngram_overlaps(texts, texts, 2, corpus)
    assert (pairs.shared == 1).all()
    assert pairs.shared.size == 1_210_000 > lists._MOST_AT_ONCE


def changed(text: str, seed: int) -> str:
    """A long text with every thirtieth letter or so another one, put in or left out."""
    rng = random.Random(seed)
    kinds = (lambda letter: "x", lambda letter: letter + "xy", lambda letter: "")
    return "".join(
        rng.choice(kinds)(letter) if rng.random() < 1 / 30 else letter for letter in text
    )


def places(runs: Sequence[tuple[int, int, int]]) -> set[tuple[int, int]]:
    """The pairs of places in some runs."""
    return {(a + step, b + step) for a, b, size in runs for step in range(size)}


@pytest.mark.parametrize("of_tokens", [False, True])
def test_long_texts_are_laid_side_by_side_in_pieces(of_tokens: bool) -> None:
    """In pieces, long texts have the runs they have at once, and none is laid over all of them."""
    rng = random.Random(3)
    text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=3_000))
    one, other = text + "q" * 500, "w" * 900 + changed(text, 4)
    texts: tuple[str | list[int], ...] = (one, other)
    if of_tokens:
        texts = [*map(ord, one)], [*map(ord, other)]
    at_once, sizes = places(common_runs(*texts)), []
    whole = rapidfuzz.distance.LCSseq.opcodes

    def opcodes(one: Sequence[Hashable], other: Sequence[Hashable]) -> Any:
        sizes.append(len(one) * len(other))
        return whole(one, other)

    most = 1 << 21
    with (
        patch.object(module, "_MOST_PLACES", most),
        patch.object(rapidfuzz.distance.LCSseq, "opcodes", opcodes),
    ):
        in_pieces = places(common_runs(*texts))
    assert max(sizes) <= most < len(one) * len(other)
    assert len(at_once & in_pieces) > 0.98 * len(at_once | in_pieces)


def test_long_texts_that_say_nothing_once_are_not_laid_side_by_side() -> None:
    """Long texts that have nothing in common, or say nothing only once, have no runs."""
    assert common_runs("a" * 40_000, "b" * 40_000) == []
    assert common_runs("ab" * 20_000, "ab" * 20_001) == []
