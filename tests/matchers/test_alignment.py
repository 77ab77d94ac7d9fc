"""Where two texts come to lie side by side."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from kragx.data import TokenCorpus, UnicodeTokenizer
from kragx.matchers import alignment
from kragx.matchers.alignment import OFFSETS, best_offsets
from tests.thoroughness import examples

TEXT = st.lists(st.sampled_from("abcd"), max_size=14).map(" ".join)


def counted(doc: str, gold: str, most: int) -> list[tuple[int, int]]:
    """The same, counted pair of words by pair of words."""
    meetings: Counter[int] = Counter()
    in_gold = [*pairwise(gold.split())]
    for place, pair in enumerate(pairwise(doc.split())):
        places = [there for there, other in enumerate(in_gold) if other == pair]
        meetings.update(place - there for there in places[:most])
    return meetings.most_common(OFFSETS)


def of(pairs: list[tuple[str, str]]) -> list[list[tuple[int, int]]]:
    """The best offsets of documents and gold texts."""
    corpus = TokenCorpus(UnicodeTokenizer())
    docs, golds = [doc for doc, _ in pairs], [gold for _, gold in pairs]
    corpus.add([*docs, *golds])
    return [[*own] for own in best_offsets(corpus.rows(docs), corpus.rows(golds), corpus)]


@examples(200)
@given(
    pairs=st.lists(st.tuples(TEXT, TEXT), max_size=6),
    most=st.sampled_from([1, 2, 32]),
    at_once=st.sampled_from([1, 3, 4096]),
)
def test_offsets_are_those_that_a_counter_gives(
    pairs: list[tuple[str, str]], most: int, at_once: int
) -> None:
    """Of each two texts the most frequent offsets, those first that meet first, in any batches."""
    with patch.multiple(alignment, _MOST_PLACES=most, _AT_ONCE=at_once):
        found = of(pairs)
    assert found == [counted(doc, gold, most) for doc, gold in pairs]


@pytest.mark.parametrize(
    ("doc", "gold", "offsets"),
    [
        ("x y a b c", "a b c z", [(2, 2)]),
        ("a b x a b c", "a b c", [(3, 2), (0, 1)]),
        ("a b", "c d", []),
        ("a", "a", []),
    ],
)
def test_by_hand(doc: str, gold: str, offsets: list[tuple[int, int]]) -> None:
    """Two pairs of words meet two words further on; one word has no pair."""
    assert of([(doc, gold)]) == [offsets]
