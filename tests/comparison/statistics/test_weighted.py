"""Statistics of questions that stand for unlike many asks: by hand, enumerated, beside numpy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.comparison import Settings
from kragx.comparison.aligned import Aligned, Column
from kragx.comparison.pair_tests import PairTests
from kragx.comparison.statistics import (
    behind_best,
    difference_interval,
    effect_sizes,
    queries_needed,
    sign_flip_p,
    sure_bounds,
    worse_parts,
)
from kragx.comparison.statistics.evidence import linearised, of_rows, signed, weighted_means
from kragx.metrics.intervals import exact_limits
from tests.comparison.traffic import CHANGES, TRAFFIC, drawn_traffic, held

WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 20.0]), min_size=1, max_size=9)
DIFFERENCES = st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 0.5, 1.0])


def test_by_hand():
    """1 asked three times and 0 asked once have a mean of .75, and lie 3/2 and 1/2 weights off."""
    values, weights = np.array([[1.0], [0.0]]), np.array([3.0, 1.0])
    assert weighted_means(values, weights).tolist() == [0.75]
    assert linearised(values, weights)[:, 0].tolist() == [0.75 + 1.5 * 0.25, 0.75 - 0.5 * 0.75]


@given(WEIGHTS.filter(any), st.data())
def test_linearised_values_have_the_error_of_the_ratio(weights, data):
    """Their plain mean is the weighted one, and their squares those of Hajek's standard error."""
    values = np.array(
        data.draw(st.lists(DIFFERENCES, min_size=len(weights), max_size=len(weights)))
    )
    w = np.array(weights)
    mean = sum(a * b for a, b in zip(weights, values)) / sum(weights)
    line = linearised(values[:, None], w)[:, 0]
    assert line.mean() == pytest.approx(mean)
    error = sum((a * (b - mean)) ** 2 for a, b in zip(weights, values)) / sum(weights) ** 2
    assert ((line - mean) ** 2).sum() / len(w) ** 2 == pytest.approx(error, abs=1e-12)


def test_alike_weights_are_none():
    """Where some questions weigh alike there are no weights, and so every number is as without."""
    weights = np.array([2.0, 2.0, 5.0, 2.0])
    assert of_rows(weights, np.array([0, 1, 3])) is None
    assert of_rows(weights, np.array([1, 2])).tolist() == [2.0, 5.0]
    column = np.array([1.0, 2.0])
    assert [*signed([column], None)] == [column]


@given(WEIGHTS, st.data())
def test_signs_of_weighted_differences_are_flipped(weights, data):
    """The p equals the share of all sign patterns whose weighted sum is as far from 0."""
    row = st.lists(DIFFERENCES, min_size=len(weights), max_size=len(weights))
    terms = [a * b for a, b in zip(weights, data.draw(row))]
    sums = [
        sum(sign * term for sign, term in zip(signs, terms))
        for signs in itertools.product((1, -1), repeat=len(terms))
    ]
    differences = np.array([a / b if b else 0.0 for a, b in zip(terms, weights)])
    (column,) = signed([differences], np.array(weights))
    expected = np.mean([abs(each) >= abs(sum(terms)) - 1e-9 for each in sums])
    assert sign_flip_p(column[:, None])[0] == pytest.approx(expected)


def test_effect_sizes_beside_numpy():
    """The deviation is numpy's of reliability weights, `np.cov(..., aweights=...)`."""
    rng = np.random.default_rng(1)
    x, weights = rng.normal(0.2, 1, (40, 3)), rng.integers(1, 9, 40).astype(float)
    x[:5, 1] = np.nan
    for column, size in zip(x.T, effect_sizes(x, weights)):
        known = ~np.isnan(column)
        mean = np.average(column[known], weights=weights[known])
        variance = np.cov(column[known], aweights=weights[known])
        assert size == pytest.approx(mean / variance**0.5)
    assert np.isnan(effect_sizes(np.full((4, 1), 0.1), weights[:4])).all()
    assert np.isnan(effect_sizes(np.array([[1.0], [2.0]]), np.array([1.0, 0.0]))).all()


