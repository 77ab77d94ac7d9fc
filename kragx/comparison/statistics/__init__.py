"""How sure a number is. Arrays in, arrays out; the query is the unit."""

from kragx.comparison.statistics.best import (
    behind_best as behind_best,
    worse_parts as worse_parts,
)
from kragx.comparison.statistics.evidence import (
    deciding as deciding,
    enough as enough,
    least_p as least_p,
    sure_bounds as sure_bounds,
    unseen as unseen,
)
from kragx.comparison.statistics.paired_differences import (
    difference_interval as difference_interval,
    effect_sizes as effect_sizes,
    queries_needed as queries_needed,
    tally as tally,
)
from kragx.comparison.statistics.randomisation_tests import (
    NO_FAMILY as NO_FAMILY,
    Family as Family,
    Flipped as Flipped,
    Rows as Rows,
    paired_tests as paired_tests,
    sign_flip_p as sign_flip_p,
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
