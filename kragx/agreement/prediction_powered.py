"""Prediction-powered means: a judge's values of all units, put right by people's of some.

The judge has a value for every unit, people for n of them. What people say of those n tells how far
off the judge is, so the mean over all units is corrected by it, and its interval says how sure that
is.
"""

from dataclasses import dataclass
from math import inf, isfinite, sqrt

import numpy as np

from kragx.comparison.statistics import (
    CONFIDENCE,
    Interval,
    check_confidence,
    score_interval,
    student_t,
)
from kragx.errors import UsageError
from kragx.metrics import Floats


@dataclass(frozen=True)
class CorrectedMean:
    """One mean, corrected.

    Attributes:
        value: the prediction-powered estimate.
        interval: of the mean over the population that the queries are a sample of; None where
            all human values are the same, unless that is the least or the greatest there can be.
        plain: the judge's mean over all queries, uncorrected.
        human: the human mean over the labelled queries alone.
        human_interval: of that one.
        weight: how much of the judge was used, from 0 (people alone) to 1.
        n_labelled, n_queries: how many queries people, and the judge, scored.
    """

    value: float
    interval: Interval | None
    plain: float
    human: float
    human_interval: Interval | None
    weight: float
    n_labelled: int
    n_queries: int


def prediction_powered(
    human: Floats,
    judge: Floats,
    rest: Floats,
    confidence: float = CONFIDENCE,
    bounds: Interval = (-inf, inf),
) -> CorrectedMean:
    """Estimate a mean from n human values, the judge's for the same units, and for other units.

    With f the judge's values and y the human ones the estimate is
    ``mean(y) + w * (mean of f over the rest - mean of f over the labelled)``, where the weight w is
    the one that makes its variance least, cut to [0, 1] (power tuning, PPI++). Its variance is
    ``var(y - w f) / n + w^2 var(f) / N``; the interval uses Student's t with n - 1 degrees of
    freedom, and n - 2 in the variance, as w is estimated from the same values. Between bounds it is
    Wilson's of as many hits and misses as would be that sure (`score_intervals`): one around the
    estimate would end beyond the bounds, and hold the truth too seldom where most queries are hits.

    Args:
        human: (n) the human value of each labelled unit.
        judge: (n) the judge's value of the same.
        rest: (N) the judge's value of each unit that people did not label; may be empty, and the
            estimate is then the human mean.
        confidence: between 0 and 1.
        bounds: between what the values lie; an estimate beyond is cut off.

    Raises:
        UsageError: fewer than three labelled units, or human and judge differ in number.

    Source: A. Angelopoulos, J. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference,
    2023.
    """
    n, n_rest = len(human), len(rest)
    if n < 3 or len(judge) != n:
        raise UsageError(f"{n} labelled and {len(judge)} judged units: at least 3 of each needed")
    check_confidence(confidence)
    mean = value = float(human.mean())
    everything = np.concatenate([judge, rest])
    spread = float(everything.var(ddof=1)) if n_rest >= 2 else 0.0
    weight = 0.0
    if spread > 0:
        covariance = float(((human - human.mean()) * (judge - judge.mean())).sum() / (n - 1))
        # A negative weight would subtract a judge that ranks backwards, and one above 1 trust it
        # more than people.
        weight = min(1.0, max(0.0, covariance / (spread * (1 + n / n_rest))))
        value = float(human.mean() + weight * (rest.mean() - judge.mean()))
    rectified = human - weight * judge
    residual = float(((rectified - rectified.mean()) ** 2).sum()) / (n - 2 if weight else n - 1)
    variance = residual / n + (weight**2 * spread / n_rest if weight else 0.0)

    low, width = bounds[0], bounds[1] - bounds[0]
    between = int(min((human > bounds[0]).sum(), (human < bounds[1]).sum()))

    def around(mean: float, variance: float) -> Interval | None:
        if between and variance <= 1e-24 * max(1, mean**2):  # equal, but for their last digits
            return None
        if not isfinite(width):
            margin = student_t((1 + confidence) / 2, n - 1) * sqrt(variance)
            return mean - margin, mean + margin
        ends = score_interval((mean - low) / width, variance / width**2, n, between, confidence)
        return low + width * ends[0], low + width * ends[1]

    value = min(bounds[1], max(bounds[0], value))
    return CorrectedMean(
        value=value,
        interval=around(value, variance),
        plain=float(everything.mean()),
        human=mean,
        human_interval=around(mean, float(human.var(ddof=1)) / n),
        weight=weight,
        n_labelled=n,
        n_queries=n + n_rest,
    )
