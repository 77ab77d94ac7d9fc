"""How sure means are: Wilson's interval where values lie in a range, else the bootstrap's."""

from collections.abc import Sequence

import numpy as np

from kragx.data.lists import Floats
from kragx.metrics.intervals.bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    Interval,
    percentile_intervals,
)
from kragx.metrics.intervals.wilson import score_intervals


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
