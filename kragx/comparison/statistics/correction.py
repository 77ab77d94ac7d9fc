"""Many tests at once: p that take account of how many there were."""

from __future__ import annotations

import numpy as np

from kragx.metrics.table import Floats


def holm(p: Floats) -> Floats:
    """Adjust the p of a family of m tests, so that the chance of any false alarm stays bounded.

    Sorted from the least, the i-th is multiplied by m - i + 1, never below the one before it, at
    most 1. It needs no independence of the tests.

    Args:
        p: (m); NaN for what was not tested, which does not count.

    Returns:
        (m); NaN stays NaN.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6(2), 1979.
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted
