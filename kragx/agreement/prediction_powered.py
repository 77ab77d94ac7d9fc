"""Prediction-powered means: a judge's values of all units, put right by people's of some.

The judge has a value for every unit, people for n of them. What people say of those n tells how far
off the judge is, so the mean over all units is corrected by it, and its interval says how sure that
is. A unit may stand for many asks, and people's may have been drawn with unequal chances.
"""

from dataclasses import dataclass
from math import floor, inf, isfinite, sqrt

import numpy as np

from kragx.comparison.statistics import CONFIDENCE, Interval
from kragx.ground.errors import UsageError
from kragx.metrics import Floats
from kragx.metrics.intervals import score_interval, student_t
from kragx.metrics.weights import effective_n


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
    bounds: Interval = (-inf, inf),
    *,
    weights: Floats | None = None,
    chances: Floats | None = None,
) -> CorrectedMean:
    """Estimate a mean from n human values, the judge's for the same units, and for other units.

    With f the judge's values and y the human ones the estimate is the judge's mean over all plus
    what people say beyond it, ``mean of u f over all + mean of (y - u f) over the labelled``. The
    part u of the judge is the one that makes the variance least, cut to [0, 1] (power tuning). It
    is fitted, and so cross-fitted: each labelled unit has the u of all the others, as one that took
    part in choosing u would be corrected too little.

    Means are weighted: over all units by their weights w, over the labelled by w over the chance p
    with which people got them (v, of sum 1). The variance is that of leaving each labelled unit
    out (jackknife), in two phases: what it changes counts by 1 - p, as the labelled are drawn of
    all, and by p what it changes in the human mean, as all are a sample of a population. The
    interval uses Student's t with Kish's n of the labelled less one degrees of freedom. Between
    bounds it is Wilson's of as many hits and misses as would be that sure (`score_intervals`): one
    around the estimate would end beyond the bounds, and hold the truth too seldom where most
    queries are hits.

    Args:
        human: (n) the human value of each labelled unit.
        judge: (n) the judge's value of the same.
        rest: (N) the judge's value of each unit that people did not label; may be empty, and the
            estimate is then the human mean.
        bounds: between what the values lie; an estimate beyond is cut off.
        weights: (n + N) what each unit stands for, the labelled first; None where all are alike.
        chances: (n) each labelled unit's chance of having been given to people; None where all had
            the same.

    Raises:
        UsageError: fewer than three labelled units that weigh anything, or the arguments differ in
            number.

    Sources: A. Angelopoulos, J. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference,
    2023; T. Zrnic, E. Candes, Cross-prediction-powered inference, PNAS 121, 2024; two phases:
    C.-E. Sarndal, B. Swensson, J. Wretman, Model Assisted Survey Sampling, 1992, chapter 9.
    """
    everything = np.concatenate([judge, rest])
    n, n_all = len(human), len(everything)
    # Equal weights and chances are only a special case: one road gives both to the last bit.
    w = np.ones(n_all) if weights is None else weights
    p = np.full(n, n / max(n_all, 1)) if chances is None else chances
    are_whole = len(judge) == len(p) == n and len(w) == n_all
    if not (are_whole and ((p > 0) & (p <= 1)).all()) or np.count_nonzero(w[:n] > 0) < 3:
        raise UsageError(
            "{n_w} weights of {n_all} units, {n_judge} judge's values and {n_p} chances of {n} "
            "labelled: one for each is needed, chances above 0 and at most 1, and at least 3 "
            "labelled that weigh anything",
            n_w=len(w),
            n_all=n_all,
            n_judge=len(judge),
            n_p=len(p),
            n=n,
        )
    v = w[:n] / p
    v = v / v.sum()
    judge_mean = float((w / w.sum()) @ everything)
    used = _parts(v, human, judge, everything)
    value = float(v @ (human + used * (judge_mean - judge)))
    low, width = bounds[0], bounds[1] - bounds[0]
    # As many units of equal weight as would tell as much; so few decide how wide it is.
    n_effective = effective_n(v, v > 0)
    n_between = min(effective_n(v, human > bounds[0]), effective_n(v, human < bounds[1]))

    def around(mean: float, shifts: Floats | float) -> Interval | None:
        variance = _variance(v, p, human, shifts)
        if n_between and variance <= 1e-24 * max(1, mean**2):  # equal, but for their last digits
            return None
        if not isfinite(width):
            degrees = max(1, floor(n_effective + 1e-9) - 1)
            margin = student_t((1 + CONFIDENCE) / 2, degrees) * sqrt(variance)
            return mean - margin, mean + margin
        ends = score_interval(
            (mean - low) / width, variance / width**2, n_effective, n_between, CONFIDENCE
        )
        return low + width * ends[0], low + width * ends[1]

    # The estimate is unbiased and may lie beyond what a mean can be; nobody would believe that.
    value = min(bounds[1], max(bounds[0], value))
    return CorrectedMean(
        value=value,
        interval=around(value, used * (judge_mean - _without(v, judge))),
        plain=judge_mean,
        human=float(v @ human),
        human_interval=around(float(v @ human), 0.0),
        weight=float(v @ used),
        n_labelled=n,
        n_queries=n_all,
    )


def _without(v: Floats, values: Floats) -> Floats:
    """(n) the mean over the labelled by shares v, each of them left out in turn."""
    means: Floats = (v @ values - v * values) / (1 - v)
    return means


def _parts(v: Floats, human: Floats, judge: Floats, everything: Floats) -> Floats:
    """(n) how much of the judge is used beside each labelled unit, as all the others have it.

    A part below 0 would subtract a judge that ranks backwards, and one above 1 trust it more than
    people.
    """
    y, f = human - v @ human, judge - v @ judge
    # Without other units the judge has nothing to add to what people say themselves.
    if len(everything) == len(human):
        return np.zeros_like(y)
    products = _without(v, y * f) - _without(v, y) * _without(v, f)
    squares = _without(v, f * f) - _without(v, f) ** 2
    varies = squares > 1e-12 * everything.var()
    clipped: Floats = np.clip(np.divide(products, squares, np.zeros_like(y), where=varies), 0, 1)
    return clipped


def _variance(v: Floats, p: Floats, human: Floats, shifts: Floats | float) -> float:
    """Of the mean of human values by shares v and chances p, shifted.

    (n) the shifts with each unit left out in turn.
    """
    people = _without(v, human)
    left_out = people + shifts
    middle = (1 - v) @ left_out / (len(v) - 1)  # of a mean: the mean itself
    drawn = (1 - p) @ (middle - left_out) ** 2 + p @ (v @ human - people) ** 2
    return float(drawn) * (len(v) - 1) / len(v)
