"""Cells of CSV: no spreadsheet computes one, and each is read back as it was."""

from __future__ import annotations

import csv
import io

from hypothesis import given, strategies as st

from kragx.data.formats.cells import csv_line, guarded, unguarded
from tests.thoroughness import all_cases

TEXTS = st.text(st.sampled_from("=+-@＝'\" \t\r\n\ufeff,;a1.e가\u00a0\u2028") | st.characters())


LIKE_FORMULAS = [
    "=1+1",
    "+a",
    "-a",
    "@a",
    "＝1",
    "＋1",
    "－1",
    "＠1",
    "'=1",
    "''=1",
    "-1+1",
    "-",
    "-5'",
]
BEHIND_SPACE = ["\ta", "\ra", "\n=1", "\r=1", " =1", "\u00a0=1", "\u3000＝1", "\ufeff=1", "\x0b=1"]


@all_cases("text", [*LIKE_FORMULAS, *BEHIND_SPACE])
def test_guarded(text):
    """What begins like a formula, behind white space and marks too, has an apostrophe before it."""
    assert guarded(text) == f"'{text}"
    assert unguarded(f"'{text}") == text


@all_cases("text", ["", "a", "a=b", "-5", "+82", "-0.5", "-1e-5", " -5", "'a", "'", "가"])
def test_left_alone(text):
    """Numbers and other texts stay as they are, either way."""
    assert (guarded(text), unguarded(text)) == (text, text)


@given(TEXTS)
def test_there_and_back(text):
    """Whatever text was guarded is read as itself."""
    assert unguarded(guarded(text)) == text
    assert not guarded(text).lstrip().startswith(("=", "@", "＝", "＠"))


@given(st.lists(TEXTS | st.none() | st.floats(allow_nan=False), min_size=2))
def test_lines(cells):
    """A line of any cells is one row of as many: no line end or separator in one begins another."""
    (row,) = csv.reader(io.StringIO(csv_line(cells), newline=""), strict=True)
    texts = ["" if cell is None else str(cell) for cell in cells]
    kept = [unguarded(cell) if isinstance(raw, str) else cell for cell, raw in zip(row, cells)]
    assert kept == texts
