"""Expanded percentile intervals: how far out they are taken, and when there is none.

That they cover what they promise is simulated in tests/agreement/test_intervals.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from kragx.metrics.intervals import expanded, expanded_intervals, student_t
from tests.thoroughness import all_cases


@all_cases(
    ("p", "df", "expected"),
    [
        (0.5, 3, 0.0),
        (0.9, 1, 3.078),
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 9, 2.262),
        (0.995, 9, 3.250),
        (0.999, 29, 3.396),
        (0.975, 100, 1.984),
    ],
)
def test_student_t_is_that_of_the_tables(p, df, expected):
    """The t quantile is that of the tables in statistics books."""
    assert student_t(p, df) == pytest.approx(expected, abs=5e-4)


def test_expanded_percentiles():
    """With 30 units 95 % is asked for as 96.2 %; with very many it stays what it is."""
    assert expanded(0.95, 30) == pytest.approx(0.9625, abs=5e-4)
    assert expanded(0.95, 10**6) == pytest.approx(0.95, abs=1e-5)


def share(sums):
    """The share of the first of two counts."""
    return {"share": sums[:, 0] / sums.sum(1)}


def test_no_interval_without_variation():
    """One query, or resamples that all agree: None, never a width of 0."""
    options = {"confidence": 0.95, "count": 50, "seed": 0}
    alike = np.tile([3.0, 2.0], (5, 1))
    assert expanded_intervals(alike, share, **options) == {"share": None}
    assert expanded_intervals(alike[:1], share, **options) == {"share": None}
    alike[0] = (5.0, 0.0)
    assert expanded_intervals(alike, share, **options)["share"] is not None
