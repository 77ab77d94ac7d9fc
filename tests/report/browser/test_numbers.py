"""Numbers on the page have the forms that they have in the terminal."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from kragx.ground.printing.parts import probability
from tests.ground.printing.test_numbers import SHOWN


def test_a_p(chromium: Any) -> None:
    """The page's script writes each p as the terminal does."""
    source = files("kragx.report.html_page").joinpath("script/numbers.js").read_text("utf-8")
    page = chromium.new_page()
    called = f"all => {{ {source}; return all.map((p) => probability(p, '= ')); }}"
    drawn = [*SHOWN, *(at / 1999 for at in range(2000))]
    assert page.evaluate(called, drawn) == [probability(p, equals="= ") for p in drawn]
