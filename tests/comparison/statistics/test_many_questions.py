"""How far numbers of many questions are apart: beside the interval of fewer."""

from __future__ import annotations

import numpy as np
import pytest

from kragx.comparison.statistics import difference_interval, paired_differences


def percentile(at):
    """What makes a percentile."""
    return lambda values: float(np.percentile(values, at))


@pytest.fixture
def many(monkeypatch):
    """More than 500 questions are so many."""
    monkeypatch.setattr(paired_differences, "MANY", 500)


@pytest.mark.integration
def test_it_says_what_resamples_say(monkeypatch):
    """How far two 95th percentiles are apart: the interval is the bootstrap's."""
    random = np.random.default_rng(4)
    seconds = random.gamma(2, 0.1, 40_000)
    pairs = np.stack([seconds * 1.1, seconds * random.uniform(0.9, 1.1, 40_000)], axis=1)
    bootstrap = np.array(difference_interval(pairs, percentile(95), count=200))
    monkeypatch.setattr(paired_differences, "MANY", 10_000)
    normal = np.array(difference_interval(pairs, percentile(95)))
    assert normal.mean() == pytest.approx(bootstrap.mean(), abs=0.3 * np.ptp(bootstrap))
    assert np.ptp(normal) == pytest.approx(np.ptp(bootstrap), rel=0.3)


@pytest.mark.integration
@pytest.mark.parametrize("at", [50, 95])
def test_it_holds_the_truth_as_often_as_the_exact_one(many, monkeypatch, at):
    """Of 200 samples of 2,000 questions 95 % intervals of a difference hold it in 91 to 98 %."""
    truth = np.exp(0.3) * np.exp(np.array([0.0, 1.6448536])[int(at == 95)])
    truth -= np.exp(np.array([0.0, 1.6448536])[int(at == 95)])
    shares = []
    for most in (500, 10_000):  # by the deviation of resamples, and by their percentiles
        monkeypatch.setattr(paired_differences, "MANY", most)
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
