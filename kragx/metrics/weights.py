"""What each question stands for: how often it is asked, over its chance of having been drawn."""

from __future__ import annotations

import numpy as np

from kragx.data.lists import Bools, Floats
from kragx.data.weights import unequal, weights_said


def question_weights(asks: Floats, inclusion: Floats) -> Floats | None:
    """How many asks of the whole traffic each question stands for; None where all are alike.

    Args:
        asks: (q) how many asks were folded into each question, 0 or more.
        inclusion: (q) its chance of having been drawn, above 0 and at most 1.

    Source: D. Horvitz, D. Thompson, A generalization of sampling without replacement from a finite
    universe, Journal of the American Statistical Association 47, 1952.
    """
    return unequal(weights_said(asks, inclusion), "questions")


def counting(values: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """The values that there are, of questions that weigh anything, with their weights.

    Args:
        values: (q); NaN where a question has none.
        weights: (q); None where all are alike.
    """
    if weights is None:
        # As a rule all have a value, and then nothing is copied.
        absent = np.isnan(values)
        return (values[~absent] if absent.any() else values), None
    counts = ~np.isnan(values) & (weights > 0)
    return values[counts], weights[counts]


def weighted_mean(values: Floats, weights: Floats | None = None) -> float | None:
    """The mean of the values that there are: sum of w y over the sum of w.

    Args:
        values: (q); NaN where a question has none.
        weights: (q); None where all are alike.

    Returns:
        None without a value, and where all that have one weigh nothing.

    Source: J. Hajek, in Foundations of Statistical Inference, 1971.
    """
    scored, asks = counting(values, weights)
    if not scored.size:
        return None
    return float(scored.mean() if asks is None else (asks * scored).sum() / asks.sum())


def effective_n(weights: Floats | None, present: Bools) -> float:
    """How many questions of equal weight are as sure as these: Kish's (sum w)^2 / sum w^2.

    Args:
        weights: (q); None where all are alike.
        present: (q) which questions have a value.

    Source: L. Kish, Survey Sampling, 1965, section 11.7.
    """
    if weights is None:
        return float(present.sum())
    counted = weights[present]
    squares = float((counted**2).sum())
    return float(counted.sum()) ** 2 / squares if squares > 0 else 0.0


def mean_and_variance(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """(c) each column's weighted mean, and how far it would vary from sample to sample.

    The ratio of two sums as a straight line: sum of w^2 (y - mean)^2 over (sum of w)^2, times
    n / (n - 1). Weights that go with the values are in it; Kish's number knows nothing of them.

    Args:
        values: (q, c); NaN where a question has none. Each column has two at least.
        weights: (q), above 0 where there are values.

    Source: C.-E. Sarndal, B. Swensson, J. Wretman, Model Assisted Survey Sampling,
    1992, section 5.7.
    """
    present = ~np.isnan(values)
    asks = np.where(present, weights[:, None], 0.0)
    shares = asks / asks.sum(axis=0)
    mean = np.where(present, shares * values, 0.0).sum(axis=0)
    n = present.sum(axis=0)
    spread = (np.where(present, shares * (values - mean), 0.0) ** 2).sum(axis=0)
    return mean, spread * n / (n - 1)
