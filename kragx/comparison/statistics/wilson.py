"""Wilson's interval of a share: how sure hits of n are, also where all of them are hits."""

from math import sqrt
from statistics import NormalDist

from kragx.comparison.statistics.bootstrap import CONFIDENCE, Interval, check_confidence
from kragx.errors import UsageError


def wilson_interval(share: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """The interval of a share: every p that a two-sided score test of n trials leaves standing.

    It has a width where all are hits too: of n hits of n the low end is n / (n + z^2), which with
    z = 1.96 lies above .95 from n = 73 on.

    Args:
        share: of hits, in [0, 1].
        n: of how many trials, above 0.
        confidence: between 0 and 1.

    Returns:
        Its ends, within [0, 1].

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22, 1927.
    """
    if not (0 <= share <= 1 and n > 0):
        raise UsageError(f"{share!r} of {n!r} trials is no share")
    z = NormalDist().inv_cdf((1 + check_confidence(confidence)) / 2)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)
