"""Intervals of an agreement cover what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from kragx.agreement import coefficients
from kragx.metrics.intervals import expanded, expanded_intervals, resampled
from tests.agreement.simulation import agreement_coverage, every, simulated, true_values

QUERIES = 30


@pytest.fixture(scope="module")
def truth():
    """The statistics of a very large sample."""
    return true_values()


@pytest.fixture(scope="module")
def coverage(truth):
    """How often, in 4,000 simulated data sets of 30 queries, the interval holds the truth.

    One standard error is .0034, so a share of .95 stays within .93 and .97, and one of .92 is
    found out 99 times of 100 (2.3 standard errors of .0043).
    """
    return agreement_coverage(truth, QUERIES, count=4_000)


@pytest.mark.integration
def test_intervals_cover(coverage):
    """Every statistic's 95 % interval holds the truth in 93 to 97 of 100 cases."""
    assert {name: share for name, share in coverage.items() if not 0.93 <= share <= 0.97} == {}


@pytest.mark.integration
def test_simulation_is_of_the_function_itself(truth):
    """`expanded_intervals` gives the very ends that the simulation computes."""
    data = simulated(np.random.default_rng(7), 1, QUERIES)[0]
    found = expanded_intervals(data, every, confidence=0.95, count=400, seed=0)
    weights = resampled(np.eye(QUERIES), lambda drawn: drawn, 400, 0)
    sums = (weights @ data.reshape(QUERIES, 16)).reshape(400, 4, 4)
    tail = (1 - expanded(0.95, QUERIES)) / 2
    for name, sampled in every(sums).items():
        assert found[name] == pytest.approx(np.quantile(sampled, (tail, 1 - tail)))


@pytest.mark.integration
def test_pairs_as_units_would_be_too_narrow(truth):
    """Taking each pair for an observation of its own covers the bias far too rarely."""
    rng = np.random.default_rng(2)
    held = 0
    for data in simulated(rng, 400, QUERIES):
        cells = data.sum(0).reshape(-1)
        n = int(cells.sum())
        drawn = rng.multinomial(n, cells / n, 300).reshape(300, 4, 4).astype(float)
        biases = coefficients.statistics(drawn, range(4))["bias"]
        low, high = np.quantile(biases, (0.025, 0.975))
        held += low <= truth["bias"] <= high
    assert held / 400 < 0.9


def test_same_seed_same_interval():
    """The seed decides, nothing else."""
    data = simulated(np.random.default_rng(3), 1, 12)[0]
    options = {"confidence": 0.9, "count": 200}
    first, second, other = (
        expanded_intervals(data, every, **options, seed=seed)["kappa"] for seed in (0, 0, 1)
    )
    assert first == second != other
