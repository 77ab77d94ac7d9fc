"""Simulated traffic with a known truth: how often what is called certain is wrong, and how soon."""

import numpy as np
import pytest

from kragx.agreement.change.betting import Drawn

pytestmark = pytest.mark.integration

N = 2_000  # comparisons


def drawn(rng, values, most):
    """Terms in an order drawn by lot."""
    order = np.argsort(rng.exponential(size=len(most)) / most)
    return Drawn(values[order], values[order], most[order])


def is_ever_refuted(terms, total):
    """Whether who looks after each label ever calls a total impossible."""
    n = len(terms.most)
    return terms.first_above(total) <= n or terms.mirrored().first_above(-total) <= n


def traffic(rng, n, shift=0.0):
    """Weighted differences of precision@5 where lists differ, which go with what is asked often."""
    came = rng.integers(1, 6, n)
    weights = rng.pareto(1.5, n) + 1
    chance = np.clip(0.4 + shift + 0.3 * (weights > np.median(weights)), 0.02, 0.98)
    counts = rng.binomial(came, chance) - rng.binomial(came, 0.4)
    return weights * counts / 5, weights * came / 5


def balanced(rng, n):
    """The same with a total of 0: to each question another that changes by as much, downwards."""
    values, most = traffic(rng, n // 2)
    return np.concatenate([values, -values]), np.concatenate([most, most])


def ties(rng, n):
    """Lists that differ, and tie but for one question in ten, whose differences make 0."""
    values, most = balanced(rng, n)
    values[(np.arange(n) % (n // 2)) >= n // 20] = 0.0
    return values, most


@pytest.mark.parametrize("kind", [balanced, ties])
@pytest.mark.parametrize("n", [40, 300])
def test_no_difference_is_seldom_called_certain(kind, n):
    """Looking after each label, at most 116 of 2,000 comparisons without a difference are."""
    rng = np.random.default_rng(n)
    wrong = sum(is_ever_refuted(drawn(rng, *kind(rng, n)), 0.0) for _ in range(N))
    assert wrong <= 116


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.3])
def test_intervals_hold_the_truth_at_any_stop(n, shift):
    """Better for what is asked often, worse for the rare, or for none: in at least 95 %."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(N):
        values, most = traffic(rng, n, shift)
        held += not is_ever_refuted(drawn(rng, values, most), values.sum())
    assert held >= 0.95 * N


@pytest.mark.parametrize("metric", ["hit_rate", "precision"])
def test_a_true_difference_is_decided_by_few_labels(metric):
    """+.05 with 15 % of the lists changed is decided in 80 % before a third of them is labelled.

    It takes at most 1.5 times (share changed) of the questions that random ones need under the
    same rule, which do not know that most lists are the same.
    """
    rng = np.random.default_rng(1)
    n, n_changed, few, random = 4_000, 600, [], []
    for _ in range(100):
        values, most = hits(rng, n_changed) if metric == "hit_rate" else swaps(rng, n_changed)
        values += 0.0
        few.append(needed(drawn(rng, values, most)))
        everything = np.zeros(n)
        everything[:n_changed] = values
        random.append(needed(drawn(rng, everything, np.ones(n))))
    assert np.quantile(few, 0.8) < n_changed / 3
    assert np.mean(few) <= 1.5 * 0.15 * np.mean(random)
    assert np.median(few) <= 1.5 * 0.15 * np.median(random)


def needed(terms):
    """After how many questions 0 is left out."""
    return min(int(terms.first_above(0.0)), int(terms.mirrored().first_above(0.0)))


def hits(rng, n):
    """Differences of hit rate, a third of a hit on average."""
    return rng.choice([-1.0, 0, 1], n, p=[2 / 15, 0.4, 7 / 15]), np.ones(n)


def swaps(rng, n):
    """Differences of precision@5 of two to five documents exchanged, a third on average."""
    came = rng.integers(2, 6, n)
    return (rng.binomial(came, 0.75) - rng.binomial(came, 0.75 - 1 / 2.1)) / 5, came / 5
