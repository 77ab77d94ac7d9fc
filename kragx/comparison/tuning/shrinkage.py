"""What a mean is too good by where the same questions had a say in the choice."""

from math import sqrt
from statistics import NormalDist

import numpy as np

from kragx.comparison.statistics import TOLERANCE
from kragx.metrics import Floats
from kragx.metrics.intervals import student_t

_NORMAL = NormalDist()
_DECIMALS = 12


def excess(values: Floats, lead: Floats, confidence: float, *, kept: bool) -> float:
    """How much a setting's mean owes to having passed a test on the same questions.

    The simpler setting stays unless it is told to be worse, so where it stays it is likely to have
    been lucky, and where it goes the other was: leads are drawn from one side of a line only. The
    likeliest true lead, given that side, is nearer to it; the mean goes with the lead as their
    values do.

    Args:
        values: (n) of the setting that is taken, the higher the better.
        lead: (n) of the simpler setting over the best: their difference, the higher the better.
        confidence: of the test.
        kept: whether the simpler one stays.

    Returns:
        What to take off the mean, at least 0; 0 where the lead does not vary.

    Source: H. Zhong, R. Prentice, Bias-reduced estimators and confidence intervals for odds ratios
    in genome-wide association studies, Biostatistics 9, 2008 (the conditional likelihood of what
    passed a test).
    """
    n = len(lead)
    spread = float(lead.std(ddof=1)) / sqrt(n) if n > 1 else 0.0
    if spread <= TOLERANCE:
        return 0.0
    line = student_t((1 + confidence) / 2, n - 1)
    observed = float(lead.mean()) / spread
    likeliest = (
        _likeliest_if_kept(max(observed, -line), line)
        if kept
        else _likeliest_if_dropped(min(observed, -line), line)
    )
    slope = float(np.cov(values, lead)[0, 1]) / (n * spread**2)
    return round(max(0.0, slope * spread * (observed - likeliest)), _DECIMALS)


def _likeliest_if_kept(observed: float, line: float) -> float:
    """The likeliest true lead where leads below -line do not stay; no further below than that."""
    low, high = -line, observed
    for _ in range(60):
        lead = (low + high) / 2
        beyond = _NORMAL.pdf(line + lead) / _NORMAL.cdf(line + lead)
        low, high = (lead, high) if lead + beyond < observed else (low, lead)
    return low


def _likeliest_if_dropped(observed: float, line: float) -> float:
    """The likeliest true lead where those above -line stay; none, as the other one was best."""
    low, high = observed, 0.0
    for _ in range(60):
        lead = (low + high) / 2
        beyond = _NORMAL.pdf(line + lead) / _NORMAL.cdf(-line - lead)
        low, high = (lead, high) if lead - beyond < observed else (low, lead)
    return high
