"""Exact limits of a share: for what must not happen, where an interval that errs is no promise."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np

from kragx.metrics.intervals.bootstrap import CONFIDENCE, Interval
from kragx.metrics.match_table import Floats, Ints
from kragx.metrics.weights import effective_n, weighted_mean

Kind = Literal["score", "exact", "capped"]
"""How sure a mean is: as all others are; by exact limits of the share of values above 0; or as all
others are, with an upper end no higher than that limit."""


@lru_cache(maxsize=4096)
def exact_limits(hits: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """The exact binomial limits of a share of which n questions show `hits`.

    Neither need be whole, as Kish's number of weighted questions is not.

    Each is passed with a chance of at most (1 - confidence) / 2, whatever the share is. Without a
    hit the upper one is 1 - a^(1/n), with a that chance: 1.222 % of 300 questions at 95 %.

    Source: C. Clopper, E. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
    """
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    # The quantiles of a beta distribution; without hits, or with nothing else, one has no end.
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def with_exact_limits(
    ends: Floats,
    values: Floats,
    kinds: Sequence[Kind],
    n_open: Ints,
    doubts: Floats,
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
        doubts: (2, c) how far these may put the mean, below 0 and above it.
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
        n: float = n_known + extra
        if kind == "score" or not n:
            continue
        fewest: float = hits
        most: float = hits + extra
        if weights is not None:
            n *= effective_n(weights, present) / n_known if n_known else 1
            share = weighted_mean(np.where(present, values[:, column] > 0, np.nan), weights)
            fewest, most = (
                min(max((share or 0.0) + of, 0.0), 1.0) * n for of in doubts[:, column].tolist()
            )
            most = most if n_known else n
        low, high = (
            exact_limits(fewest, n, confidence)[0],
            exact_limits(most, n, confidence)[1],
        )
        if not is_count:
            below, above = ends[:, column] + doubts[:, column]
            low, high = max(below, 0.0), min(above, high)
        limits[:, column] = low, high
    return limits
