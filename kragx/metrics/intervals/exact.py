"""Exact limits of a share: for what must not happen, where an interval that errs is no promise."""

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, exp, lgamma, log, log1p, sqrt
from typing import Literal

import numpy as np

from kragx.metrics.intervals.bootstrap import CONFIDENCE, Interval
from kragx.metrics.match_table import Floats, Ints

Kind = Literal["score", "exact", "capped"]
"""How sure a mean is: as all others are; by exact limits of the share of values above 0; or as all
others are, with an upper end no higher than that limit."""


@lru_cache(maxsize=4096)
def exact_limits(hits: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact binomial limits of a share of which n questions show `hits`.

    Each is passed with a chance of at most (1 - confidence) / 2, whatever the share is. Without a
    hit the upper one is 1 - a^(1/n), with a that chance: 1.222 % of 300 questions at 95 %.

    Source: C. Clopper, E. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
    """
    tail = (1 - confidence) / 2
    return _least_share(hits, n, tail), 1 - _least_share(n - hits, n, tail)


def _least_share(hits: int, n: int, tail: float) -> float:
    """The share of which n questions show at least so many hits with a chance of `tail`.

    That chance, a sum of binomial ones, rises with the share, so that the share is found by
    halving. 0 without a hit, of which no share is too small.
    """
    if hits == 0:
        return 0.0
    if hits == n:
        return exp(log(tail) / n)
    ways = lgamma(n + 1) - lgamma(hits + 1) - lgamma(n - hits + 1)
    # Below hits / n, where the share is, chances fall from `hits` on: 20 deviations are all of it.
    further = np.arange(1, min(n - hits, ceil(10 * sqrt(n)) + 50) + 1)
    factors = (n - hits - further + 1) / (hits + further)
    low, high = 0.0, hits / n
    while low < (share := (low + high) / 2) < high:
        chance = exp(ways + hits * log(share) + (n - hits) * log1p(-share))
        is_more = chance * (1 + float(np.cumprod(factors * share / (1 - share)).sum())) > tail
        low, high = (low, share) if is_more else (share, high)
    return low


def with_exact_limits(
    ends: Floats,
    values: Floats,
    kinds: Sequence[Kind],
    n_open: Ints,
    doubts: Floats,
    confidence: float = CONFIDENCE,
) -> Floats:
    """Intervals of means, those of some columns by exact limits.

    Args:
        ends: (2, c) the intervals as of all metrics.
        values: (q, c); NaN where a question has none, or it is not known.
        kinds: (c) of each column.
        n_open: (c) of how many questions it is not known: the lower limit is that of none of them
            with a value above 0, the upper one that of all.
        doubts: (2, c) how far these may put the mean, below 0 and above it.
        confidence: between 0 and 1.

    Returns:
        (2, c) the ends; NaN of a column without a question.
    """
    limits = ends.copy()
    for column, (kind, extra) in enumerate(zip(kinds, n_open.tolist(), strict=True)):
        hits = int((values[:, column] > 0).sum())
        # Means over several runs, of which some only are above 0, are no counts.
        is_count = kind == "exact" and hits == (values[:, column] == 1).sum()
        n = int((~np.isnan(values[:, column])).sum()) + extra
        if kind == "score" or not n:
            continue
        low, high = (
            exact_limits(hits, n, confidence)[0],
            exact_limits(hits + extra, n, confidence)[1],
        )
        if not is_count:
            below, above = ends[:, column] + doubts[:, column]
            low, high = max(below, 0.0), min(above, high)
        limits[:, column] = low, high
    return limits
