"""Two retrievers on the same queries: what the differences of their values say."""

import warnings
from collections.abc import Callable
from math import ceil
from statistics import NormalDist

import numpy as np

from kragx.comparison.statistics.evidence import effective_ns, of_rows, weighted_means
from kragx.comparison.statistics.randomisation_tests import Rows
from kragx.metrics import Floats
from kragx.metrics.intervals import (
    CONFIDENCE,
    SEED,
    TOLERANCE,
    Interval,
    blocks,
    expanded,
)
from kragx.metrics.weights import effective_n


def effect_sizes(differences: Floats, weights: Floats | None = None) -> Floats:
    """Cohen's d_z of each column: the mean difference over the differences' standard deviation.

    Args:
        differences: (q, c); NaN where a query has none.
        weights: (q) of the mean and of the deviation, whose n is Kish's; None where all are alike.

    Returns:
        (c); NaN where fewer than two queries have a difference, or all differ by the same.

    Source: D. Lakens, Calculating and reporting effect sizes, Frontiers in Psychology 4:863, 2013,
    formula 6; J. Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.
    """
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns with fewer than two values
        if weights is not None:
            n, means = (
                effective_ns(weights, ~np.isnan(differences)),
                weighted_means(differences, weights),
            )
            variance = weighted_means((differences - means) ** 2, weights) * n / (n - 1)
            return np.where(variance > TOLERANCE**2, means / np.sqrt(variance), np.nan)
        deviation = np.nanstd(differences, axis=0, ddof=1)
        sizes = np.nanmean(differences, axis=0) / deviation
    return np.where(deviation > TOLERANCE, sizes, np.nan)


def tally(differences: Floats) -> tuple[Floats, Floats, Floats]:
    """How many differences of each column are above 0, equal to 0, and below 0."""
    above = (differences > TOLERANCE).sum(axis=0)
    below = (differences < -TOLERANCE).sum(axis=0)
    return above, (~np.isnan(differences)).sum(axis=0) - above - below, below


def queries_needed(
    effect: float, quantile: float, power: float = 0.8, *, weigh: float = 1.0
) -> int | None:
    """About how many queries show an effect of this size with the given power.

    ((quantile + z(power)) / d_z) squared, from the normal distribution; None for no effect.

    Args:
        effect: Cohen's d_z, above 0 for an effect.
        quantile: the standardised mean difference from which on it is decided; 1.96 for a test by
            itself at 95 %.
        power: how often it would be.
        weigh: how many queries of these weights are as sure as one of queries that weigh alike.

    Source: T. Sakai, Topic set size design, Information Retrieval Journal 19, 2016, section on the
    paired t test; this is its approximation by the normal distribution.
    """
    if not effect > TOLERANCE:
        return None
    return ceil(((quantile + NormalDist().inv_cdf(power)) / effect) ** 2 * weigh)


def difference_interval(
    pairs: Floats,
    number: Callable[[Floats, Floats | None], float | None],
    *,
    weights: Floats | None = None,
    confidence: float = CONFIDENCE,
    count: int = 1_000,
    seed: int = SEED,
) -> Interval | None:
    """The bootstrap interval of how far apart two numbers of a run are, such as two percentiles.

    Args:
        pairs: (q, 2) the values of the same queries; those where either has none are left out.
        number: makes a run's number of its queries' values, and of what they weigh, if unlike.
        weights: (q), drawn with their queries; None where all are alike.
        confidence: between 0 and 1; percentiles are taken further out for few queries.
        count: how many resamples.
        seed: of the resamples.

    Returns:
        The ends of the first's number minus the second's; None with fewer than three queries.

    Source: T. Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 4.6.
    """
    rows = np.flatnonzero(~np.isnan(pairs).any(axis=1))
    complete, weights = pairs[rows], of_rows(weights, rows)
    n = len(complete)
    if n < 3:
        return None

    def difference(drawn: Rows) -> float:
        asks = None if weights is None else weights[drawn]
        numbers = [number(column, asks) for column in complete[drawn].T]
        first, second = np.array(numbers, np.float64).tolist()
        return float(first - second)

    # Both columns are drawn with the same rows, or what questions share would count twice.
    def work(size: int, child: np.random.SeedSequence) -> Floats:
        drawn = np.random.default_rng(child).integers(0, n, (size, n))
        return np.array([*map(difference, drawn)])

    sampled = np.concatenate(list(blocks(n, count, seed, work)))
    trials = max(2, round(effective_n(weights, np.ones(n, bool))))
    tail = (1 - expanded(confidence, trials)) / 2
    low, high = np.quantile(sampled, (tail, 1 - tail)).tolist()
    return low, high
