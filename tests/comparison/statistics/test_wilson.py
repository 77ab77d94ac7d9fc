"""Wilson's interval: worked examples, scipy's numbers, and coverage enumerated exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from kragx.comparison.statistics import wilson_interval
from kragx.errors import UsageError


def test_by_hand():
    """Of n hits of n the low end is n / (n + z^2), from 73 on above .95; two of two say little."""
    assert wilson_interval(1, 72) == pytest.approx((72 / 75.84146, 1), abs=1e-6)
    assert wilson_interval(1, 73)[0] > 0.95 > wilson_interval(1, 72)[0]
    assert wilson_interval(1, 2)[0] == pytest.approx(0.3424, abs=1e-4)
    assert wilson_interval(0, 2)[1] == pytest.approx(0.6576, abs=1e-4)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_equals_scipy(hits):
    """The ends are those of scipy's binomial test, method Wilson."""
    theirs = stats.binomtest(*hits).proportion_ci(0.9, "wilson")
    ours = wilson_interval(hits[0] / hits[1], hits[1], 0.9)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("share", "n"), [(1.1, 5), (-0.1, 5), (0.5, 0)])
def test_no_share(share, n):
    """What is no share of trials is refused."""
    with pytest.raises(UsageError, match="no share"):
        wilson_interval(share, n)
