"""How sure a number is. Arrays in, arrays out; the query is the unit."""

from kragx.comparison.statistics.bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    Interval,
    check_confidence,
    expanded,
    expanded_intervals,
    mean_intervals,
    percentile_interval,
    resampled,
    resampled_means,
    student_t,
)
from kragx.comparison.statistics.evidence import (
    enough,
    exact_limits,
    least_p,
    sure_bounds,
    unseen,
)
from kragx.comparison.statistics.paired import (
    TOLERANCE,
    effect_sizes,
    holm,
    queries_needed,
    sign_flip_p,
    tally,
)
from kragx.comparison.statistics.wilson import wilson_interval

__all__ = [
    "CONFIDENCE",
    "RESAMPLES",
    "SEED",
    "TOLERANCE",
    "Interval",
    "check_confidence",
    "effect_sizes",
    "enough",
    "exact_limits",
    "expanded",
    "expanded_intervals",
    "holm",
    "least_p",
    "mean_intervals",
    "percentile_interval",
    "queries_needed",
    "resampled",
    "resampled_means",
    "sign_flip_p",
    "student_t",
    "sure_bounds",
    "tally",
    "unseen",
    "wilson_interval",
]
