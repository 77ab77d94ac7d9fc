"""The forms of numbers."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, strategies as st

from kragx.ground.printing import in_language
from kragx.ground.printing.parts import between, interval, number, possible, probability, signed
from tests.thoroughness import all_cases, examples

SHOWN = {
    0.0: "< .001",
    1 / 10_001: "< .001",
    0.001: ".001",
    0.0125: ".013",
    0.049: ".049",
    0.05: ".050",
    0.0501: ".051",
    0.0625: ".063",
    0.24: ".240",
    0.999: ".999",
    0.9991: "> .999",
    1.0: "> .999",
}


@all_cases("p", SHOWN)
def test_a_p_by_hand(p: float) -> None:
    """Three digits without a zero before them, and no p is 0 or 1; with a sign in a sentence."""
    assert probability(p) == SHOWN[p]
    assert (
        probability(p, equals="= ")
        == ("= " if p in SHOWN and SHOWN[p][0] == "." else "") + (SHOWN[p])
    )


@examples(200)
@given(st.floats(0.001, 0.999))
def test_a_p_above_a_limit_is_never_shown_at_it(p: float) -> None:
    """Whether it is above .1, .05 or .01 can be seen; else it is the nearest number."""
    shown = float(probability(p))
    assert all((p > limit + 1e-9) <= (shown > limit) for limit in (0.01, 0.05, 0.1))
    assert abs(shown - p) <= 0.001
    assert abs(shown - p) < 0.00051 or float(f"{p:.2f}") == pytest.approx(float(f"{p:.3f}"))


def test_nothing_tested() -> None:
    """A dash."""
    assert probability(None, equals="= ") == "-"


def test_what_was_never_found_is_said_in_korean() -> None:
    """With bounds or without, in an interval and as a difference, which has no sign then."""
    assert [signed(value) for value in (inf, 0.5, -0.0, -0.5)] == [
        "never",
        "+0.5000",
        "+0.0000",
        "-0.5000",
    ]
    assert interval(1, inf, plus=True) == "[+1.0000, never]"
    texts = [number(inf), signed(inf), interval(1, inf), between(1, inf), possible(1, inf)]
    said = [in_language(text, "ko") for text in texts]
    assert said == [
        "끝내 못 찾음",
        "끝내 못 찾음",
        "[1.0000, 끝내 못 찾음]",
        "1.0000~끝내 못 찾음",
        "(1.0000~끝내 못 찾음)",
    ]
