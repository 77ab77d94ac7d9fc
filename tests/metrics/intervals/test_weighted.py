"""Intervals of weighted means: by hand, against Kish and Hajek, and simulated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kragx.data.weights import unequal
from kragx.metrics import Floats
from kragx.metrics.intervals import (
    Ratio,
    exact_limits,
    mean_intervals,
    percentile_intervals,
    score_intervals,
    with_exact_limits,
)
from kragx.metrics.weights import effective_n, mean_and_variance


def test_a_variance_by_hand() -> None:
    """Weights 3 and 1 of a hit and a miss: mean 3/4, (9/16 1/16 + 1/16 9/16) times 2."""
    mean, variance = mean_and_variance(np.array([[1.0], [0.0]]), np.array([3.0, 1.0]))
    assert (mean[0], variance[0]) == pytest.approx((0.75, 2 * 18 / 256))


def test_a_variance_is_what_samples_vary_by() -> None:
    """Hajek's variance is, on average, that of the weighted means of many samples."""
    rng = np.random.default_rng(3)
    weights = rng.geometric(0.4, (4_000, 100)).astype(np.float64)
    values = (rng.random(weights.shape) < 1 - 0.5 / weights).astype(np.float64)
    pairs = [mean_and_variance(v[:, None], w) for v, w in zip(values, weights)]
    means, variances = (np.array([pair[side][0] for pair in pairs]) for side in (0, 1))
    assert variances.mean() == pytest.approx(means.var(), rel=0.08)


def test_exact_limits_have_kishs_number() -> None:
    """No leak of weighted questions says less than no leak of as many alike."""
    weights, values = np.array([1.0, 2.0, 3.0, 10.0] * 50), np.zeros((200, 1))
    nothing = np.zeros((2, 1))
    limits = with_exact_limits(nothing, values, ["exact"], np.zeros(1), nothing, weights=weights)
    n = effective_n(weights, np.ones(200, bool))
    assert n == pytest.approx(200 * 16**2 / 4 / 114)
    assert limits[:, 0].tolist() == pytest.approx(exact_limits(0, n))
    assert limits[1, 0] == pytest.approx(1 - 0.025 ** (1 / n))
    # One of weight 10 more that is not known: at worst it leaks.
    open_ = with_exact_limits(
        nothing,
        np.vstack([values, [[np.nan]]]),
        ["exact"],
        np.ones(1),
        np.array([[0.0], [10 / 810]]),
        weights=np.append(weights, 10.0),
    )
    assert open_[1, 0] > exact_limits(1, n)[1]


def test_who_weighs_nothing_says_nothing() -> None:
    """Questions of weight 0 change no interval, whatever their values."""
    rng = np.random.default_rng(5)
    values, weights = rng.random((40, 2)).round(1), rng.random(40) + 0.5
    values[:, 1] = values[:, 1] > 0.5
    beside = np.vstack([values, [[1.0, 1.0]] * 9]), np.append(weights, np.zeros(9))
    for ranges in ([(0.0, 1.0), (0.0, 1.0)], [None, None]):
        alone = mean_intervals(values, ranges, weights=weights)
        assert mean_intervals(beside[0], ranges, weights=beside[1]) == pytest.approx(
            alone, abs=0.01
        )
    ratio = Ratio(values[:, 0], values[:, 1] + 1, weights)
    more = Ratio(beside[0][:, 0], beside[0][:, 1] + 1, beside[1])
    assert more.value == ratio.value
    assert more.interval() == ratio.interval()


def test_nearly_equal_weights_are_nearly_none() -> None:
    """An interval by weights that hardly differ is nearly the one without."""
    rng = np.random.default_rng(6)
    values = np.stack([rng.random(300) < 0.8, rng.random(300).round(1)], axis=1).astype(float)
    weights = 1 + rng.random(300) / 1_000
    ends = score_intervals(values, np.zeros(2), np.ones(2), weights=weights)
    assert ends == pytest.approx(score_intervals(values, np.zeros(2), np.ones(2)), abs=0.002)


# -- simulated: traffic whose weights go with the values, or do not --------------------------------

