"""What n questions are evidence for: bounds of means that can be relied on, and the least p.

An interval says where a mean lies in the long run; of a few questions that are all alike it says
nothing, and near its ends it errs more often than it claims. Whoever lets something pass because of
a number needs a bound that errs no more often than that, whatever the questions that were not
asked.
"""

import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import ceil
from statistics import NormalDist

import numpy as np

from kragx.metrics import Bools, Floats
from kragx.metrics.intervals import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    TOLERANCE,
    Interval,
    blocks,
    exact_limits,
    expanded,
    score_intervals,
    wilson_interval,
)
from kragx.metrics.weights import effective_n

Rows = np.ndarray[tuple[int], np.dtype[np.intp]]


def of_rows(weights: Floats | None, rows: Rows | None) -> Floats | None:
    """The weights of some questions; None where those are alike, unless all are 0."""
    if weights is None:
        return None
    part: Floats = weights if rows is None else weights[rows]
    # Weights that are alike are dropped: sums with them differ from plain means in the last bits.
    # Weights of 0 alone are kept, as nobody asks any of these questions.
    return part if part.size and (np.ptp(part) > 0 or not part.any()) else None


def rows_of(ids: Sequence[str], target: Sequence[str]) -> Rows | None:
    """Where some ids stand among others, each of which does; None where they are these."""
    # None instead of all rows: values are then used as they are, without a copy.
    if ids == target:
        return None
    row_of = {query_id: row for row, query_id in enumerate(target)}
    return np.array([row_of[query_id] for query_id in ids], np.intp)


def ids_at(ids: Sequence[str], rows: Rows) -> Sequence[str]:
    """The ids of some rows."""
    return tuple(map(ids.__getitem__, rows.tolist()))


def scaled(weights: Floats) -> Floats:
    """Weights of which the greatest is 1, so that weighted differences stay within their range."""
    shares: Floats = weights / weights.max(initial=0.0) if weights.any() else weights
    return shares


def total(weights: Floats | None, present: Bools) -> float:
    """The weights of those that are there, summed; how many these are where all are alike."""
    return float(present.sum() if weights is None else weights[present].sum())


def effective_ns(weights: Floats | None, present: Bools) -> Floats:
    """(c) `effective_n` of each column of (q, c)."""
    if weights is None:
        counts: Floats = present.sum(axis=0).astype(np.float64)
        return counts
    return np.array([effective_n(weights, column) for column in present.T])


def weighted_means(values: Floats, weights: Floats | None) -> Floats:
    """(c) the mean of each column of (q, c) values; NaN without one.

    As the mean of as many values where weights are alike, to the last bit.
    """
    present = ~np.isnan(values)
    means: Floats
    if weights is None:
        means = np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        return means
    with np.errstate(divide="ignore", invalid="ignore"):
        means = weights @ np.where(present, values, 0.0) / (weights @ present)
    return means


def linearised(values: Floats, weights: Floats | None) -> Floats:
    """Values whose plain mean, and its plain standard error, are those of the weighted mean.

    m + w / w' (y - m), with m the weighted mean of a column and w' the mean of its weights: the
    ratio of two sums as a straight line, so that weights that go with the values count.

    Args:
        values: (q, c); none missing.
        weights: (q); None where all are alike, and then the values are these.

    Source: W. Cochran, Sampling Techniques, 1977, section 6.3.
    """
    if weights is not None and weights.any():
        means = weighted_means(values, weights)
        values = means + (weights / weights.mean())[:, None] * (values - means)
    return values


def signed(columns: Iterable[Floats], weights: Floats | None) -> Iterable[Floats]:
    """Differences as their signs are flipped: each by the weight of its question."""
    return columns if weights is None else (column * scaled(weights) for column in columns)


_ROUNDING = 1e-9


