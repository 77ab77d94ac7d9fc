"""Agreement of yes-or-no decisions with the truth, from four counts; arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kragx.table import Floats


def binary_kappa(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike) -> Floats:
    """Cohen's kappa: (observed - by chance) / (1 - by chance) agreement.

    Args:
        tp: how often decided and true.
        fp: decided, not true.
        fn: true, not decided.
        tn: neither.

    Returns:
        Values in [-1, 1], of the counts' shape; NaN where agreement by chance is certain (both say
        one and the same of everything).

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960.
    """
    tp, fp, fn, tn = (np.asarray(each, np.float64) for each in (tp, fp, fn, tn))
    # Numerator and denominator both times n^2, so that counts are not rounded before they meet.
    chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Floats = np.where(chance > 0, 2 * (tp * tn - fn * fp) / chance, np.nan)
    return value


def binary_f1(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike) -> Floats:
    """F1, the harmonic mean of precision and recall; NaN where nothing is decided and none true."""
    tp, fp, fn = (np.asarray(each, np.float64) for each in (tp, fp, fn))
    total = 2 * tp + fp + fn
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Floats = np.where(total > 0, 2 * tp / total, np.nan)
    return value
