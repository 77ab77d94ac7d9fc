"""The bootstrap over queries: how often each query stands in each resample, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from kragx.comparison.statistics.exact import fixed_point
from kragx.errors import UsageError
from kragx.metrics.table import Floats

CONFIDENCE = 0.95
"""The confidence of an interval, unless told otherwise."""

RESAMPLES = 10_000
"""How many bootstrap resamples, or random sign flips, unless told otherwise."""

SEED = 0
"""The seed of what is random, unless told otherwise: the same data give the same interval."""

_BLOCK_CELLS = 4_000_000
_COLUMNS = 1_000

Result = TypeVar("Result")
Draw = Callable[[int, np.random.SeedSequence], Result]


def blocks(n: int, count: int, seed: int, work: Draw[Result], workers: int = 1) -> Iterator[Result]:
    """The results of `work` for `count` random rows of n cells, block by block, in order.

    Args:
        n: cells of a row.
        count: how many rows; a block has as many as fit in 4 million cells.
        seed: each block has a seed of its own, so who works on which block does not matter.
        work: from a number of rows and a seed to a result.
        workers: threads that work on blocks side by side.

    Raises:
        UsageError: `count` or `workers` is not above 0.
    """
    for name, value in (("resamples", count), ("workers", workers)):
        if value < 1:
            raise UsageError(f"{name}: {value} is not above 0")
    rows = max(1, min(count, _BLOCK_CELLS // max(n, 1)))
    sizes = [rows] * (count // rows) + ([count % rows] if count % rows else [])
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    if workers == 1 or len(sizes) == 1:
        yield from map(work, sizes, seeds)
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(work, sizes, seeds)


def resamples(n: int, count: int = RESAMPLES, seed: int = SEED) -> Iterator[Floats]:
    """Draw bootstrap resamples of n queries, as weights.

    A statistic that is made of sums over queries needs no copy of the data: with per-query terms
    ``x`` of shape (n, c), ``weights @ x`` has the sums of every resample.

    Args:
        n: how many queries there are.
        count: how many resamples.
        seed: the same seed draws the same resamples, whoever asks and in whatever order blocks are
            worked on: each block has a generator of its own.

    Yields:
        (b, n) blocks of whole numbers as floats: how often each query was drawn. Rows sum to n; the
        blocks together have `count` rows, and none is larger than 32 MB.

    Raises:
        UsageError: there is no query, or `count` is not above 0.
    """
    if n < 1:
        raise UsageError("no queries to resample")
    yield from blocks(n, count, seed, lambda size, child: _weights(n, size, child))


def _weights(n: int, size: int, seed: np.random.SeedSequence) -> Floats:
    drawn = np.random.default_rng(seed).integers(0, n, size=(size, n))
    drawn += n * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def resampled_means(
    values: Floats, count: int = RESAMPLES, seed: int = SEED, workers: int = 1
) -> Floats:
    """The mean of each column in each bootstrap resample of the rows.

    Args:
        values: (q, c) a value for each query; NaN where it has none. A column's mean is over those
            of its own queries that a resample drew.
        count: how many resamples, the same for every column.
        seed: the same seed gives the same bits, at any number of workers.
        workers: threads.

    Returns:
        (count, c); NaN where a resample drew no query that has a value.
    """
    defined = ~np.isnan(values)
    grid, unit = fixed_point(np.where(defined, values, 0.0))
    # Columns that lack the same queries share one count; usually none lacks any.
    patterns, pattern_of = np.unique(defined, axis=1, return_inverse=True)
    terms = np.hstack([grid, patterns.astype(np.float64)])
    n, c = values.shape

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        sums = _weights(n, size, child) @ terms
        with np.errstate(invalid="ignore"):
            means: Floats = sums[:, :c] * unit / sums[:, c:][:, pattern_of.ravel()]
        return means

    return np.vstack(list(blocks(n, count, seed, work, workers)))


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

    Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    ends = np.full((2, values.shape[1]), np.nan)
    known = np.flatnonzero((~np.isnan(values)).sum(axis=0) > 1)
    for start in range(0, len(known), _COLUMNS):
        chosen = known[start : start + _COLUMNS]
        sampled = resampled_means(values[:, chosen], count, seed, workers)
        ends[:, chosen] = _percentiles(sampled, confidence)
    return ends


def _percentiles(sampled: Floats, confidence: float) -> Floats:
    if np.isnan(sampled).any():
        found = [percentile_interval(column, confidence) for column in sampled.T]
        return np.array([(np.nan, np.nan) if each is None else each for each in found]).T
    tail = (1 - confidence) / 2
    columns = np.ascontiguousarray(sampled.T)  # three times as fast as down the rows
    ends: Floats = np.quantile(columns, (tail, 1 - tail), axis=1, overwrite_input=True)
    return ends


def percentile_interval(
    sampled: Floats, confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
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
