"""What each question stands for: how often it is asked, over its chance of having been drawn."""

from __future__ import annotations

import numpy as np

from kragx.metrics.match_table import Bools, Floats


def question_weights(asks: Floats, inclusion: Floats) -> Floats | None:
    """How many asks of the whole traffic each question stands for.

    Args:
        asks: (q) how many asks were folded into each question, 0 or more.
        inclusion: (q) its chance of having been drawn, above 0 and at most 1.

    Returns:
        (q) asks over inclusion; None where all are alike, so that every number is the one without
        weights, to the last bit.

    Source: D. Horvitz, D. Thompson, A generalization of sampling without replacement from a finite
    universe, Journal of the American Statistical Association 47, 1952.
    """
    weights: Floats = asks / inclusion
    return weights if weights.size and np.ptp(weights) > 0 else None


def weighted_mean(values: Floats, weights: Floats | None) -> float | None:
    """The mean of the values that there are: sum of w y over the sum of w (Hajek's).

    Args:
        values: (q); NaN where a question has none.
        weights: (q); None where all are alike.

    Returns:
        None without a value, and where all that have one weigh nothing.
    """
    present = ~np.isnan(values)
    scored = values[present]
    if weights is None:
        return float(scored.mean()) if scored.size else None
    total = float(weights[present].sum())
    return float((weights[present] * scored).sum()) / total if total > 0 else None


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
