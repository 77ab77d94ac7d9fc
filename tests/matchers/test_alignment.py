"""Where two texts come to lie side by side."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from kragx.matchers.siblings import best_offsets
from tests.thoroughness import examples

TEXT = st.lists(st.sampled_from("abcd"), max_size=14).map(" ".join)
_MOST, OFFSETS = 32, 3


def counted(doc: str, gold: str, most: int) -> list[tuple[int, int]]:
    """The same, counted pair of words by pair of words."""
    meetings: Counter[int] = Counter()
    in_gold = [*pairwise(gold.split())]
    for place, pair in enumerate(pairwise(doc.split())):
        places = [there for there, other in enumerate(in_gold) if other == pair]
        meetings.update(place - there for there in places[:most])
    return meetings.most_common(OFFSETS)


def of(doc: str, gold: str) -> list[tuple[int, int]]:
    """The best offsets of a document and a gold text."""
    numbers = {word: number for number, word in enumerate("abcdxyz")}
    return best_offsets(*([numbers[word] for word in text.split()] for text in (doc, gold)))


@examples(200)
@given(TEXT, TEXT)
def test_offsets_are_those_that_a_counter_gives(doc: str, gold: str) -> None:
    """The most frequent offsets, those first that meet first."""
    assert of(doc, gold) == counted(doc, gold, _MOST)


def test_a_pair_that_stands_often_meets_its_first_places() -> None:
    """A sentence repeated many times does not meet itself at each of its places."""
    doc, gold = "a b", " ".join(["a b"] * 40)
    assert of(doc, gold) == counted(doc, gold, _MOST) == [(0, 1), (-2, 1), (-4, 1)]
    assert of(gold, gold) == counted(gold, gold, _MOST)


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
    assert of(doc, gold) == offsets
