"""What n questions are evidence for: bounds that `surely` passes by, and the least p."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from kragx.comparison.statistics import (
    enough,
    least_p,
    mean_intervals,
    sign_flip_p,
    sure_bounds,
    unseen,
)
from kragx.metrics.intervals import exact_limits, wilson_interval
from tests.thoroughness import all_cases, examples


def test_what_may_be_unseen_by_hand():
    """Exact, 1 - .025^(1/n), of few questions; Wilson's 3.84 / (n + 3.84) of many; all of none."""
    assert unseen(0) == 1
    assert unseen(1) == pytest.approx(0.975)
    assert unseen(2) == pytest.approx(1 - 0.025**0.5)
    assert unseen(200) == pytest.approx(3.8415 / 203.8415, abs=1e-6)
    assert unseen(73) < 0.05 < unseen(72)


@examples(100)
@given(st.floats(0.005, 1.0), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_enough_is_the_least_number(share: float, confidence: float):
    """Against counting up one by one; no number of questions leaves nothing unseen."""
    n = next(n for n in range(10_000) if unseen(n, confidence) <= share)
    assert enough(share, confidence) == n
    assert enough(0.0, confidence) is None


def test_enough_of_what_gates_ask_for():
    """73 hits of 73 for .95, 381 for .99, 189 equal answers for no worse by .02."""
    assert [enough(share) for share in (0.05, 0.01, 0.02)] == [73, 381, 189]


@examples(60)
@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_limits_are_those_of_scipy(counts: tuple[int, int]):
    """Against scipy.stats.binomtest."""
    expected = stats.binomtest(*counts).proportion_ci(method="exact")
    assert exact_limits(*counts) == pytest.approx((expected.low, expected.high), abs=1e-9)


def of_hits(n: int) -> np.ndarray:
    """(n + 1) the sure lower bound of 0, 1, ..., n hits of n."""
    values = (np.arange(n)[:, None] < np.arange(n + 1)).astype(float)
    ends = np.array([wilson_interval(hits / n, n) for hits in range(n + 1)]).T
    return sure_bounds(values, ends, np.zeros(n + 1), np.ones(n + 1))[0]


def chance(passing: np.ndarray, truth: float) -> float:
    """How often hits that pass come up, exactly."""
    n = len(passing) - 1
    return float(stats.binom.pmf(np.arange(n + 1), n, truth)[passing].sum())


@pytest.mark.integration
def test_surely_at_least_of_hits_at_every_n():
    """Enumerated: .90 passes for .95 in 5 % at most, what is at the bound itself in 2.5 %.

    And it can be passed: by all hits from 73 on, and of 200 by a true .99 in 80 % at least.
    """
    for n in range(2, 201):
        low = of_hits(n)
        assert chance(low >= 0.95, 0.90) <= 0.05
        assert (low[-1] >= 0.95) == (n >= 73)
        for bound in (0.05, 0.3, 0.5, 0.8, 0.95):
            assert chance(low >= bound, bound) <= 0.025 + 1e-9
    assert chance(of_hits(200) >= 0.95, 0.99) >= 0.8


def passes(values: np.ndarray, least: float, bound: float) -> float:
    """The share of (n, sets) columns of values up to 1 that pass `surely >= bound`."""

    def passing(columns: np.ndarray, ends: np.ndarray) -> np.ndarray:
        sets = columns.shape[1]
        low = sure_bounds(columns, ends, np.full(sets, least), np.ones(sets))[0]
        return low >= bound - 1e-12

    # An interval only makes it harder: those that fail without one need none.
    columns = values[:, passing(values, np.full((2, values.shape[1]), np.nan))]
    ranges = [(0.0, 1.0) if least == 0 else None] * columns.shape[1]
    ends = mean_intervals(columns, ranges, count=400)
    return float(passing(columns, ends).sum()) / values.shape[1]


def outcomes(rng: np.random.Generator, n: int, sets: int, chances: dict[float, float]):
    """(n, sets) values with these chances, 0 else."""
    values, p = [0.0, *chances], [1 - sum(chances.values()), *chances.values()]
    return rng.choice(values, p=p, size=(n, sets))


LOSING = [{-1.0: 0.1}, {-1.0: 0.15, 1.0: 0.05}, {-1.0: 0.2, 1.0: 0.1}, {-1.0: 0.5, 1.0: 0.4}]


@pytest.mark.parametrize("losing", LOSING, ids=str)
def test_losing_is_not_surely_no_worse(losing: dict[float, float]):
    """Losing 10 % of the questions, net, passes `surely no worse by 0.02` in 5 % at most."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 10, 20, 60, 200):
        assert passes(outcomes(rng, n, 400, losing), -1.0, -0.02) <= 0.05


@pytest.mark.integration
@pytest.mark.parametrize("losing", LOSING, ids=str)
def test_losing_is_not_surely_no_worse_at_every_n(losing: dict[float, float]):
    """The same at every n from 2 to 200."""
    rng = np.random.default_rng(1)
    for n in range(2, 201):
        assert passes(outcomes(rng, n, 400, losing), -1.0, -0.02) <= 0.05


AT_THE_LIMIT = [
    {-1.0: 0.02},
    {-1.0: 0.05, 1.0: 0.03},
    {-1.0: 0.12, 1.0: 0.1},
    {-1.0: 0.26, 1.0: 0.24},
    {-0.5: 0.2, 0.5: 0.16},
    {-0.5: 0.06, 0.5: 0.02},
]


@pytest.mark.integration
@pytest.mark.parametrize("losing", AT_THE_LIMIT, ids=str)
def test_what_is_worse_by_just_the_margin(losing: dict[float, float]):
    """A true -0.02 itself, where 2.5 % is aimed at, passes in 4 % at most."""
    rng = np.random.default_rng(4)
    for n in (5, 20, 60, 100, 150, 200, 300):
        assert passes(outcomes(rng, n, 1500, losing), -1.0, -0.02) <= 0.04


RANKS = {"good": {1.0: 0.85, 0.5: 0.1}, "hard": {1.0: 0.1, 0.5: 0.05, 1 / 3: 0.05}}


@pytest.mark.integration
@pytest.mark.parametrize("chances", RANKS.values(), ids=RANKS.keys())
def test_reciprocal_ranks_at_the_bound(chances: dict[float, float]):
    """Not hits and misses alone: a true mean at the bound itself passes in 5 % at most."""
    rng = np.random.default_rng(2)
    mean = sum(value * chance for value, chance in chances.items())
    for n in (*range(2, 20), 25, 30, 40, 60, 73, 80, 100, 150, 200):
        assert passes(outcomes(rng, n, 800, chances), 0.0, mean) <= 0.05


@pytest.mark.integration
def test_a_rare_catastrophe_is_reckoned_with():
    """Values that hardly vary but for a tenth that is all but lost: a true .90 is not .95."""
    rng = np.random.default_rng(3)
    for n in (2, 5, 10, 20, 40, 73, 200):
        near = 1 - rng.random((n, 500)) / 50
        values = np.where(rng.random((n, 500)) < 0.1, 0.1, near)
        assert passes(values, 0.0, 0.95) <= 0.05


def test_bounds_are_no_nearer_than_the_interval():
    """What varies keeps its interval where that is the more cautious; what is missing is none."""
    values = np.array([[0.2, 1.0], [0.9, np.nan], [0.4, 1.0], [0.7, 1.0]])
    ends = np.array([[0.05, np.nan], [1.0, np.nan]])
    low, high = sure_bounds(values, ends, np.zeros(2), np.ones(2))
    assert low.tolist() == pytest.approx([0.05, 1 - unseen(3)])
    assert high.tolist() == pytest.approx([1.0, 1.0])
    nothing = sure_bounds(values[:0], ends, np.zeros(2), np.ones(2))
    assert nothing[0].tolist() == [0.05, pytest.approx(np.nan, nan_ok=True)]


def test_gains_and_losses_by_themselves():
    """By hand: losses alone are a share of their own; with gains both distances add up squared."""
    values = np.zeros((300, 2))
    values[:2] = -1.0
    values[2:7, 1] = 1.0
    ends = np.array([[-0.01, -0.001], [0.0, 0.02]])  # too near: what is sure lies further out
    low, high = sure_bounds(values, ends, np.full(2, -1.0), np.ones(2))
    losses, gains = wilson_interval(2 / 300, 300), wilson_interval(5 / 300, 300)
    assert low[0] == pytest.approx(min(-losses[1], -2 / 300 - unseen(300) * (1 - 2 / 300)))
    up, down = 5 / 300, 2 / 300
    phi = -np.sqrt(up * down / ((1 - up) * (1 - down)))
    below, above = up - gains[0], losses[1] - down
    by_hand = up - down - np.sqrt(below**2 + above**2 - 2 * phi * below * above)
    assert low[1] == pytest.approx(by_hand)
    below, above = down - losses[0], gains[1] - up
    by_hand = up - down + np.sqrt(below**2 + above**2 - 2 * phi * below * above)
    assert high[1] == pytest.approx(by_hand)


def test_without_a_greatest_value_the_interval_decides():
    """Seconds have no greatest value, and K-RAG's MAP may lie above its own."""
    values = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 1.5]])
    ends = np.array([[np.nan, 1.1], [np.nan, 1.9]])
    low, high = sure_bounds(values, ends, np.zeros(2), np.array([np.inf, 1.0]))
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[1]) == (1.1, 1.9)


@all_cases("n", [1, 2, 5, 6, 13, 14, 40])
def test_the_least_p_is_reached_by_one_sided_differences(n: int):
    """Where all questions differ, and one way, the test's p is the least that there is."""
    p = sign_flip_p(np.linspace(0.5, 1.0, n)[:, None])[0]
    assert p >= least_p(n)
    assert n >= 14 or p == least_p(n)
    assert least_p(0) == 1
