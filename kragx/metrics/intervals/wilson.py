"""How sure means are: Wilson's interval where values lie in a range, else the bootstrap's."""

from collections.abc import Sequence
from math import floor, log
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from kragx.data.lists import Bools, Floats, Ints
from kragx.ground.errors import UsageError
from kragx.metrics.intervals.bootstrap import (
    CONFIDENCE,
    DECIMALS,
    LEAST,
    RESAMPLES,
    SEED,
    TOLERANCE,
    Interval,
    check_confidence,
    percentile_intervals,
)
from kragx.metrics.intervals.student import student_t
from kragx.metrics.weights import effective_n, mean_and_variance

_SURE = 160
"""As sure as so many hits and misses a few alike values do not make anybody: `_unseen`."""


def mean_intervals(
    values: Floats,
    ranges: Sequence[Interval | None],
    confidence: float = CONFIDENCE,
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    weights: Floats | None = None,
) -> Floats:
    """The interval of each column's mean.

    Args:
        values: (q, c) a value for each query; NaN where it has none.
        ranges: (c) between what a column's values lie; None where nothing bounds them, as seconds,
            and for differences. A range that a value leaves is none.
        confidence: between 0 and 1.
        count: how many resamples, of columns without a range.
        seed: of the resamples.
        weights: (q) how many asks each query stands for; None where all are alike.

    Returns:
        (2, c) the ends; NaN with fewer than three values, and where all are the same, unless that
        is an end of their range: thirty hits of thirty say something, thirty times 0.4 does not.
    """
    low, high = (
        np.array([np.nan if range_ is None else range_[end] for range_ in ranges]) for end in (0, 1)
    )
    with np.errstate(invalid="ignore"):
        inside = ((values >= low) & (values <= high)) | np.isnan(values)
    # Without a range its ends are NaN, and no value lies between these.
    bounded = ~np.isnan(low) & inside.all(axis=0)
    ends = np.full((2, values.shape[1]), np.nan)
    ends[:, bounded] = score_intervals(
        values[:, bounded], low[bounded], high[bounded], confidence, weights=weights
    )
    ends[:, ~bounded] = percentile_intervals(
        values[:, ~bounded], confidence, count, seed, weights=weights
    )
    return ends


