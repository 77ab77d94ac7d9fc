"""The Poisson bootstrap: its numbers, and its agreement with the bootstrap that draws from all."""

from __future__ import annotations

from math import exp, factorial

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.comparison.statistics import difference_interval, mean_intervals, paired, student_t
from kragx.comparison.statistics.poisson import poisson_counts, poisson_resampled
from tests.thoroughness import examples


def percentile(at):
    """What makes a percentile."""
    return lambda values: float(np.percentile(values, at))


@pytest.fixture
def many(monkeypatch):
    """More than 500 questions are so many."""
    monkeypatch.setattr(paired, "MANY", 500)


def test_the_numbers_are_poisson():
    """Of half a million questions as many stand 0, 1, 2 ... times as should, unrelated."""
    n = 500_000
    drawn = [poisson_counts(np.arange(n, dtype=np.uint64), own) for own in range(2)]
    expected = [exp(-1) / factorial(k) for k in range(6)]
    for own in drawn:
        shares = np.bincount(own, minlength=6)[:6] / n
        assert shares == pytest.approx(expected, abs=4 * (0.25 / n) ** 0.5)
    for one, other in ((drawn[0], drawn[1]), (drawn[0][1:], drawn[0][:-1])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 4 / n**0.5
    assert (poisson_counts(np.arange(n, dtype=np.uint64), 0, seed=1) != drawn[0]).any()


@examples(20)
@given(st.lists(st.integers(0, 2**63), min_size=1, max_size=40), st.integers(0, 50))
def test_each_question_has_its_own_number(questions, resample):
    """In whatever order and parts they come."""
    hashes = np.array(questions, np.uint64)
    whole = poisson_counts(hashes, resample)
    alone = [int(poisson_counts(hashes[row : row + 1], resample)[0]) for row in range(len(hashes))]
    assert whole.tolist() == alone


def test_by_the_slow_way():
    """A number of a resample is that of the rows, each as often as its count says."""
    values = np.random.default_rng(0).random((300, 2))
    counts = [poisson_counts(np.arange(300, dtype=np.uint64), own, 7) for own in range(3)]
    slow = [max(value for value, n in zip(values[:, 0], own) for _ in range(n)) for own in counts]
    assert poisson_resampled(values, lambda x: x[:, 0].max(), 3, 7).tolist() == slow


@pytest.mark.integration
def test_it_says_what_resamples_say(monkeypatch):
    """How far two 95th percentiles are apart: the interval is the exact bootstrap's."""
    random = np.random.default_rng(4)
    seconds = random.gamma(2, 0.1, 40_000)
    pairs = np.stack([seconds * 1.1, seconds * random.uniform(0.9, 1.1, 40_000)], axis=1)
    bootstrap = np.array(difference_interval(pairs, percentile(95), count=200))
    monkeypatch.setattr(paired, "MANY", 10_000)
    poisson = np.array(difference_interval(pairs, percentile(95)))
    assert poisson.mean() == pytest.approx(bootstrap.mean(), abs=0.3 * np.ptp(bootstrap))
    assert np.ptp(poisson) == pytest.approx(np.ptp(bootstrap), rel=0.3)


@pytest.mark.integration
def test_means_and_ratios():
    """Of a mean it says what Student does; of a ratio of sums what linearising it does."""
    random = np.random.default_rng(6)
    values = random.beta(0.4, 0.6, 20_000)
    reach = student_t(0.975, 1_999) * poisson_resampled(
        values[:, None], lambda x: float(x.mean()), 2_000
    ).std(ddof=1)
    (low,), (high,) = mean_intervals(values[:, None], [None])
    assert 2 * reach == pytest.approx(high - low, rel=0.07)
    terms = np.stack([random.poisson(2, 20_000), random.poisson(5, 20_000)], axis=1).astype(float)
    ratio = terms[:, 0].sum() / terms[:, 1].sum()
    spread = (terms[:, 0] - ratio * terms[:, 1]).std(ddof=1) / terms[:, 1].mean() / 20_000**0.5
    drawn = poisson_resampled(terms, lambda x: x[:, 0].sum() / x[:, 1].sum(), 2_000)
    assert drawn.std(ddof=1) == pytest.approx(spread, rel=0.07)


@pytest.mark.integration
@pytest.mark.parametrize("at", [50, 95])
def test_it_holds_the_truth_as_often_as_the_exact_one(many, monkeypatch, at):
    """Of 200 samples of 2,000 questions 95 % intervals of a difference hold it in 91 to 98 %."""
    truth = np.exp(0.3) * np.exp(np.array([0.0, 1.6448536])[int(at == 95)])
    truth -= np.exp(np.array([0.0, 1.6448536])[int(at == 95)])
    shares = []
    for most in (500, 10_000):  # by Poisson numbers, and drawn from all
        monkeypatch.setattr(paired, "MANY", most)
        held = 0
        for seed in range(200):
            random = np.random.default_rng(seed)
            common, own = random.normal(size=(2, 2_000, 1))[0], random.normal(size=(2_000, 2))
            pairs = np.exp(0.8 * common + 0.6 * own + np.array([0.3, 0.0]))
            low, high = difference_interval(pairs, percentile(at), count=100, seed=seed)
            held += low <= truth <= high
        shares.append(held / 200)
    assert 0.91 <= shares[0] <= 0.98
    assert shares[0] == pytest.approx(shares[1], abs=0.035)
