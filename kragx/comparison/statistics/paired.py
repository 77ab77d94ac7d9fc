"""Two retrievers on the same queries: what the differences of their values say."""

import warnings
from math import ceil
from statistics import NormalDist

import numpy as np

from kragx.comparison.statistics.bootstrap import (
    RESAMPLES,
    SEED,
    TOLERANCE,
    blocks,
    fixed_point,
)
from kragx.metrics import Floats

_LAST_BITS = 2.0**-51
"""By how much a difference of two values between 0 and 1 may be off."""


def sign_flip_p(differences: Floats, count: int = RESAMPLES, seed: int = SEED) -> Floats:
    """The two-sided p of the paired randomisation test of each column's mean difference.

    If two retrievers were equal, each difference might as well have had the other sign. So signs
    are flipped at random N times, and p = (b + 1) / (N + 1), where b counts the flips whose sum is
    at least as far from 0 as the one observed. Where there are no more than `count` ways to flip,
    all of them are taken: N is then their number without the observed one, and p is exact.

    Args:
        differences: (q, c) one retriever's values minus another's; NaN where either has none.
        count: how many random flips.
        seed: the same seed gives the same bits.

    Returns:
        (c) values in (0, 1]; 1 where no query differs.

    Sources: M. Smucker, J. Allan, B. Carterette, A comparison of statistical significance tests
    for information retrieval evaluation, CIKM 2007; p of random permutations: B. Phipson, G. Smyth,
    Permutation p-values should never be zero, SAGMB 9(1), 2010.
    """
    grid, unit = fixed_point(np.where(np.abs(differences) > TOLERANCE, differences, 0.0))
    n, c = grid.shape
    # Rounding moved each term by half a unit at most, and so a sum by n/2: equal sums of fractions
    # may be n units apart. Values near 1 whose differences are small bring in their own last bits.
    slack = n + n * _LAST_BITS / unit
    differing = (grid != 0).sum(axis=0)
    p = np.empty(c)
    few = differing <= int(np.log2(count + 1))
    for column in np.flatnonzero(few):
        p[column] = _exact_p(grid[grid[:, column] != 0, column], slack[column])
    many = np.flatnonzero(~few)
    if many.size:
        terms = grid[:, many]
        observed = terms.sum(axis=0)
        least = np.abs(observed) - slack[many]

        def work(size: int, child: np.random.SeedSequence) -> Floats:
            sums = 2 * (_coins(n, size, child) @ terms) - observed
            extreme: Floats = (np.abs(sums) >= least).sum(axis=0)
            return extreme

        extreme = sum(blocks(n, count, seed, work), np.zeros(many.size))
        p[many] = (extreme + 1) / (count + 1)
    return p


def _exact_p(grid: Floats, slack: float) -> float:
    """The p over every way to flip the signs; 1 for no difference at all."""
    sums = np.zeros(1)
    for difference in grid:
        sums = np.concatenate([sums + difference, sums - difference])
    return float((np.abs(sums) >= abs(grid.sum()) - slack).mean())


def _coins(n: int, size: int, seed: np.random.SeedSequence) -> Floats:
    """(size, n) zeros and ones."""
    width = -(-n // 8)
    drawn = np.frombuffer(np.random.default_rng(seed).bytes(size * width), np.uint8)
    return np.unpackbits(drawn.reshape(size, width), axis=1)[:, :n].astype(np.float64)


def effect_sizes(differences: Floats) -> Floats:
    """Cohen's d_z of each column: the mean difference over the differences' standard deviation.

    Args:
        differences: (q, c); NaN where a query has none.

    Returns:
        (c); NaN where fewer than two queries have a difference, or all differ by the same.

    Source: D. Lakens, Calculating and reporting effect sizes, Frontiers in Psychology 4:863, 2013,
    formula 6; J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns with fewer than two values
        deviation = np.nanstd(differences, axis=0, ddof=1)
        sizes = np.nanmean(differences, axis=0) / deviation
    return np.where(deviation > TOLERANCE, sizes, np.nan)


def tally(differences: Floats) -> tuple[Floats, Floats, Floats]:
    """How many differences of each column are above 0, equal to 0, and below 0."""
    above = (differences > TOLERANCE).sum(axis=0)
    below = (differences < -TOLERANCE).sum(axis=0)
    return above, (~np.isnan(differences)).sum(axis=0) - above - below, below


def queries_needed(effect: float, confidence: float, power: float = 0.8) -> int | None:
    """About how many queries show an effect of this size with the given power.

    ((z(1 - alpha/2) + z(power)) / d_z) squared, from the normal distribution; None for no effect.

    Source: T. Sakai, Topic set size design, Information Retrieval Journal 19, 2016, section on the
    paired t test; this is its approximation by the normal distribution.
    """
    if not abs(effect) > TOLERANCE:
        return None
    normal = NormalDist()
    needed = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(power)
    return ceil((needed / effect) ** 2)


def holm(p: Floats) -> Floats:
    """Adjust the p of a family of m tests, so that the chance of any false alarm stays bounded.

    Sorted from the least, the i-th is multiplied by m - i + 1, never below the one before it, at
    most 1. It needs no independence of the tests.

    Args:
        p: (m); NaN for what was not tested, which does not count.

    Returns:
        (m); NaN stays NaN.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6(2), 1979.
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
