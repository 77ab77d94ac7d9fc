"""Intervals from bootstrap resamples of queries: plain percentiles, and expanded ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import sqrt
from statistics import NormalDist

import numpy as np

from kragx.comparison.statistics.resampling import RESAMPLES, SEED, resampled, resampled_means
from kragx.errors import UsageError
from kragx.metrics.table import Floats

CONFIDENCE = 0.95
"""The confidence of an interval, unless told otherwise."""

Interval = tuple[float, float]

_COLUMNS = 1_000


def check_confidence(value: float) -> float:
    """`value` if it is a confidence; else a `UsageError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise UsageError(f"{value!r} is not between 0 and 1; 0.95 is usual", field="confidence")
    return float(value)


def percentile_interval(sampled: Floats, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval that holds the middle `confidence` of resampled values.

    Args:
        sampled: (count) the statistic of each resample; NaN where a resample leaves it undefined.
        confidence: between 0 and 1.

    Returns:
        Its ends; None if no resample has a value.

    Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    defined = sampled[~np.isnan(sampled)]
    if not defined.size:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, (tail, 1 - tail))
    return float(low), float(high)


def mean_intervals(
    values: Floats,
    confidence: float = CONFIDENCE,
    count: int = RESAMPLES,
    seed: int = SEED,
    workers: int = 1,
) -> Floats:
    """The bootstrap percentile interval of each column's mean.

    Args:
        values: (q, c) as for `resampled_means`.
        confidence: between 0 and 1.
        count: how many resamples.
        seed: of the resamples.
        workers: threads.

    Returns:
        (2, c) the ends; NaN for a column with fewer than two values, of which resamples say
        nothing.

    Source: as of `percentile_interval`.
    """
    ends = np.full((2, values.shape[1]), np.nan)
    known = np.flatnonzero((~np.isnan(values)).sum(axis=0) > 1)
    for start in range(0, len(known), _COLUMNS):
        columns = known[start : start + _COLUMNS]
        ends[:, columns] = _percentiles(
            resampled_means(values[:, columns], count, seed, workers), confidence
        )
    return ends


def _percentiles(sampled: Floats, confidence: float) -> Floats:
    if np.isnan(sampled).any():
        intervals = [percentile_interval(column, confidence) for column in sampled.T]
        return np.array([ends or (np.nan, np.nan) for ends in intervals]).T
    tail = (1 - confidence) / 2
    columns = np.ascontiguousarray(sampled.T)  # three times as fast as down the rows
    ends: Floats = np.quantile(columns, (tail, 1 - tail), axis=1, overwrite_input=True)
    return ends


def expanded_intervals(
    terms: Floats,
    statistics: Callable[[Floats], Mapping[str, Floats]],
    *,
    confidence: float = CONFIDENCE,
    count: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Interval | None]:
    """Expanded percentile intervals of statistics that are made of sums over queries.

    The plain percentile bootstrap is too narrow for few units: its spread lacks the factor
    n / (n - 1), and it uses normal where Student's tails are due. Taking percentiles further out by
    just that much puts it right (docs/agreement.md has what was measured).

    Args:
        terms: (q, ...) what each query adds to the sums.
        statistics: from sums of shape (b, ...) to values of shape (b), by name; NaN is undefined.
        confidence: between 0 and 1.
        count: how many resamples.
        seed: the same seed draws the same resamples.

    Returns:
        The ends by name; None with fewer than two queries, where no resample has a value, and where
        all have the same: an interval without width would say that nothing is uncertain.

    Source: T. Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 4.6.
    """
    names = list(statistics(terms.sum(0, keepdims=True)))
    if len(terms) < 2:
        return dict.fromkeys(names)

    def columns(sums: Floats) -> Floats:
        return np.stack(list(statistics(sums).values()), axis=1)

    wider = expanded(confidence, len(terms))
    sampled = resampled(terms, columns, count, seed)
    intervals = [percentile_interval(column, wider) for column in sampled.T]
    return {
        name: ends if ends is not None and ends[0] < ends[1] else None
        for name, ends in zip(names, intervals, strict=True)
    }


def expanded(confidence: float, n: int) -> float:
    """The confidence to ask percentiles for, so that n units give the `confidence` wanted."""
    reach = sqrt(n / (n - 1)) * student_t((1 + confidence) / 2, n - 1)
    return 2 * NormalDist().cdf(reach) - 1


@lru_cache(maxsize=256)
def student_t(p: float, df: float) -> float:
    """The p quantile of Student's t distribution with `df` degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(df, p))