@lru_cache(maxsize=4096)
def unseen(n: float, confidence: float = CONFIDENCE, *, exact: bool = False) -> float:
    """The share of questions that may be unlike all n that were asked.

    The upper limit of a share of which n questions show none: the greater of the exact one,
    1 - a^(1/n) with a = (1 - confidence) / 2, and of Wilson's, z^2 / (n + z^2). At 95 % that is .84
    of 2 questions, .17 of 20, .050 of 73 and .019 of 200; 1 of none. `exact` is the former alone.
    Of questions with weights n is `kragx.metrics.weights.effective_n`.

    Sources: C. Clopper, E. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934;
    and as of `wilson_interval`.
    """
    # Kish's n of questions that nobody asks is 0, and nothing was seen of the others.
    if n < 1:
        return 1.0
    limit = 1 - float(((1 - confidence) / 2) ** (1 / n))
    return limit if exact else max(limit, wilson_interval(0.0, n, confidence)[1])


def enough(share: float, confidence: float = CONFIDENCE, *, exact: bool = False) -> int | None:
    """The least n with `unseen` of at most this share; None if no number of questions has it."""

    def suffices(n: int) -> bool:
        return unseen(n, confidence, exact=exact) <= share

    # It falls with n, so doubling and then halving looks at few n of millions.
    n = 1
    while share > 0 and not suffices(n):
        n *= 2
    return bisect_left(range(n), True, lo=n // 2, key=suffices) if share > 0 else None


def sure_bounds(
    values: Floats,
    ends: Floats,
    lowest: Floats,
    greatest: Floats,
    confidence: float = CONFIDENCE,
    *,
    weights: Floats | None = None,
) -> Floats:
    """Bounds of each column's mean that hold for questions not asked as well.

    Each is the most cautious of those that there are:

    - the end of the column's interval;
    - what the mean would be if the share `unseen` of all questions had the worst value there is;
    - of columns that hold the least and the greatest value alone (hits and misses), the exact
      binomial limit of Clopper and Pearson;
    - of differences, whose values reach from below 0 to above it, what the intervals of gains and
      of losses, each by itself, make of their difference: a few losses may be many more.

    Args:
        values: (q, c); NaN where a question has none.
        ends: (2, c) of intervals; NaN where there is none. One without width is none either.
        lowest: (c) the least value that a question can have; not finite where nothing bounds it,
            and then the interval alone decides, as where a value lies outside.
        greatest: (c) the same for the greatest.
        confidence: of both bounds together, between 0 and 1.
        weights: (q); with them n is Kish's. None where all are alike.

    Returns:
        (2, c) the lower and the upper bound; NaN where nothing is known.
    """
    if weights is not None:  # what nobody asks is no evidence
        values = np.where(weights[:, None] > 0, values, np.nan)
    present = ~np.isnan(values)
    n, mean = effective_ns(weights, present), weighted_means(values, weights)
    share = np.array([unseen(count, confidence) for count in n.tolist()])
    bounded = np.isfinite(lowest) & np.isfinite(greatest) & (n > 0)
    low, high = np.where(bounded, lowest, 0.0), np.where(bounded, greatest, 1.0)
    outside = present & ((values < low - _ROUNDING) | (values > high + _ROUNDING))
    bounded &= ~outside.any(axis=0)
    shifted = np.stack([mean - share * (mean - low), mean + share * (high - mean)])
    bounds: Floats = np.where(bounded, shifted, np.nan)
    # An interval without width says that nothing varied, which is no evidence.
    ends = np.where(ends[0] < ends[1], ends, np.nan)
    gain_bounds = np.full_like(bounds, np.nan)
    signed = bounded & (low < 0) & (high > 0)
    gain_bounds[:, signed] = _gains_less_losses(
        values[:, signed], low[signed], high[signed], confidence, weights
    )
    for candidates in (ends, gain_bounds):
        # The wider one counts; `fmin` and `fmax` pass over NaN, where a bound does not apply.
        bounds = np.stack([np.fmin(bounds[0], candidates[0]), np.fmax(bounds[1], candidates[1])])
    ways = np.isclose(values, low, rtol=0, atol=_ROUNDING)
    ways |= np.isclose(values, high, rtol=0, atol=_ROUNDING)
    binary = np.flatnonzero(bounded & (ways | ~present).all(axis=0))
    for column in binary.tolist():
        width = high[column] - low[column]
        # Of effective questions there are fractions; what rounding alone has made is no miss.
        trials = round(float(n[column]), 0 if weights is None else 9)
        hits = round(
            float(trials * (mean[column] - low[column]) / width), None if weights is None else 9
        )
        exact = np.array(exact_limits(hits, trials, confidence)) * width + low[column]
        bounds[0, column] = min(bounds[0, column], exact[0])
        bounds[1, column] = max(bounds[1, column], exact[1])
    return bounds


def _gains_less_losses(
    values: Floats, low: Floats, high: Floats, confidence: float, weights: Floats | None
) -> Floats:
    """(2, c) the bounds of a mean difference by those of its gains and its losses.

    Gains and losses are never of the same question, so their covariance is minus the product of
    their means; of one that does not vary it is 0.

    Source: R. Newcombe, Improved confidence intervals for the difference between binomial
    proportions based on paired data, Statistics in Medicine 17, 1998, method 10.
    """
    parts = np.stack([np.maximum(values, 0), np.maximum(-values, 0)])
    widths = np.stack([high, -low])
    up, down = (weighted_means(part, weights) for part in parts)
    up_ends, down_ends = (
        score_intervals(part, np.zeros_like(width), width, confidence, weights=weights)
        for part, width in zip(parts, widths)
    )
    up_spread, down_spread = (
        weighted_means((part - mean) ** 2, weights) ** 0.5 for part, mean in zip(parts, (up, down))
    )
    # A question gains or loses: the mean of the products of both is 0.
    spread = up_spread * down_spread
    correlation = -np.divide(up * down, spread, out=np.zeros_like(spread), where=spread > 0)

    def reach(first: Floats, second: Floats) -> Floats:
        result: Floats = np.sqrt(first**2 + second**2 - 2 * correlation * first * second)
        return result

    difference = up - down
    return np.stack(
        [
            difference - reach(up - up_ends[0], down_ends[1] - down),
            difference + reach(up_ends[1] - up, down - down_ends[0]),
        ]
    )


def least_p(n: int, count: int = RESAMPLES) -> float:
    """The least p that `sign_flip_p` can have of n questions: where all differ, and one way.

    2 of the 2^n ways to flip are then as extreme; of more than `count` ways a sample is taken, and
    p is at least 1 / (count + 1). 1 of no question.
    """
    if n < 1:
        return 1.0
    return 2.0 ** (1 - n) if n <= int(np.log2(count + 1)) else 1 / (count + 1)


def deciding(alpha: float, count: int = RESAMPLES) -> int | None:
    """How many questions it takes until any p can be as small as alpha; None if none ever is."""
    return next((n for n in range(1, 64) if least_p(n, count) <= alpha), None)


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
    complete, weights, n = pairs[rows], of_rows(weights, rows), len(rows)
    if n < 3:
        return None

    def difference(drawn: Rows) -> float:
        asks = None if weights is None else weights[drawn]
        numbers = np.array([number(column, asks) for column in complete[drawn].T], np.float64)
        return float(numbers[0] - numbers[1])

    # Both columns are drawn with the same rows, or what questions share would count twice.
    def work(size: int, child: np.random.SeedSequence) -> Floats:
        drawn = np.random.default_rng(child).integers(0, n, (size, n))
        return np.array([*map(difference, drawn)])

    sampled = np.concatenate(list(blocks(n, count, seed, work)))
    trials = max(2, round(effective_n(weights, np.ones(n, bool))))
    tail = (1 - expanded(confidence, trials)) / 2
    low, high = np.quantile(sampled, (tail, 1 - tail)).tolist()
    return low, high