WEIGHTS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "asks": lambda rng, n: rng.geometric(0.4, n).astype(np.float64),
    "chances": lambda rng, n: np.where(rng.random(n) < 0.3, 1.0, 5.0),
    "skewed": lambda rng, n: np.exp(rng.normal(0, 1, n)),
}


def _hits(rng: np.random.Generator, rank: Floats, share: float, slope: float) -> Floats:
    odds = np.log(share / (1 - share)) + slope * 4 * (rank - 0.5)
    return (rng.random(len(rank)) < 1 / (1 + np.exp(-odds))).astype(np.float64)


def _precision(rng: np.random.Generator, rank: Floats, share: float, slope: float) -> Floats:
    chance = np.clip(share + slope * 0.5 * (rank - 0.5), 0.02, 0.98)
    return rng.binomial(5, chance) / 5


def _reciprocal(rng: np.random.Generator, rank: Floats, share: float, slope: float) -> Floats:
    first = rng.geometric(np.clip(share + slope * 0.5 * (rank - 0.5), 0.05, 0.95))
    return np.where(first <= 10, 1 / first, 0.0)


VALUES = {"hits": _hits, "precision": _precision, "reciprocal": _reciprocal}


def coverage(kind: str, weighing: str, share: float, slope: float, n: int, times: int) -> float:
    """How often the interval of n questions holds the weighted mean of 200,000."""
    rng = np.random.default_rng(11)
    weights = WEIGHTS[weighing](rng, 200_000)
    rank = (np.argsort(np.argsort(weights + rng.random(len(weights)) / 1e6)) + 0.5) / len(weights)
    values = VALUES[kind](rng, rank, share, slope)
    truth = float((weights * values).sum() / weights.sum())
    n_covered = 0
    for _ in range(times):
        drawn = rng.integers(0, len(values), n)
        sample, zero, one = values[drawn][:, None], np.zeros(1), np.ones(1)
        low, high = score_intervals(sample, zero, one, weights=weights[drawn])[:, 0]
        n_covered += low <= truth <= high
    return n_covered / times


@pytest.mark.integration
@pytest.mark.parametrize("slope", [-1, 0, 1])
@pytest.mark.parametrize("weighing", WEIGHTS)
@pytest.mark.parametrize("n", [20, 100, 400])
def test_hits_are_covered(n: int, weighing: str, slope: int) -> None:
    """Intervals of weighted hits hold the truth in .92 to .985, also where weights go with hits.

    Two deviations of 1,000 draws are allowed for.
    """
    for share in (0.5, 0.9):
        share_covered = coverage("hits", weighing, share, slope, n, 1_000)
        assert 0.92 - 0.015 <= share_covered <= 0.985 + 0.006, (share, share_covered)


@pytest.mark.integration
@pytest.mark.parametrize("slope", [-1, 0, 1])
@pytest.mark.parametrize("weighing", WEIGHTS)
@pytest.mark.parametrize("kind", ["precision", "reciprocal"])
def test_other_values_are_covered(kind: str, weighing: str, slope: int) -> None:
    """Those of other weighted values hold it in 93 to 97 %, from 60 questions on."""
    for n in (60, 300):
        share_covered = coverage(kind, weighing, 0.5, slope, n, 1_000)
        assert 0.93 - 0.015 <= share_covered <= 0.97 + 0.01, (n, share_covered)


def test_one_question_that_has_nearly_all_weight_gives_no_interval() -> None:
    """Sixty questions of which one is asked a thousand times as often are as sure as one."""
    values = np.random.default_rng(0).normal(size=(60, 1))
    weights = np.append(np.ones(59), 60_000.0)
    assert np.isnan(percentile_intervals(values, weights=weights)).all()
    weights[-1] = 3.0
    assert np.isfinite(percentile_intervals(values, weights=weights)).all()


def test_weights_that_differ_in_their_last_digits_are_none() -> None:
    """Drawn in proportion to its asks, each question stands for as many: by some ulps."""
    asks = np.arange(1.0, 80.0)
    weights = asks / (asks * 0.013)
    assert np.ptp(weights) > 0
    assert unequal(weights, "gold") is None
    assert unequal(np.array([1.0, 1.001]), "gold") is not None
