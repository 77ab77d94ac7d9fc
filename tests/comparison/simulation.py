"""How often intervals of means and differences hold the truth, where it is known.

python -m tests.comparison.simulation       # the tables of docs/evidence/intervals.md, in a minute
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.stats import binom

from kragx.comparison.statistics import mean_intervals
from kragx.metrics.intervals import resampled_means, score_interval

SIZES = (10, 20, 30, 60, 200)
NEAR_SIZES = (20, 30, 50, 100, 200)
RATES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
SIMULATED = 10_000
_DIFFERENCES = 2_000
_RESAMPLES = 1_000

RANKS = np.arange(1, 11)
MISS_OR_RANK = np.concatenate([[0.0], 1 / RANKS])


def _ranked(misses, falling):
    """The chance of a miss, then of each rank, each `falling` times as likely as the one before."""
    chances = falling ** RANKS.astype(float)
    return np.concatenate([[misses], (1 - misses) * chances / chances.sum()])


MEANS = {
    "reciprocal ranks, easy": (MISS_OR_RANK, _ranked(0.05, 0.5)),
    "reciprocal ranks, 95 % first": (MISS_OR_RANK, _ranked(0.01, 0.04)),
    "reciprocal ranks, half missed": (MISS_OR_RANK, _ranked(0.5, 0.7)),
    "reciprocal ranks, hard": (MISS_OR_RANK, _ranked(0.8, 0.6)),
    "reciprocal ranks, hard, any rank": (MISS_OR_RANK, _ranked(0.8, 1.0)),
    "recall of three": (np.arange(4) / 3, np.array([0.1, 0.2, 0.3, 0.4])),
    "precision@10": (np.arange(11) / 10, np.array([0.3, 0.4, 0.2, 0.1, *[0] * 7])),
    "nDCG of one": (np.append(0, 1 / np.log2(1 + RANKS)), _ranked(0.3, 0.7)),
}
"""Values that a question may have in a metric, and how likely each is."""


def _ndcg(*ranks):
    """Of three golds those at these ranks were found: their nDCG."""
    gains = 1 / np.log2(1 + np.arange(1, 11))
    return float(gains[np.array(ranks) - 1].sum() / gains[:3].sum())


def _but(share, value, draw):
    """Draws of which a share is this value instead."""
    return lambda rng, size: np.where(rng.random(size) < share, value, draw(rng, size))


NEAR = {
    ".9 to 1, 2 % nothing": (_but(0.02, 0.0, lambda rng, size: rng.uniform(0.9, 1, size)), 0.931),
    ".9 to 1, 5 % nothing": (_but(0.05, 0.0, lambda rng, size: rng.uniform(0.9, 1, size)), 0.9025),
    "coverage: beta(20, 1), 3 % nothing": (
        _but(0.03, 0.0, lambda rng, size: rng.beta(20, 1, size)),
        0.97 * 20 / 21,
    ),
    "nDCG of three found by rank 5, 2 % nothing": (
        np.array([0.0, 1.0, _ndcg(1, 2, 4), _ndcg(1, 2, 5)]),
        np.array([0.02, 0.6, 0.25, 0.13]),
    ),
    "nDCG of three, one missed in 8 %, 2 % nothing": (
        np.array([0.0, 1.0, _ndcg(1, 2, 4), _ndcg(1, 2)]),
        np.array([0.02, 0.7, 0.2, 0.08]),
    ),
    "density: 0 to .1, 2 % all": (
        _but(0.02, 1.0, lambda rng, size: rng.uniform(0, 0.1, size)),
        0.069,
    ),
    "density: beta(1, 20), a third 0, 2 % all": (
        _but(0.02, 1.0, _but(1 / 3, 0.0, lambda rng, size: rng.beta(1, 20, size))),
        0.02 + 0.98 * 2 / 3 / 21,
    ),
}
"""Means near an end: values that are nearly alike, but for a few questions at the other end."""

THREE = np.array([-1.0, 0.0, 1.0])
DIFFERENCES = {
    "hits: each better in 10 %": (THREE, np.array([0.1, 0.8, 0.1])),
    "hits: better in 15 %, worse in 5 %": (THREE, np.array([0.05, 0.8, 0.15])),
    "hits: better in 60 %, worse in 5 %": (THREE, np.array([0.05, 0.35, 0.6])),
    "reciprocal ranks: equal, 60 % differ": (
        np.subtract.outer(MISS_OR_RANK, MISS_OR_RANK).ravel(),
        0.6 * np.outer(*[_ranked(0.2, 0.6)] * 2).ravel() + 0.4 * np.eye(11).ravel() / 11,
    ),
    "reciprocal ranks: 20 % and 50 % missed": (
        np.subtract.outer(MISS_OR_RANK, MISS_OR_RANK).ravel(),
        np.outer(_ranked(0.2, 0.6), _ranked(0.5, 0.6)).ravel(),
    ),
    "recall of three: .7 and .6": (np.arange(-3, 4) / 3, None),
}
_OF_THREE = [binom.pmf(np.arange(4), 3, p) for p in (0.7, 0.6)]
DIFFERENCES["recall of three: .7 and .6"] = (
    np.arange(-3, 4) / 3,
    np.convolve(_OF_THREE[0], _OF_THREE[1][::-1]),
)


def hit_coverage(rates, n):
    """How often Wilson's interval holds each hit rate, enumerated: every number of hits counts."""
    low, high = hit_intervals(n)[..., None]
    chances = binom.pmf(np.arange(n + 1)[:, None], n, rates)
    return np.where((low <= rates) & (rates <= high), chances, 0.0).sum(axis=0)


