"""How sure a number is. Arrays in, arrays out; the query is the unit."""

from __future__ import annotations

from kragx.comparison.statistics.correction import holm
from kragx.comparison.statistics.paired import (
    TOLERANCE,
    effect_sizes,
    queries_needed,
    sign_flip_p,
    tally,
)
from kragx.comparison.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    mean_intervals,
    percentile_interval,
    resampled_means,
    resamples,
)

__all__ = [
    "CONFIDENCE",
    "RESAMPLES",
    "SEED",
    "TOLERANCE",
    "effect_sizes",
    "holm",
    "mean_intervals",
    "percentile_interval",
    "queries_needed",
    "resampled_means",
    "resamples",
    "sign_flip_p",
    "tally",
]
