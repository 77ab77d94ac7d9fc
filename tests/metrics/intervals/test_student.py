"""Student's t: the quantiles of scipy, on both sides of where the expansion begins."""

import pytest
from hypothesis import given, strategies as st
from scipy.special import stdtr, stdtrit

from kragx.metrics.intervals import student_t
from tests.thoroughness import examples


@examples(200)
@given(
    st.floats(0.001, 0.999),
    st.one_of(st.integers(1, 40), st.integers(900, 1100), st.integers(1, 10**6)),
)
def test_equals_scipy(p: float, df: int) -> None:
    """Any quantile is that of scipy; near 0, where scipy's own is rough, by its probability."""
    ours = student_t(p, df)
    assert ours == pytest.approx(stdtrit(df, p), rel=1e-9, abs=1e-9)
    assert stdtr(df, ours) == pytest.approx(p, abs=1e-11)


def test_one_degree_of_freedom_is_cauchy_and_both_sides_mirror() -> None:
    """With one degree the quantile of .75 is 1, and that of .25 is -1."""
    assert student_t(0.75, 1) == pytest.approx(1)
    assert student_t(0.25, 1) == -student_t(0.75, 1)
    assert student_t(0.5, 7) == 0


def test_no_step_where_the_expansion_begins() -> None:
    """From 999 degrees of freedom to 1,001 the quantile falls evenly."""
    before, there, after = (student_t(0.975, df) for df in (999, 1000, 1001))
    assert before - there == pytest.approx(there - after, rel=0.01)
