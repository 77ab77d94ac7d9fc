"""Student's t: computed here, as a mean's interval is not worth loading scipy."""

from functools import lru_cache
from math import cos, exp, fsum, lgamma, pi, sin, sqrt, tan
from statistics import NormalDist

import numpy as np

_MANY = 1_000


@lru_cache(maxsize=256)
def student_t(p: float, df: int) -> float:
    """The p quantile of Student's t distribution with `df` degrees of freedom.

    Args:
        p: between 0 and 1.
        df: a whole number, at least 1.

    Source: M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 1964: the finite sums of
    26.7.3 and 26.7.4, solved by Newton's method, and from 1,000 degrees of freedom on the expansion
    26.7.5, whose next term is below 1e-11.
    """
    if p < 0.5:
        return -student_t(1 - p, df)
    if df >= _MANY:
        return _expansion(NormalDist().inv_cdf(p), df)
    # t = sqrt(df) tan(angle). The share within is a concave function of the angle, so that Newton's
    # steps from 0 never go too far.
    angle = 0.0
    slope = 2 * exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(pi)
    for _ in range(100):
        step = (2 * p - 1 - _central_share(angle, df)) / (slope * cos(angle) ** (df - 1))
        angle += step
        if abs(step) <= 1e-14 * angle:
            break
    return sqrt(df) * tan(angle)


def _central_share(angle: float, df: int) -> float:
    """The share of values whose size is at most sqrt(df) tan(angle)."""
    if df == 1:
        return 2 / pi * angle
    odd = df % 2
    term = np.arange(1, (df - odd) // 2)
    factors = (2 * term - 1 + odd) / (2 * term + odd) * cos(angle) ** 2
    series = sin(angle) * (1 + float(np.cumprod(factors).sum()))
    return 2 / pi * (angle + cos(angle) * series) if odd else series


def _expansion(x: float, df: int) -> float:
    """The quantile by that of the normal distribution, in powers of 1 / df."""
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + fsum(term / float(df) ** power for power, term in enumerate(terms, 1))
