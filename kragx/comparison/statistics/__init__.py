"""How sure a number is. Arrays in, arrays out; the query is the unit."""

from kragx.comparison.statistics.evidence import (
    Rows as Rows,
    deciding as deciding,
    difference_interval as difference_interval,
    effect_sizes as effect_sizes,
    enough as enough,
    least_p as least_p,
    queries_needed as queries_needed,
    sure_bounds as sure_bounds,
    tally as tally,
    unseen as unseen,
)
from kragx.comparison.statistics.randomisation_tests import (
    NO_FAMILY as NO_FAMILY,
    Family as Family,
    Flipped as Flipped,
    behind_best as behind_best,
    paired_tests as paired_tests,
    sign_flip_p as sign_flip_p,
    worse_parts as worse_parts,
)
from kragx.metrics.intervals import (
    CONFIDENCE as CONFIDENCE,
    LEAST as LEAST,
    MOST_RESAMPLES as MOST_RESAMPLES,
    RESAMPLES as RESAMPLES,
    SEED as SEED,
    TOLERANCE as TOLERANCE,
    Interval as Interval,
    check_confidence as check_confidence,
    mean_intervals as mean_intervals,
)
