"""Student's t: what its quantiles are known to be."""

import pytest
from hypothesis import given, strategies as st
from scipy.special import stdtr

from kragx.metrics.intervals import student_t
from tests.thoroughness import examples


@examples(200)
@given(st.floats(0.001, 0.999), st.one_of(st.integers(1, 40), st.integers(1, 10**6)))
def test_is_passed_with_its_chance(p: float, df: int) -> None:
    """Any quantile is passed with the chance that it is asked for."""
    assert stdtr(df, student_t(p, df)) == pytest.approx(p, abs=1e-11)


def test_one_degree_of_freedom_is_cauchy_and_both_sides_mirror() -> None:
    """With one degree the quantile of .75 is 1, and that of .25 is -1."""
    assert student_t(0.75, 1) == pytest.approx(1)
    assert student_t(0.25, 1) == pytest.approx(-student_t(0.75, 1))
    assert student_t(0.5, 7) == pytest.approx(0, abs=1e-12)
