"""The table and the check of CI, from made-up measurements; nothing is measured here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from . import __main__ as report
from .rows import Row, rows
from .workloads import SIZE_NAME

FASTER = Row("a", "work", "peer", "faster", ("g", "kragx"), ("g", "peer"), 20.0)
FLOOR = Row("b", "work", "floor", "floor", ("g", "kragx"), ("g", "floor"), 2.5)
MEASURED = {"g": {"kragx": {"seconds": 2.0}, "peer": {"seconds": 50.0}, "floor": {"seconds": 0.5}}}


def test_ratios_and_bars() -> None:
    """A peer's time is divided by kragx's and must reach the bar; a floor's is the other way."""
    assert (FASTER.value(MEASURED), FASTER.reached(25.0), FASTER.reached(19.0)) == (25, True, False)
    assert (FLOOR.value(MEASURED), FLOOR.reached(4.0), FLOOR.reached(2.5)) == (4, False, True)
    assert FASTER.value({"g": {"kragx": {"seconds": 2.0}}}) is None


def test_names_of_rows_differ() -> None:
    """Each row has a name of its own, under which its ratio is stored."""
    names = [row.name for row in rows()]
    assert len(set(names)) == len(names)


def found(**ratios: float) -> dict[str, Any]:
    """A report with some ratios to floors."""
    return {
        "rows": [{"name": name, "kind": "floor", "value": value} for name, value in ratios.items()]
    }


def test_the_check_fails_only_on_gross_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A ratio may double and may fall; more than double, or not measured, is a failure."""
    stored = tmp_path / "expected.json"
    stored.write_text(json.dumps({"x": 2.0, "y": 1.0}), encoding="utf-8")
    monkeypatch.setattr(report, "EXPECTED", stored)
    assert report._check(found(x=4.0, y=0.1, new=9.0)) == 0
    assert report._check(found(x=4.1, y=1.0)) == 1
    assert "x: 4.10 times the floor, stored is 2.00" in capsys.readouterr().out
    assert report._check(found(x=2.0)) == 1


@pytest.mark.skipif(SIZE_NAME != "small", reason="ratios are stored for the small size")
def test_stored_ratios_are_those_of_rows() -> None:
    """Every stored ratio belongs to a row, so that none is checked in vain."""
    stored = json.loads(report.EXPECTED.read_text(encoding="utf-8"))
    assert set(stored) <= {row.name for row in rows() if row.kind == "floor"}
