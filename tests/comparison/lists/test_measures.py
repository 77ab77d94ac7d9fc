"""How alike two rankings are: rank-biased overlap and Jaccard."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kragx.comparison.lists import jaccard, rank_biased_overlap
from tests.thoroughness import all_cases

RANKINGS = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)


def in_the_limit(old, new, p):
    """(1 - p) sum of p^(d-1) A_d over 3,000 depths, with agreements extrapolated as the paper says.

    Beyond the shorter ranking its share of hits goes on, beyond the longer one the agreement.
    """
    short, long = sorted((old, new), key=len)
    s, n = len(short), len(long)
    agreement, total = 0.0, 0.0
    at_s = len({*short} & {*long[:s]})
    for depth in range(1, 3001):
        if depth <= n:
            hits = len({*short[:depth]} & {*long[:depth]})
            expected = at_s / s * (depth - s) if depth > s else 0.0
            agreement = (hits + expected) / depth
        total += (1 - p) * p ** (depth - 1) * agreement
    return total


@given(RANKINGS.filter(len), RANKINGS.filter(len), st.sampled_from([0.5, 0.8, 0.9, 0.98]))
def test_the_limit(old, new, p):
    """The closed form is the weighted sum of extrapolated agreements at all depths."""
    value = rank_biased_overlap(old, new, p)
    assert value == pytest.approx(in_the_limit(old, new, p), abs=1e-9)
    assert value == pytest.approx(rank_biased_overlap(new, old, p), abs=1e-12)
    assert -1e-12 <= value <= 1 + 1e-12


@all_cases(
    ("old", "new", "p", "value"),
    [
        ("abcde", "abdce", 0.9, 0.973),
        ("abcdefghij", "bacedfhgji", 0.9, 0.8694000167142857),
        ("abc", "xaby", 0.9, 0.585),
        ("abcdefg", "gfe", 0.98, 0.3893623459413333),
        ("ab", "cdab", 0.5, 0.10416666666666666),
    ],
)
def test_a_peer(old, new, p, value):
    """The package rbo 0.1.3 gives these (``RankingSimilarity(old, new).rbo_ext(p)``)."""
    assert rank_biased_overlap(old, new, p) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "value"), [("", "", 1.0), ("", "a", 0.0), ("a", "a", 1.0), ("ab", "ba", 0.9)]
)
def test_by_hand(old, new, value):
    """Two empty rankings are equal, one that is empty has nothing in common; .1 x .9 + .81 = .9."""
    assert rank_biased_overlap(old, new) == pytest.approx(value)


def test_jaccard():
    """Shared over all that stand in either, repeats once; 1 for two empty lists."""
    assert jaccard("aab", "abb") == 1.0
    assert jaccard("abc", "bcd") == 0.5
    assert (jaccard("", ""), jaccard("", "a")) == (1.0, 0.0)