def wilson_interval(share: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """The interval of a share: every p that a two-sided score test of n trials leaves standing.

    It has a width where all are hits too: of n hits of n the low end is n / (n + z^2), which with
    z = 1.96 lies above .95 from n = 73 on.

    Args:
        share: of hits, in [0, 1].
        n: of how many trials, above 0.
        confidence: between 0 and 1.

    Returns:
        Its ends, within [0, 1].

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22, 1927.
    """
    if not (0 <= share <= 1 and n > 0):
        raise UsageError("{share!r} of {n!r} trials is no share", share=share, n=n)
    reach = NormalDist().inv_cdf((1 + check_confidence(confidence)) / 2)
    ends = _score_ends(np.array([share]), np.array([float(n)]), np.array([reach]))
    low, high = ends[:, 0].tolist()
    return low, high


def _score_ends(mean: Floats, n: Floats, reach: Floats) -> Floats:
    """(2, c) where a score test of n trials gives way, within [0, 1]."""
    wider = reach**2 / n
    centre = (mean + wider / 2) / (1 + wider)
    margin = np.sqrt(wider * (mean * (1 - mean) + wider / 4)) / (1 + wider)
    ends: Floats = np.clip(np.stack([centre - margin, centre + margin]), 0, 1).round(DECIMALS)
    return ends


def _trials(mean: Floats, variance: Floats, n: Floats, between: Floats | Ints) -> Floats:
    """(c) how many hits and misses would be as sure of a mean in [0, 1] as n values are.

    Args:
        mean: (c) the means.
        variance: (c) their variances, those of the values over n.
        n: (c) how many values.
        between: (c) how many are not 0, or how many not 1, the fewer of the two.
    """
    seldom = 1 / np.maximum(between, 1)
    return n * (mean * (1 - mean) * n + seldom) / (variance * n**2 + seldom)


def score_interval(
    mean: float, variance: float, n: float, between: float, confidence: float = CONFIDENCE
) -> Interval:
    """The same as `score_intervals` of an estimate of a mean in [0, 1] by n values.

    Args:
        mean: the estimate, in [0, 1].
        variance: its variance.
        n: by how many values it is known; Kish's number of weighted ones.
        between: how many of these are not 0, or how many not 1, the fewer of the two.
        confidence: between 0 and 1.

    Returns:
        Its ends, within [0, 1].
    """
    sample = np.array([[mean], [variance], [n], [between]], np.float64)
    reach = np.array([student_t((1 + confidence) / 2, max(1, floor(n + 1e-9) - 1))])
    low, high = _score_ends(sample[0], _trials(*sample), reach)[:, 0].tolist()
    return low, high


def score_intervals(
    values: Floats,
    low: Floats,
    high: Floats,
    confidence: float = CONFIDENCE,
    *,
    weights: Floats | None = None,
) -> Floats:
    """Wilson's interval of each column's mean, of values that lie in a known range.

    Zeros and ones have Wilson's own interval. Other values vary less than zeros and ones of the
    same mean m, so that n of them are worth n m (1 - m) / v trials, with v their variance: Wilson's
    interval of so many, with Student's t for z, as v is estimated. Where most have the same value v
    rests on a few, of which more than 1 / (their number) is not known: so much of a trial is added
    to both variances. Where all are nearly alike, near an end of the range or not, v says nothing
    of a question unlike them; for those the ends allow as well (`_unseen`). Bootstrap intervals
    know nothing of values that were not drawn, and end where the sample ends; these do not
    (docs/evidence/intervals.md has what was measured).

    Args:
        values: (q, c) a value for each query; NaN where it has none.
        low: (c) the least value that each column can have.
        high: (c) the greatest.
        confidence: between 0 and 1.
        weights: (q) how many asks each query stands for; None where all are alike.

    Returns:
        (2, c) the ends; NaN with fewer than three values, and where all are the same within the
        range: of the spread of others they say nothing.

    Sources: E. B. Wilson, 1927, as above; the effective number of trials: P. S. Kott, D. A. Carr,
    Developing an estimation strategy for a pesticide data program, Journal of Official Statistics
    13(4), 1997; what was not seen: as of `_unseen`.
    """
    if weights is not None:
        values = np.where(weights[:, None] > 0, values, np.nan)
    defined = ~np.isnan(values)
    n = defined.sum(axis=0)
    columns = np.flatnonzero(n >= LEAST)
    ends = np.full((2, values.shape[1]), np.nan)
    width = (high - low)[columns]
    # Moved to [0, 1], of which Wilson's interval is; absent values are masked from here on.
    x = np.where(defined, (values - low) / (high - low), 0.0)[:, columns]
    present = defined[:, columns]
    sample = _sample(x, present) if weights is None else _weighted(x, present, weights)
    mean, squares, n, p = sample.mean, sample.squares, sample.n, (1 + confidence) / 2
    between = np.minimum((present & (x > 0)).sum(axis=0), (present & (x < 1)).sum(axis=0))
    zeros_and_ones = ((x == 0) | (x == 1)).all(axis=0)
    are_counts = zeros_and_ones & sample.are_counts
    # Of weighted questions n is no whole number, and may be below two.
    reach = np.array([student_t(p, max(round(count) - 1, 1)) for count in n.tolist()])
    trials = np.where(are_counts, n, _trials(mean, sample.variance, n, between))
    reach = np.where(are_counts, NormalDist().inv_cdf(p), reach)
    ends_here = _score_ends(mean, trials, reach)
    # Kish's number may lie below three, and n - 2 stands below a line there.
    seldom = np.maximum(n, LEAST)
    below, above = np.where(
        zeros_and_ones, 0.0, _unseen(x, present, mean, seldom, squares, confidence)
    )
    ends_here[0] = np.minimum(ends_here[0], (mean * n / (n + below)).round(DECIMALS))
    ends_here[1] = np.maximum(ends_here[1], ((mean * n + above) / (n + above)).round(DECIMALS))
    lower = low[columns] + width * ends_here
    # What is the same differs by its last digits at most: by 1e-9, squared.
    alike = ~zeros_and_ones & (squares <= n * 1e-18)
    ends[:, columns] = np.where(alike, np.nan, lower)
    return ends


class _Sample(NamedTuple):
    """What is known of (c) columns of values in [0, 1].

    `n` is as many values of equal weight as are as sure, `squares` the sum of their squared
    distances from the mean, and `variance` that of the mean. `are_counts`: whether zeros and ones
    are as sure as so many hits and misses.
    """

    mean: Floats
    variance: Floats
    squares: Floats
    n: Floats
    are_counts: Bools


def _sample(x: Floats, present: Bools) -> _Sample:
    n = present.sum(axis=0).astype(np.float64)
    mean = np.clip(x.sum(axis=0) / n, 0, 1)
    squares = (np.where(present, x - mean, 0.0) ** 2).sum(axis=0)
    return _Sample(mean, squares / (n - 1) / n, squares, n, np.ones(len(n), bool))


_OF_WEIGHTS = 50
"""As many questions as this are as sure of a variance as weights alone are: `_weighted`."""


def _weighted(x: Floats, present: Bools, weights: Floats) -> _Sample:
    """What is known by weights.

    How far a mean varies is told by weights alone (Kish), which is wrong where they go with the
    values, and by each question's part in it (Hajek), which few questions do not tell: the latter
    counts as much as it knows (docs/evidence/intervals.md).
    """
    mean, linear = mean_and_variance(np.where(present, x, np.nan), weights)
    n = np.array([effective_n(weights, column) for column in present.T])
    shares = np.where(present, weights[:, None], 0.0) / (present * weights[:, None]).sum(axis=0)
    by_weights = (shares * (x - mean) ** 2).sum(axis=0) / n
    trust = n / (n + _OF_WEIGHTS)
    variance = trust * linear + (1 - trust) * by_weights
    # Such squares as equal weights would have for this variance: `_unseen` reads them.
    squares = variance * n * np.maximum(n - 1, 1)
    return _Sample(np.clip(mean, 0, 1), variance, squares, n, np.zeros(len(n), bool))


def _unseen(
    x: Floats, present: Bools, mean: Floats, n: Floats, squares: Floats, confidence: float
) -> Floats:
    """(2, c) how many questions more, all 0 or all 1, n that show none of them leave possible.

    Of what n questions do not show, as many as -ln(1 - confidence) in n may be: three at 95 %. An
    interval that is no surer than 160 hits and misses would be knows that by its width; the surer
    the values but for the farthest would be, the more of the three count. Nothing found is possible
    of any question. The greatest value that several share is likely the greatest that there is, as
    .1 is in precision@10 of one gold item: upwards they count that many times less.

    Args:
        x: (q, c) values in [0, 1].
        present: (q, c) which of them there are.
        mean: (c) the means.
        n: (c) how many there are, at least three.
        squares: (c) the sums of their squared distances from the mean.
        confidence: between 0 and 1.

    Source: J. Hanley, A. Lippman-Hand, If nothing goes wrong, is everything all right?, Journal of
    the American Medical Association 249, 1983.
    """
    far = np.stack(
        [x.min(axis=0, initial=1, where=present), x.max(axis=0, initial=0, where=present)]
    )
    mean_of_rest = (n * mean - far) / (n - 1)
    # Rounding may take more than there is.
    spread = np.maximum(squares - (far - mean) ** 2 * n / (n - 1), 0) / (n - 2)
    of_hits = mean_of_rest * (1 - mean_of_rest)
    between = of_hits > TOLERANCE  # where all others are 0 or 1 the width knows it
    trials_less = np.divide(spread, of_hits * n, out=np.ones_like(mean_of_rest), where=between)
    widening: Floats = -log(1 - confidence) * np.maximum(1 - _SURE * trials_less, 0)
    widening[1] /= np.maximum((present & (x >= far[1] - TOLERANCE)).sum(axis=0), 1)
    return widening
