"""How sure a mean is: its interval over the queries, and the words where there is none."""

from kragx.metrics.intervals.bootstrap import (
    CONFIDENCE,
    LEAST,
    MOST_CONFIDENCE,
    MOST_RESAMPLES,
    RESAMPLES,
    SEED,
    TOLERANCE,
    Interval,
    blocks,
    check_confidence,
    expanded,
    expanded_intervals,
    fixed_point,
    percentile_interval,
    percentile_intervals,
    resampled,
    resampled_means,
    student_t,
)
from kragx.metrics.intervals.exact import Kind as Kind, exact_limits, with_exact_limits
from kragx.metrics.intervals.ratio import Ratio, ratio_difference_interval
from kragx.metrics.intervals.wilson import (
    mean_intervals,
    score_interval,
    score_intervals,
    wilson_interval,
)
from kragx.metrics.intervals.words import TOO_FEW, ends_text, with_reasons

__all__ = [
    "CONFIDENCE",
    "LEAST",
    "MOST_CONFIDENCE",
    "MOST_RESAMPLES",
    "RESAMPLES",
    "SEED",
    "TOLERANCE",
    "TOO_FEW",
    "Interval",
    "Ratio",
    "blocks",
    "check_confidence",
    "ends_text",
    "exact_limits",
    "expanded",
    "expanded_intervals",
    "fixed_point",
    "mean_intervals",
    "percentile_interval",
    "percentile_intervals",
    "ratio_difference_interval",
    "resampled",
    "resampled_means",
    "score_interval",
    "score_intervals",
    "student_t",
    "wilson_interval",
    "with_exact_limits",
    "with_reasons",
]
