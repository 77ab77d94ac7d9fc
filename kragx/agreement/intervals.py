"""Intervals with the query as the unit, for statistics that are made of sums over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import exp, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np

from kragx.comparison.statistics import percentile_interval, resamples
from kragx.errors import UsageError
from kragx.metrics.table import Floats

Interval = tuple[float, float]

_CELLS = 4_000_000


def check_confidence(value: float) -> float:
    """`value` if it is a confidence; else a `UsageError`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise UsageError(f"confidence: {value!r} is not between 0 and 1; 0.95 is usual")
    return float(value)


def bootstrap(
    terms: Floats,
    statistics: Callable[[Floats], Mapping[str, Floats]],
    *,
    confidence: float,
    count: int,
    seed: int,
) -> dict[str, Interval | None]:
    """Expanded percentile intervals.

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
    n = len(terms)
    if n < 2:
        return dict.fromkeys(statistics(terms.sum(0, keepdims=True)))
    flat = terms.reshape(n, -1)
    sampled: dict[str, list[Floats]] = {}
    for weights in _blocks(n, count, seed, flat.shape[1]):
        sums = (weights @ flat).reshape(len(weights), *terms.shape[1:])
        for name, values in statistics(sums).items():
            sampled.setdefault(name, []).append(values)
    wider = expanded(confidence, n)
    found = {
        name: percentile_interval(np.concatenate(parts), wider) for name, parts in sampled.items()
    }
    return {name: ends if ends and ends[0] < ends[1] else None for name, ends in found.items()}


def _blocks(n: int, count: int, seed: int, width: int) -> Iterator[Floats]:
    rows = max(1, _CELLS // width)
    for block in resamples(n, count, seed):
        for start in range(0, len(block), rows):
            yield block[start : start + rows]


def expanded(confidence: float, n: int) -> float:
    """The confidence to ask percentiles for, so that n units give the `confidence` wanted."""
    reach = sqrt(n / (n - 1)) * student_t((1 + confidence) / 2, n - 1)
    return 2 * NormalDist().cdf(reach) - 1


@lru_cache(maxsize=256)
def student_t(p: float, df: float) -> float:
    """The p quantile of Student's t distribution, for p of at least one half."""
    low, high = 0.0, 2.0
    while _t_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def _t_cdf(t: float, df: float) -> float:
    return 1 - _beta(df / (df + t * t), df / 2, 0.5) / 2


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz).

    Source: W. Press et al., Numerical Recipes, 3rd edition, section 6.4.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    value = d
    for m in range(1, 500):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d or tiny)
            c = 1 + step / c or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * value
