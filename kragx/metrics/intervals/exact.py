"""Exact limits of a share: for what must not happen, where an interval that errs is no promise."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count
from math import exp, lgamma, log, log1p
from typing import Literal

import numpy as np

from kragx.data.lists import Floats, Ints
from kragx.ground.printing import interval, joined, limits, message
from kragx.metrics.intervals.bootstrap import CONFIDENCE, LEAST, Interval
from kragx.metrics.weights import effective_n, weighted_mean

Kind = Literal["score", "exact", "capped"]
"""How sure a mean is: as all others are; by exact limits of the share of values above 0; or as all
others are, with an upper end no higher than that limit."""


_NO_MORE = 1e-15
"""Factors this near to 1 change nothing."""


@lru_cache(maxsize=4096)
def exact_limits(hits: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """The exact binomial limits of a share of which n questions show `hits`.

    Each is passed with a chance of at most (1 - confidence) / 2, whatever the share is. Without a
    hit the upper one is 1 - a^(1/n), with a that chance: 1.222 % of 300 questions at 95 %. Of
    weighted questions neither number is whole.

    Source: C. Clopper, E. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
    """
    tail = (1 - confidence) / 2
    return _least_share(hits, n, tail), 1 - _least_share(n - hits, n, tail)


def _least_share(hits: float, n: float, tail: float) -> float:
    """The share of which n questions show at least so many hits with a chance of `tail`.

    0 without a hit, of which no share is too small. Of weighted questions, hits and n are no whole
    numbers.
    """
    if hits <= _NO_MORE * n:
        return 0.0
    a, b = hits, n - hits + 1
    ways = lgamma(a + b) - lgamma(a) - lgamma(b)
    low, share, high = 0.0, hits / (n + 1), 1.0
    # By Newton's steps, by halving where one leaves what is left.
    for _ in range(200):
        above = _beta_share(share, a, b) - tail
        low, high = (low, share) if above > 0 else (share, high)
        slope = exp(ways + (a - 1) * log(share) + (b - 1) * log1p(-share))
        step = above / slope if slope > 0 else share
        following = share - step if low < share - step < high else (low + high) / 2
        if abs(following - share) <= _NO_MORE * share:
            break
        share = following
    return share


def _beta_share(x: float, a: float, b: float) -> float:
    """How much of a beta distribution lies below x: the regularised incomplete beta function.

    Source: W. Press and others, Numerical Recipes, third edition, 2007, section 6.4: Lentz's way
    through the continued fraction, from the end where it is short.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    ways = lgamma(a + b) - lgamma(a) - lgamma(b)
    front = exp(ways + a * log(x) + b * log1p(-x)) / a
    above, below, fraction = 1.0, 0.0, 1.0
    for step in count():
        half = step // 2
        if step % 2:
            term = -(a + half) * (a + b + half) * x / ((a + step - 1) * (a + step))
        else:
            term = half * (b - half) * x / ((a + step - 1) * (a + step)) if step else 1.0
        below = 1 / (1 + term * below)
        above = 1 + term / above
        fraction *= above * below
        if step and abs(above * below - 1) < _NO_MORE:
            return front * (fraction - 1)
    raise AssertionError("unreachable")


def with_exact_limits(
    ends: Floats,
    values: Floats,
    kinds: Sequence[Kind],
    n_open: Ints,
    shifts: Floats,
    confidence: float = CONFIDENCE,
    *,
    weights: Floats | None = None,
) -> Floats:
    """Intervals of means, those of some columns by exact limits.

    Args:
        ends: (2, c) the intervals as of all metrics.
        values: (q, c); NaN where a question has none, or it is not known.
        kinds: (c) of each column.
        n_open: (c) of how many questions it is not known: the lower limit is that of none of them
            with a value above 0, the upper one that of all.
        shifts: (2, c) how far these may put the mean, below 0 and above it.
        confidence: between 0 and 1.
        weights: (q) of the questions: shares are by these, of Kish's number of questions; None
            where all are alike.

    Returns:
        (2, c) the ends; NaN of a column without a question.
    """
    limits = ends.copy()
    for column, (kind, extra) in enumerate(zip(kinds, n_open.tolist(), strict=True)):
        hits = int((values[:, column] > 0).sum())
        # Means over several runs, of which some only are above 0, are no counts.
        is_count = kind == "exact" and hits == (values[:, column] == 1).sum()
        present = ~np.isnan(values[:, column])
        n_known = int(present.sum())
        if kind == "score" or not n_known + extra:
            continue
        n, fewest, largest = float(n_known + extra), float(hits), float(hits + extra)
        if weights is not None and n_known:
            worth = effective_n(weights, present) / n_known
            share = weighted_mean(np.where(present, values[:, column] > 0, np.nan), weights) or 0.0
            n *= worth
            # What is open counts by its weight, or as much as others where nobody says that.
            ends_of_share = (share + shifts[:, column]).round(12).clip(0, 1) * n
            fewest = min(share * n_known * worth, ends_of_share[0])
            largest = max(n - (1 - share) * n_known * worth, ends_of_share[1])
        low, high = exact_limits(fewest, n, confidence)[0], exact_limits(largest, n, confidence)[1]
        if not is_count:
            below, above = ends[:, column] + shifts[:, column]
            low, high = max(below, 0.0), min(above, high)
        limits[:, column] = low, high
    return limits


TOO_FEW, ALIKE = message("too few to tell"), message("all alike")
"""What stands for an interval where there is none."""

_REASONS = {
    TOO_FEW: message("too few to tell: fewer than {n} queries have no interval", n=LEAST),
    ALIKE: message(
        "all alike: the same for each query, too few to tell how far others would differ"
    ),
}


def ends_text(
    low: float | None,
    high: float | None,
    n: int,
    effective: float | None = None,
    *,
    plus: bool = False,
    exact: bool = False,
) -> str:
    """The interval of a mean of n values, or why it has none; empty of no value.

    `effective` is Kish's n, None where all weigh alike; `plus` is for differences, whose sign is
    shown; `exact` for shares that are a promise.
    """
    if low is not None and high is not None:
        return limits(low, high) if exact else interval(low, high, plus=plus)
    n_sure = n if effective is None else round(effective)
    return "" if n == 0 else TOO_FEW if n_sure < LEAST else ALIKE


def with_reasons(reason_codes: Iterable[str], *notes: str) -> str:
    """The notes of a table, and what it means that some intervals are not there."""
    reasons = set(reason_codes)
    texts = [text for reason, text in _REASONS.items() if reason in reasons]
    return joined("; ", [*notes, *texts])
