"""Intervals cover what they promise; the bootstrap's parts are right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from kragx.agreement import kappa
from kragx.agreement.compare import statistics
from kragx.agreement.intervals import bootstrap, expanded, student_t
from kragx.agreement.labels import Scale
from kragx.statistics import resamples

SIMULATED = 10_000
QUERIES = 30
SCALE = Scale(0, 3)


@pytest.mark.parametrize("df", [1, 2, 3, 9, 29.5, 200, 5000])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.975, 0.999])
def test_student_t_equals_scipy(p, df):
    """The t quantile is scipy's."""
    assert student_t(p, df) == pytest.approx(student.ppf(p, df), rel=1e-9, abs=1e-12)


def test_expanded_percentiles():
    """With 30 units 95 % is asked for as 96.2 %; with very many it stays what it is."""
    assert expanded(0.95, 30) == pytest.approx(0.9625, abs=5e-4)
    assert expanded(0.95, 10**6) == pytest.approx(0.95, abs=1e-5)


def simulated(rng, count, queries):
    """(count, queries, 4, 4) confusions of a judge that leans by query, 5 to 15 pairs a query."""
    size = rng.integers(5, 16, (count, queries, 1))
    lean = rng.normal(0, 0.7, (count, queries, 1))
    latent = rng.normal(0, 1, (count, queries, 15)) + lean
    judged = 0.8 * latent + 0.6 * rng.normal(0, 1, latent.shape)
    judged += rng.normal(0, 0.35, (count, queries, 1))
    cuts = (0.2, 0.9, 1.6)
    cell = 4 * np.searchsorted(cuts, latent) + np.searchsorted(cuts, judged)
    inside = np.arange(15) < size
    found = np.stack([((cell == each) & inside).sum(-1) for each in range(16)], axis=-1)
    return found.reshape(count, queries, 4, 4).astype(float)


def every(confusion):
    """The statistics that are simulated."""
    found = statistics(confusion, SCALE)
    names = ("kappa", "kappa_linear", "kappa_quadratic", "alpha_ordinal", "accuracy", "bias")
    return {name: found[name] for name in (*names, "kappa_binary.2")}


@pytest.fixture(scope="module")
def truth():
    """The statistics of 400,000 queries."""
    rng = np.random.default_rng(0)
    total = sum(simulated(rng, 20, 1000).sum((0, 1)) for _ in range(20))
    return {name: float(value) for name, value in every(total).items()}


@pytest.fixture(scope="module")
def coverage(truth):
    """How often, in 10,000 simulated data sets of 30 queries, the interval holds the truth."""
    rng = np.random.default_rng(1)
    # As `bootstrap` does it, for many data sets at once: the same resamples serve them all.
    weights = np.concatenate(list(resamples(QUERIES, 400, 0)))
    tail = (1 - expanded(0.95, QUERIES)) / 2
    held = dict.fromkeys(truth, 0)
    for _ in range(SIMULATED // 250):
        data = simulated(rng, 250, QUERIES)
        sums = np.einsum("bq,sqc->sbc", weights, data.reshape(250, QUERIES, 16), optimize=True)
        for name, sampled in every(sums.reshape(250, 400, 4, 4)).items():
            low, high = np.nanquantile(sampled, (tail, 1 - tail), axis=1)
            held[name] += int(((low <= truth[name]) & (truth[name] <= high)).sum())
    return {name: count / SIMULATED for name, count in held.items()}


def test_intervals_cover(coverage):
    """Every statistic's 95 % interval holds the truth in 93 to 97 of 100 cases."""
    assert {name: share for name, share in coverage.items() if not 0.93 <= share <= 0.97} == {}


def test_simulation_is_of_the_function_itself(truth):
    """`bootstrap` gives the very ends that the simulation computes."""
    data = simulated(np.random.default_rng(7), 1, QUERIES)[0]
    found = bootstrap(data, every, confidence=0.95, count=400, seed=0)
    weights = np.concatenate(list(resamples(QUERIES, 400, 0)))
    sums = (weights @ data.reshape(QUERIES, 16)).reshape(400, 4, 4)
    tail = (1 - expanded(0.95, QUERIES)) / 2
    for name, sampled in every(sums).items():
        assert found[name] == pytest.approx(np.quantile(sampled, (tail, 1 - tail)))


def test_pairs_as_units_would_be_too_narrow(truth):
    """Taking each pair for an observation of its own covers the bias far too rarely."""
    rng = np.random.default_rng(2)
    held = 0
    for data in simulated(rng, 400, QUERIES):
        cells = data.sum(0).reshape(-1)
        n = int(cells.sum())
        drawn = rng.multinomial(n, cells / n, 300).reshape(300, 4, 4).astype(float)
        low, high = np.quantile(kappa.mean_bias(drawn), (0.025, 0.975))
        held += low <= truth["bias"] <= high
    assert held / 400 < 0.9


def test_no_interval_without_variation():
    """One query, or resamples that all agree: None, never a width of 0."""
    alike = np.tile(np.diag([3.0, 2.0]), (5, 1, 1))
    pairs = {"kappa": kappa.cohen_kappa}

    def stat(sums):
        return {name: function(sums) for name, function in pairs.items()}

    options = {"confidence": 0.95, "count": 50, "seed": 0}
    assert bootstrap(alike, stat, **options) == {"kappa": None}
    assert bootstrap(alike[:1], stat, **options) == {"kappa": None}


def test_same_seed_same_interval():
    """The seed decides, nothing else."""
    data = simulated(np.random.default_rng(3), 1, 12)[0]
    options = {"confidence": 0.9, "count": 200}
    first, second, other = (
        bootstrap(data, every, **options, seed=seed)["kappa"] for seed in (0, 0, 1)
    )
    assert first == second != other
