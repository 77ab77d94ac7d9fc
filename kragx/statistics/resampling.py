"""The bootstrap over queries: how often each query stands in each resample, block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kragx.errors import UsageError
from kragx.table import Floats

CONFIDENCE = 0.95
"""The confidence of an interval, unless told otherwise."""

RESAMPLES = 10_000
"""How many bootstrap resamples, or random sign flips, unless told otherwise."""

SEED = 0
"""The seed of what is random, unless told otherwise: the same data give the same interval."""

_BLOCK_CELLS = 4_000_000


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
    if count < 1:
        raise UsageError(f"resamples: {count} is not above 0")
    rows = max(1, min(count, _BLOCK_CELLS // n))
    sizes = [rows] * (count // rows) + ([count % rows] if count % rows else [])
    for size, child in zip(sizes, np.random.SeedSequence(seed).spawn(len(sizes))):
        drawn = np.random.default_rng(child).integers(0, n, size=(size, n))
        drawn += n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


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
