"""Intervals of means in a range: worked examples, scipy's numbers, a slow reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from kragx.errors import UsageError
from kragx.metrics.intervals import mean_intervals, student_t, wilson_interval
from tests.thoroughness import examples


def test_by_hand():
    """Of n hits of n the low end is n / (n + z^2), from 73 on above .95; two of two say little."""
    assert wilson_interval(1, 72) == pytest.approx((72 / 75.84146, 1), abs=1e-6)
    assert wilson_interval(1, 73)[0] > 0.95 > wilson_interval(1, 72)[0]
    assert wilson_interval(1, 2)[0] == pytest.approx(0.3424, abs=1e-4)
    assert wilson_interval(0, 2)[1] == pytest.approx(0.6576, abs=1e-4)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_equals_scipy(hits):
    """The ends are those of scipy's binomial test, method Wilson."""
    theirs = stats.binomtest(*hits).proportion_ci(0.9, "wilson")
    ours = wilson_interval(hits[0] / hits[1], hits[1], 0.9)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("share", "n"), [(1.1, 5), (-0.1, 5), (0.5, 0)])
def test_no_share(share, n):
    """What is no share of trials is refused."""
    with pytest.raises(UsageError, match="no share"):
        wilson_interval(share, n)


def test_zeros_and_ones_have_wilsons_own():
    """Whatever the metric, also where all are the least or the greatest value there is."""
    x = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 5.0], [1.0, 0.0, 5.0], [1.0, np.nan, 5.0]])
    ends = mean_intervals(x, [(0, 1), (0, 1), (0, 5)])
    assert ends[:, 0] == pytest.approx(wilson_interval(1, 4))
    assert ends[:, 1] == pytest.approx(wilson_interval(0, 3))
    assert ends[:, 2] == pytest.approx([5 * end for end in wilson_interval(0.75, 4)])


def test_a_mean_by_hand():
    """Values 0, .5, .5, 1 of n = 4: v is 1/6, m (1 - m) is 1/4, and 3 are above 0 and 3 below 1.

    So they are worth (4 / 4 + 1/3) / (4 / 6 + 1/3) = 4/3 as many: 16/3 trials with half of them
    hits, and t of 3 degrees is 3.1824.
    """
    low, high = mean_intervals(np.array([[0], [0.5], [0.5], [1.0]]), [(0, 1)])[:, 0]
    wider = 3.182446**2 / (16 / 3)
    margin = (wider / 4 + wider**2 / 4) ** 0.5 / (1 + wider)
    assert (low, high) == pytest.approx((0.5 - margin, 0.5 + margin), abs=1e-6)


def slow(values, low, high):
    """The same with loops, and the ends as roots of the score equation."""
    x = [(value - low) / (high - low) for value in values if not np.isnan(value)]
    n = len(x)
    if n < 3 or (max(x) - min(x) < 1e-9 and not set(x) <= {0, 1}):
        return None
    mean = sum(x) / n
    trials, reach = n, stats.norm.ppf(0.975)
    if not set(x) <= {0, 1}:
        seldom = 1 / min(sum(own > 0 for own in x), sum(own < 1 for own in x))
        v = sum((own - mean) ** 2 for own in x) / (n - 1)
        trials = n * (n * mean * (1 - mean) + seldom) / (n * v + seldom)
        reach = student_t(0.975, n - 1)
    # (m - p)^2 = reach^2 p (1 - p) / trials
    a = reach**2 / trials
    ends = sorted(np.roots([1 + a, -(2 * mean + a), mean**2]).real)
    if not set(x) <= {0, 1}:
        below, above = (unseen(sorted(x, reverse=up)) for up in (False, True))
        ends[0] = min(ends[0], mean * n / (n + below))
        above /= sum(own == max(x) for own in x)
        ends[1] = max(ends[1], (mean * n + above) / (n + above))
    return [low + (high - low) * min(1, max(0, end)) for end in ends]


def unseen(x):
    """How many questions more the others than the first leave possible."""
    n, others = len(x), x[1:]
    mean = sum(others) / (n - 1)
    if mean in (0, 1):
        return 0
    variance = sum((own - mean) ** 2 for own in others) / (n - 2)
    return -np.log(0.05) * max(0, 1 - 160 * variance / (n * mean * (1 - mean)))


VALUES = [0.0, 0.0, 1.0, 1.0, 0.5, 1 / 3, 0.1, np.nan]
COLUMN = st.one_of(
    st.lists(st.sampled_from(own), max_size=12)
    for own in (VALUES, [0.9, 0.95, 0.97, 1.0], [0.0, 0.1, 0.02, 0.05, 0.5])
)


@examples(200)
@given(COLUMN, st.sampled_from([(0.0, 1.0), (0.0, 2.0), (-1.0, 1.0)]))
def test_equals_the_slow_reference(values, bounds):
    """Any values with holes, in any range, have the ends that the loops find, or none."""
    x = np.array([values, [np.nan] * len(values)]).T.reshape(len(values), 2)
    found, empty = mean_intervals(x, [bounds] * 2, count=100).T
    expected = slow(values, *bounds)
    assert np.isnan(empty).all()
    if expected is None:
        assert np.isnan(found).all()
    else:
        assert found == pytest.approx(expected, abs=1e-6)


def test_what_forty_nearly_alike_did_not_show_by_hand():
    """.94, .95 and .96, ten, twenty and ten times: the others than the first of them have v .00005.

    m (1 - m) is .0473, so that 2.9957 x (1 - 160 x .00005 / .0473 / 40) = 2.983 questions more may
    have found nothing, and the low end is .95 of 40 / 42.983; of ten that share .96 a tenth of as
    many may have found all, which moves the upper end less than the width does.
    """
    x = np.array([[0.94] * 10 + [0.95] * 20 + [0.96] * 10]).T
    low, high = mean_intervals(x, [(0, 1)])[:, 0]
    assert low == pytest.approx(0.95 * 40 / 42.983, abs=1e-5)
    assert high == pytest.approx(0.9576, abs=1e-4)


def test_a_greatest_value_that_many_share_is_the_greatest_there_is():
    """Precision@10 of one gold item, .1 or 0: nothing above .1 is reckoned with, of density it is.

    Nothing found is possible of any question, so downwards the number that share it is nothing.
    """
    shared = np.array([0.1] * 35 + [0.0] * 15)
    spread = np.linspace(0, 0.1, 50)
    precision, density, recall = mean_intervals(
        np.stack([shared, spread, 1 - shared], axis=1), [(0, 1)] * 3
    ).T
    assert precision[1] < 0.09
    assert density[1] > 0.09
    assert recall[0] < 0.90


def test_a_range_that_is_left_is_none():
    """Values above their range, as K-RAG's MAP has them, are resampled like those without one."""
    x = np.array([[0.0, 0.0], [0.5, 0.5], [3.0, 3.0], [1.0, 1.0]])
    left, without = mean_intervals(x, [(0, 1), None], count=500).T
    assert left.tolist() == without.tolist()