def enumerated():
    """(coverage, n, rate) of every n from 20 to 200 and hit rate from .50 to .98."""
    rates = np.arange(50, 99) / 100
    return [
        (share, n, rate)
        for n in range(20, 201)
        for share, rate in zip(hit_coverage(rates, n).tolist(), rates.tolist(), strict=True)
    ]


def outside(every):
    """Those outside of 92-98.5 %."""
    return [row for row in every if not 0.92 <= row[0] <= 0.985]


@cache
def hit_intervals(n):
    """(2, n + 1) the interval of a mean of zeros and ones, for each number of ones."""
    samples = (np.arange(n)[:, None] < np.arange(n + 1)).astype(float)
    return mean_intervals(samples, [(0.0, 1.0)] * (n + 1))


def share_intervals(samples):
    """As kragx has it for means of what lies between 0 and 1."""
    return mean_intervals(samples, [(0.0, 1.0)] * samples.shape[1])


def difference_intervals(samples):
    """As kragx has it for differences."""
    return mean_intervals(samples, [None] * samples.shape[1], count=_RESAMPLES)


def plain_percentiles(samples):
    """The textbook's percentile bootstrap, which is not expanded: what this is better than."""
    ends = np.empty((2, samples.shape[1]))
    for start in range(0, samples.shape[1], 500):
        part = np.s_[start : start + 500]
        ends[:, part] = np.quantile(
            resampled_means(samples[:, part], _RESAMPLES), (0.025, 0.975), axis=0
        )
    return ends


def by_spread_alone(samples):
    """Means' intervals by how far values vary, as if no question could be unlike all that vary."""
    ends = []
    for x in samples.T:
        n, hits = len(x), set(x) <= {0.0, 1.0}
        if hits or x.max() - x.min() < 1e-9:
            ends.append(share_intervals(x[:, None])[:, 0])
        else:
            between = int(min((x > 0).sum(), (x < 1).sum()))
            ends.append(score_interval(float(x.mean()), float(x.var(ddof=1)) / n, n, between))
    return np.array(ends).T


def drawn(shape, n, count):
    """(n, count) seeded draws, and their true mean; values with chances, or a way to draw them."""
    first, second = shape
    rng = np.random.default_rng(n)
    if callable(first):
        return first(rng, (n, count)), second
    return rng.choice(first, (n, count), p=second), float(first @ second)


def coverage(
    shape,
    n: int,
    intervals: Callable[[np.ndarray], np.ndarray] = share_intervals,
    count: int = SIMULATED,
):
    """How often the interval of n seeded draws holds the mean, where there is one."""
    samples, truth = drawn(shape, n, count)
    low, high = intervals(samples)
    known = ~np.isnan(low)
    return float(((low <= truth + 1e-9) & (truth <= high + 1e-9))[known].mean())


def growth(shape, n, count=1_000):
    """How much wider intervals are, on average, for what nobody saw."""
    samples, _ = drawn(shape, n, count)
    wide, narrow = (np.diff(of(samples), axis=0) for of in (share_intervals, by_spread_alone))
    return float(np.nanmean(wide) / np.nanmean(narrow))


def _row(name, shares):
    sys.stdout.write(f"{name:48}" + "".join(f"{share:8.1%}" for share in shares) + "\n")


def main():
    """Print the tables."""
    sys.stdout.write(f"{'n':48}" + "".join(f"{n:8}" for n in SIZES) + "\n")
    for rate in RATES:
        _row(f"hit rate {rate}", [hit_coverage(rate, n).item() for n in SIZES])
    every = enumerated()
    least, most = min(every), max(every)
    beyond = outside(every)
    sys.stdout.write(
        f"n 20 to 200, hit rates .50 to .98: {least[0]:.1%} (n {least[1]}, {least[2]}) to "
        f"{most[0]:.1%}; of {len(every):,} outside of 92-98.5 %: {len(beyond)}: "
        + "; ".join(f"n {n}, {rate}: {share:.1%}" for share, n, rate in sorted(beyond))
        + "\n"
    )
    for name, shape in MEANS.items():
        _row(name, [coverage(shape, n) for n in SIZES])
        _row("  plain percentiles", [coverage(shape, n, plain_percentiles, 2000) for n in SIZES])
        _row("  width, by spread alone = 1", [growth(shape, n) for n in SIZES])
    sys.stdout.write(f"{'n':48}" + "".join(f"{n:8}" for n in NEAR_SIZES) + "\n")
    for name, shape in NEAR.items():
        _row(name, [coverage(shape, n) for n in NEAR_SIZES])
        _row("  by spread alone", [coverage(shape, n, by_spread_alone, 2000) for n in NEAR_SIZES])
    sys.stdout.write(f"{'n':48}" + "".join(f"{n:8}" for n in SIZES) + "\n")
    for name, shape in DIFFERENCES.items():
        _row(name, [coverage(shape, n, difference_intervals, _DIFFERENCES) for n in SIZES])
        _row("  plain percentiles", [coverage(shape, n, plain_percentiles, 2000) for n in SIZES])


if __name__ == "__main__":
    main()
