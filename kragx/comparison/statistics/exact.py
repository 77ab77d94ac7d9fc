"""Sums that come out the same whatever order they are added in."""

from __future__ import annotations

import numpy as np

from kragx.metrics.table import Floats


def fixed_point(values: Floats) -> tuple[Floats, Floats]:
    """Values as whole numbers of a unit, so that sums over the rows are exact.

    Matrix products add in an order that depends on the machine and its threads, and floating-point
    sums depend on the order. Whole numbers below 2**53 do not: every partial sum is exact. So the
    columns are rounded to multiples of a power of two, chosen so that no sum of n of them, nor its
    double, reaches 2**53. With 10,000 rows values between 0 and 1 move by less than 2e-12.

    Args:
        values: (n, c), without NaN.

    Returns:
        (n, c) whole numbers as floats, and (c) the unit of each column.
    """
    n = len(values)
    bits = 51 - int(np.ceil(np.log2(max(n, 1))))
    top = np.abs(values).max(axis=0, initial=0.0)
    _, exponent = np.frexp(top)  # top < 2**exponent
    # Below 2**-1022 numbers lose bits themselves.
    unit = np.ldexp(1.0, np.where(top > 0, np.maximum(exponent - bits, -1022), 0))
    return np.rint(values / unit), unit
