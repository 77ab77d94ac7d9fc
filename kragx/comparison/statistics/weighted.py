"""Questions that stand for unlike many asks: what the tests of unweighted ones are made of then."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kragx.comparison.statistics.randomisation_tests import Rows
from kragx.metrics import Bools, Floats
from kragx.metrics.weights import effective_n


def of_rows(weights: Floats | None, rows: Rows | None) -> Floats | None:
    """The weights of some questions; None where those are alike, unless all are 0."""
    if weights is None:
        return None
    part: Floats = weights if rows is None else weights[rows]
    # Weights that are alike are dropped: sums with them differ from plain means in the last bits.
    # Weights of 0 alone are kept, as nobody asks any of these questions.
    return part if part.size and (np.ptp(part) > 0 or not part.any()) else None


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
    if weights is None:
        n = present.sum(axis=0)
        means: Floats = np.where(present, values, 0.0).sum(axis=0) / np.maximum(n, 1)
        return means
    totals = weights @ present
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted: Floats = weights @ np.where(present, values, 0.0) / totals
    return weighted


def column_means(values: Floats, weights: Floats | None) -> Floats:
    """(c) the mean of each column of (q, c) values, none of which is missing."""
    means: Floats = values.mean(axis=0) if weights is None else weighted_means(values, weights)
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
    if weights is None or not weights.any():
        return values
    means = weighted_means(values, weights)
    result: Floats = means + (weights / weights.mean())[:, None] * (values - means)
    return result


def signed(columns: Iterable[Floats], weights: Floats | None) -> Iterable[Floats]:
    """Differences as their signs are flipped: each by the weight of its question."""
    return columns if weights is None else (column * scaled(weights) for column in columns)