def test_queries_needed_are_questions():
    """Of questions of which two are as sure as one that weighs alike it takes twice as many."""
    assert queries_needed(0.5, 1.96, weigh=2.0) == 63 == -(-31.4 * 2 // 1)


def test_sure_bounds_count_effective_questions():
    """300 questions without a hit, half of them asked three times, are as sure as 240 are."""
    weights, values = np.repeat([1.0, 3.0], 150), np.zeros((300, 1))
    bounds = sure_bounds(values, np.full((2, 1), np.nan), np.zeros(1), np.ones(1), weights=weights)
    assert bounds[0, 0] == 0
    assert bounds[1, 0] == pytest.approx(max(exact_limits(0, 240)[1], 3.8415 / 243.8415), abs=1e-5)


def test_what_nobody_asks_is_no_evidence():
    """Bounds are those without the questions of weight 0, whatever these say."""
    values, weights = np.repeat([1.0, 0.0, 0.25], 10)[:, None], np.repeat([1.0, 3.0, 0.0], 10)
    ends = np.full((2, 1), np.nan)
    every = sure_bounds(values, ends, np.zeros(1), np.ones(1), weights=weights)
    asked = sure_bounds(values[:20], ends, np.zeros(1), np.ones(1), weights=weights[:20])
    assert every == pytest.approx(asked)


def test_a_part_is_worse_by_its_asks():
    """A part whose frequent questions miss is worse, though as many of its questions hit."""
    values = np.tile([1.0, 0.0], 40)
    weights = np.ones(80)
    weights[1:40:2] = 25.0  # what the first half misses is asked often
    parts = [np.arange(40), np.arange(40, 80)]
    plain, _ = worse_parts(values, parts, 1_000)
    weighted, _ = worse_parts(values, parts, 1_000, weights=weights)
    assert plain.p[0] == 1.0
    assert weighted.p[0] < 0.02
    assert weighted.p[1] == 1.0


def test_the_best_by_asks():
    """Who wins where it is asked often is behind nobody, and its rival is behind it."""
    first = np.where(np.arange(60) % 3 == 0, 1.0, 0.0)
    values, weights = np.stack([first, 1 - first], axis=1), np.where(first > 0, 30.0, 1.0)
    plain, weighted = behind_best(values), behind_best(values, weights=weights)
    assert plain[0] < 0.05 < plain[1]
    assert weighted[0] == 1.0
    assert weighted[1] < 0.05


def test_a_difference_of_percentiles_by_asks():
    """What is slow where it is asked often is slow, whatever most questions say."""
    slow = np.where(np.arange(200) % 4 == 0, 2.0, 1.0) + np.arange(200) / 1e4
    pairs, weights = np.stack([slow, np.full(200, 1.5)], axis=1), np.ones(200)
    weights[::4] = 50.0

    def median(values, weights=None):
        order = np.argsort(values)
        shares = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
        return float(values[order][np.searchsorted(shares, shares[-1] / 2)])

    assert difference_interval(pairs, median)[1] < 0
    assert difference_interval(pairs, median, weights=weights)[0] > 0


@pytest.mark.integration
@pytest.mark.parametrize("traffic", TRAFFIC)
def test_differences_hold_the_truth(traffic):
    """93 to 97 % hold the weighted difference; where a few heavy questions decide, 90 to 98 %."""
    for change in CHANGES:
        for n in (60, 150):
            least, most = (0.93, 0.975) if traffic == "strata" or n > 60 else (0.92, 0.985)
            if traffic == "zipf":
                least, most = 0.90, 0.98
            assert least <= held(traffic, change, n, 1_000) <= most, (change, n)


@pytest.mark.integration
@pytest.mark.parametrize("change", CHANGES)
def test_weighted_verdicts_hold_the_level(change):
    """Without a difference over all asks at most some 5 % of families have a verdict.

    What is frequent may gain what is rare loses, so weights go with the values; three metrics hang
    together, as those of one list do.
    """
    queries = tuple(f"q{row}" for row in range(150))
    metrics, n_families = ("m0", "m1", "m2"), 400
    asks, differences, _ = drawn_traffic("log-normal", change, 150, n_families, balanced=True)
    rng = np.random.default_rng(3)
    n_certain = {"first": 0, "all else": 0}
    for number in range(n_families):
        # The others go with the first in most questions, and against it in some.
        signs = np.where(rng.random((2, 150)) < [[0.2], [0.4]], -1.0, 1.0)
        values = differences[number], *(differences[number] * signs)
        columns = {(metric, "old"): np.zeros(150) for metric in metrics}
        columns |= {(metric, "new"): x for metric, x in zip(metrics, values)}
        table = Aligned(
            queries,
            ("old", "new"),
            metrics,
            {key: Column(values) for key, values in columns.items()},
            frozenset(metrics),
            dict.fromkeys(metrics, "higher"),
            "old",
            Settings(resamples=499),
            weights=asks[number],
        )
        tests = PairTests(table, table.means())
        first, *others = tests.view(tests.families).differences
        n_certain["first"] += first.decided
        n_certain["all else"] += any(difference.decided for difference in others)
    assert max(n_certain.values()) / n_families <= 0.06, n_certain
