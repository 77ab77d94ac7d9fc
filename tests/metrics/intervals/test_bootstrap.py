"""Intervals of means: what scipy gives, with holes, and to the bit the same on any machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from kragx.errors import UsageError
from kragx.metrics.intervals import (
    expanded,
    percentile_interval,
    percentile_intervals,
    resampled,
    resampled_means,
)

SEED = 5


def values(q, c, seed=0):
    """Values as metrics have them: fractions between 0 and 1, many of them 0 or 1."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.normal(0.5, 0.5, (q, c)), 0, 1).round(3)


def test_equals_scipy_on_the_same_resamples():
    """It is the wider percentile interval of scipy.stats.bootstrap, from the same resamples."""
    x = values(40, 3)
    (drawing,) = np.random.SeedSequence(SEED).spawn(1)
    for column in range(3):
        theirs = stats.bootstrap(
            (x[:, column],),
            np.mean,
            n_resamples=2000,
            method="percentile",
            confidence_level=expanded(0.9, 40),
            rng=np.random.default_rng(drawing),
            vectorized=True,
        ).confidence_interval
        ours = percentile_intervals(x, 0.9, 2000, SEED)[:, column]
        assert ours == pytest.approx([theirs.low, theirs.high], abs=1e-11)


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.floats(-3, 3)), min_size=2, max_size=2),
        min_size=1,
        max_size=8,
    )
)
def test_each_column_over_its_own_queries(rows):
    """Resampled means equal the obvious loop, which leaves undefined queries out."""
    x = np.array(rows, float)
    weights = resampled(np.eye(len(x)), lambda drawn: drawn, 20, SEED)
    ours = resampled_means(x, 20, SEED)
    for drawn, found in zip(weights, ours, strict=True):
        for column in range(2):
            taken = [
                value
                for value, times in zip(x[:, column], drawn, strict=True)
                for _ in range(int(times))
                if not np.isnan(value)
            ]
            if taken:
                assert found[column] == pytest.approx(np.mean(taken), abs=1e-11)
            else:
                assert np.isnan(found[column])


def test_interval_with_holes_is_that_of_the_sampled_means():
    """A column with undefined queries has the percentiles of its own resampled means."""
    x = values(12, 2)
    x[3:, 1] = np.nan
    sampled = resampled_means(x, 500, SEED)
    ends = percentile_intervals(x, 0.95, 500, SEED)
    assert np.isnan(sampled[:, 1]).any()
    for column in range(2):
        assert tuple(ends[:, column]) == percentile_interval(
            sampled[:, column], expanded(0.95, 12 if column == 0 else 3)
        )


def test_same_bits_whatever_order_sums_are_added_in():
    """Sums are exact: the queries' order, which a BLAS may choose for itself, changes no bit."""
    from kragx.metrics.intervals.bootstrap import fixed_point

    rng = np.random.default_rng(1)
    x = rng.random((9973, 1)) / 3
    weights = rng.integers(0, 5, (1, len(x))).astype(float)
    grid, unit = fixed_point(x)
    sums = set()
    floats = set()
    for _ in range(50):
        order = rng.permutation(len(x))
        sums.add(float((weights[:, order] @ grid[order])[0, 0]))
        floats.add(float(sum(weights[0, order] * x[order, 0])))
    assert len(sums) == 1
    assert len(floats) > 1, "plain floating-point sums must differ, or this shows nothing"
    assert sums.pop() * unit[0] == pytest.approx(floats.pop(), rel=1e-9)


def test_two_queries_and_equal_ones_say_nothing_of_their_spread():
    """There is no interval of two values, nor of values that differ in their last digits alone."""
    x = np.array([[0.5, 0.1 + 0.2, 0.25], [0.1, 0.3, 0.75], [np.nan, 0.3, 0.5]])
    ends = percentile_intervals(x, count=200)
    assert np.isnan(ends[:, :2]).all()
    assert ends[:, 2].tolist() == [0.25, 0.75]


def test_arguments_out_of_range():
    """A count of 0 is refused by name."""
    with pytest.raises(UsageError, match="resamples: 0"):
        percentile_intervals(values(5, 1), count=0)


@pytest.mark.integration
def test_of_many_values_it_is_students():
    """Of 10,001 skewed values it is scipy's t interval, and what resamples say but for chance."""
    x = np.random.default_rng(3).lognormal(0, 1, (10_001, 1))
    ends = percentile_intervals(x)[:, 0]
    theirs = stats.ttest_1samp(x[:, 0], 0).confidence_interval(0.95)
    assert ends == pytest.approx(theirs, abs=1e-11)
    drawn = np.quantile(resampled_means(x, 1000, SEED)[:, 0], [0.025, 0.975])
    assert drawn == pytest.approx(ends, abs=0.1 * (ends[1] - ends[0]))
