"""Student's t: known quantiles, and its probabilities by scipy."""

import pytest
from hypothesis import given, strategies as st
from scipy.special import stdtr

from kragx.metrics.intervals import student_t
from tests.thoroughness import examples


@examples(200)
@given(
    st.floats(0.001, 0.999),
    st.one_of(st.integers(1, 40), st.integers(900, 1100), st.integers(1, 10**6)),
)
def test_a_quantile_has_its_probability(p: float, df: int) -> None:
    """A share p of the values lies below the p quantile."""
    assert stdtr(df, student_t(p, df)) == pytest.approx(p, abs=1e-11)


def test_one_degree_of_freedom_is_cauchy_and_both_sides_mirror() -> None:
    """With one degree the quantile of .75 is 1, and that of .25 is -1."""
    assert student_t(0.75, 1) == pytest.approx(1)
    assert student_t(0.25, 1) == pytest.approx(-student_t(0.75, 1), rel=1e-12)
    assert student_t(0.5, 7) == 0


def test_known_quantiles() -> None:
    """Those of printed tables: 97.5 % with 1, 10 and 1,000 degrees of freedom."""
    quantiles = [round(student_t(0.975, df), 4) for df in (1, 10, 1000)]
    assert quantiles == [12.7062, 2.2281, 1.9623]
