"""What workers change while they ask."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from kragx.judging.crew import collecting_seldom


@pytest.fixture(autouse=True)
def thresholds():
    """Those of this process, put back."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_collecting_seldom():
    """It is as before afterwards, whatever ends it, also one within another."""
    gc.set_threshold(700, 10, 10)
    with suppress(OSError), collecting_seldom():
        with collecting_seldom():
            assert gc.get_threshold() == (10_000, 10, 10)
        assert gc.get_threshold() == (10_000, 10, 10)
        raise OSError("gone")
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("number", [0, 50_000])
def test_whoever_decided_otherwise(number):
    """A collector that is off, or looks less often, stays so."""
    gc.set_threshold(number, 10, 10)
    with collecting_seldom():
        assert gc.get_threshold()[0] == number
