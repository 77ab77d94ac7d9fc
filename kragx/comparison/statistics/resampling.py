"""The bootstrap over queries: how often each query stands in each resample, block by block.

There is one: means, differences, agreement and calibration all resample through `resampled`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from kragx.comparison.statistics.exact import fixed_point
from kragx.errors import UsageError
from kragx.metrics.table import Floats

RESAMPLES = 10_000
"""How many bootstrap resamples, or random sign flips, unless told otherwise."""

SEED = 0
"""The seed of what is random, unless told otherwise: the same data give the same interval."""

_BLOCK_CELLS = 4_000_000

Outcome = TypeVar("Outcome")
Draw = Callable[[int, np.random.SeedSequence], Outcome]


def blocks(
    n: int, count: int, seed: int, work: Draw[Outcome], workers: int = 1
) -> Iterator[Outcome]:
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


def _weights(n: int, size: int, seed: np.random.SeedSequence) -> Floats:
    """(size, n) how often each query was drawn, as whole numbers; rows sum to n."""
    drawn = np.random.default_rng(seed).integers(0, n, size=(size, n))
    drawn += n * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def resampled(
    terms: Floats,
    statistic: Callable[[Floats], Floats],
    count: int = RESAMPLES,
    seed: int = SEED,
    workers: int = 1,
) -> Floats:
    """A statistic that is made of sums over queries, in each bootstrap resample of the queries.

    Such a statistic needs no copy of the data: with the terms as rows of x and how often each query
    was drawn as weights, ``weights @ x`` has the sums of every resample. Blocks of weights are no
    larger than 32 MB.

    Args:
        terms: (n, ...) what each query adds to the sums.
        statistic: from sums of shape (b, ...), of b resamples, to values of shape (b, ...).
        count: how many resamples.
        seed: the same seed draws the same resamples, whatever is made of them.
        workers: threads; they change no bit if the terms are whole numbers.

    Returns:
        (count, ...) the values of `statistic`.

    Raises:
        UsageError: there is no query, or `count` or `workers` is not above 0.
    """
    n = len(terms)
    if n < 1:
        raise UsageError("no queries to resample")
    flat = terms.reshape(n, -1)
    rows = max(1, _BLOCK_CELLS // max(flat.shape[1], 1))  # sums are to need no more than weights

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        weights = _weights(n, size, child)
        sums = (weights[start : start + rows] @ flat for start in range(0, size, rows))
        return np.concatenate([statistic(part.reshape(-1, *terms.shape[1:])) for part in sums])

    return np.concatenate(list(blocks(n, count, seed, work, workers)))


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
    c = values.shape[1]

    def means(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            ratio: Floats = sums[:, :c] * unit / sums[:, c:][:, pattern_of.ravel()]
        return ratio

    terms = np.hstack([grid, patterns.astype(np.float64)])
    return resampled(terms, means, count, seed, workers)
