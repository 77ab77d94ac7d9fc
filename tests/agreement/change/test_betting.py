"""Intervals of totals that hold at any stop."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.agreement.change.betting import Drawn, needed
from tests.thoroughness import all_cases

sizes = st.lists(st.floats(0.1, 5), min_size=1, max_size=6)


@st.composite
def terms(draw):
    """Terms in some order, each known or not, and the most that each can be."""
    most = np.array(draw(sizes))
    shares = [sorted(draw(st.tuples(*[st.floats(-1, 1)] * 2))) for _ in most]
    low, high = (np.array(shares) * most[:, None]).T
    return Drawn(low, high, most)


@all_cases("shares", list(product([-0.75, 0.0, 1.0], repeat=3)))
def test_who_bets_on_a_true_total_keeps_what_they_have_on_average(shares):
    """Over all orders with their chances the mean capital is 1 after each draw: a fair game."""
    most = np.array([1.0, 2.0, 0.5])
    values = np.array(shares) * most
    means = np.zeros(3)
    for order in map(list, permutations(range(3))):
        left = np.cumsum(most[order][::-1])[::-1]
        drawn = Drawn(values[order], values[order], most[order])
        means += np.prod(most[order] / left) * np.exp(drawn.capital(values.sum()))
    assert means == pytest.approx(np.ones(3))


@given(terms(), st.floats(-3, 3), st.floats(0, 1))
def test_what_is_not_known_only_takes_from_the_capital(drawn, total, share):
    """Whoever does not know a term bets no better than who does, and a larger total refutes less.

    So the guarantee of known terms holds for those that are put off, too.
    """
    total = min(max(total, drawn.low.sum()), drawn.high.sum())
    known = drawn.low + share * (drawn.high - drawn.low)
    assert (drawn.capital(total) <= Drawn(known, known, drawn.most).capital(total) + 1e-9).all()
    assert drawn.evidence(total) <= drawn.evidence(drawn.low.sum()) + 1e-9


@given(terms())
def test_the_interval_is_within_what_can_be_and_is_the_total_in_the_end(drawn):
    """It never says less than plain sums of the bounds do, and of known terms it is their sum."""
    low, high = drawn.interval()
    assert drawn.low.sum() - 1e-9 <= low <= high + 1e-9 <= drawn.high.sum() + 2e-9
    known = Drawn(drawn.low, drawn.low, drawn.most)
    assert known.interval() == pytest.approx((known.low.sum(), known.low.sum()), abs=1e-9)


@given(terms(), st.floats(0.5, 0.99))
def test_the_interval_is_what_the_evidence_does_not_refute(drawn, confidence):
    """The slow way: of a grid of totals those within are not refuted, and those without are."""
    low, high = drawn.interval(confidence)
    for total in np.linspace(drawn.low.sum(), drawn.high.sum(), 9):
        if low + 1e-6 < total < high - 1e-6:
            assert drawn.evidence(total) < needed(confidence)
            assert drawn.mirrored().evidence(-total) < needed(confidence)
        elif total < low - 1e-6:
            assert drawn.evidence(total) >= needed(confidence)


def test_the_capital_by_hand():
    """Two terms of at most 1, the first +1: a share c on more than 0 makes 1 + c of 1."""
    drawn = Drawn(np.array([1.0, -1.0]), np.array([1.0, 1.0]), np.ones(2))
    capital = np.exp(drawn.capital(0.0))
    shares = np.array([0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95])
    assert capital[0] == pytest.approx((1 + shares).mean())
    assert drawn.interval() == pytest.approx((0.0, 2.0))


def test_ten_of_ten_decide_and_terms_that_tie_never_do():
    """Ten of a hundred that are all +1 leave out 0; where all are 0 it stays in to the end."""
    most = np.ones(100)
    low = np.where(np.arange(100) < 10, 1.0, -1.0)
    assert Drawn(low, np.ones(100), most).interval()[0] > 0
    for n in (1, 50, 99):
        unknown = (np.arange(100) >= n).astype(float)
        below, above = Drawn(-unknown, unknown, most).interval()
        assert below < 0 < above


def test_first_above_says_when_the_interval_leaves_a_total_out():
    """The number of draws is the first after which the interval of what is known begins above."""
    rng = np.random.default_rng(0)
    most = rng.uniform(0.5, 2, 40)
    values = most * rng.choice([-1.0, 0, 1], 40, p=[0.1, 0.3, 0.6])
    first = int(Drawn(values, values, most).first_above(0.0))
    for n in (first - 1, first):
        known = np.arange(40) < n
        low, high = np.where(known, values, -most), np.where(known, values, most)
        assert (Drawn(low, high, most).interval()[0] > 0) == (n == first)
