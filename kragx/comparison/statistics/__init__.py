"""How sure a number is. Arrays in, arrays out; the query is the unit."""

from kragx.comparison.statistics.bootstrap import (
    CONFIDENCE,
    LEAST,
    RESAMPLES,
    SEED,
    TOLERANCE,
    Interval,
    check_confidence,
    expanded,
    expanded_intervals,
    percentile_interval,
    percentile_intervals,
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
from kragx.comparison.statistics.means import mean_intervals
from kragx.comparison.statistics.paired import (
    difference_interval,
    effect_sizes,
    queries_needed,
    tally,
)
from kragx.comparison.statistics.randomisation import (
    NO_FAMILY,
    Family,
    Flipped,
    Rows,
    flip_tests,
    sign_flip_p,
    worse_parts,
)
from kragx.comparison.statistics.wilson import score_interval, score_intervals, wilson_interval

__all__ = [
    "CONFIDENCE",
    "LEAST",
    "NO_FAMILY",
    "RESAMPLES",
    "SEED",
    "TOLERANCE",
    "Family",
    "Flipped",
    "Interval",
    "Rows",
    "check_confidence",
    "difference_interval",
    "effect_sizes",
    "enough",
    "exact_limits",
    "expanded",
    "expanded_intervals",
    "flip_tests",
    "least_p",
    "mean_intervals",
    "percentile_interval",
    "percentile_intervals",
    "queries_needed",
    "resampled",
    "resampled_means",
    "score_interval",
    "score_intervals",
    "sign_flip_p",
    "student_t",
    "sure_bounds",
    "tally",
    "unseen",
    "wilson_interval",
    "worse_parts",
]
