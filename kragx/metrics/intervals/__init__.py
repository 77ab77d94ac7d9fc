"""How sure a mean is: its interval over the queries, and the words where there is none."""

from kragx.metrics.intervals.bootstrap import (
    CONFIDENCE as CONFIDENCE,
    LEAST as LEAST,
    MOST_CONFIDENCE as MOST_CONFIDENCE,
    MOST_RESAMPLES as MOST_RESAMPLES,
    RESAMPLES as RESAMPLES,
    SEED as SEED,
    TOLERANCE as TOLERANCE,
    Interval as Interval,
    blocks as blocks,
    check_confidence as check_confidence,
    expanded as expanded,
    expanded_intervals as expanded_intervals,
    fixed_point as fixed_point,
    percentile_interval as percentile_interval,
    percentile_intervals as percentile_intervals,
    resampled as resampled,
    resampled_means as resampled_means,
)
from kragx.metrics.intervals.exact import (
    TOO_FEW as TOO_FEW,
    Kind as Kind,
    ends_text as ends_text,
    exact_limits as exact_limits,
    with_exact_limits as with_exact_limits,
    with_reasons as with_reasons,
)
from kragx.metrics.intervals.ratio import (
    Ratio as Ratio,
    ratio_difference_interval as ratio_difference_interval,
)
from kragx.metrics.intervals.student import student_t as student_t
from kragx.metrics.intervals.wilson import (
    mean_intervals as mean_intervals,
    score_interval as score_interval,
    score_intervals as score_intervals,
    wilson_interval as wilson_interval,
)
