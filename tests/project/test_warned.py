"""`kragx.ground.caller_warnings`: a warning points at the line of whoever called kragx."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kragx.ground.caller_warnings import about, warn
from tests.thoroughness import all_cases

CODE = """
from contextlib import contextmanager
from functools import cached_property

def plain():
    warn("as plain as can be", UserWarning)

def deeper():
    list(map(lambda _: plain(), "a"))

@contextmanager
def within():
    plain()
    yield

async def later():
    await asyncio.sleep(0)
    plain()

def of_a_loop():
    asyncio.run(later())

class Own:
    @cached_property
    def value(self):
        plain()
"""
"""Ways in which kragx comes to warn."""


def _within(kragx: dict[str, Any]) -> None:
    with kragx["within"]():
        pass


@all_cases(
    "call",
    [
        lambda kragx: kragx["plain"](),
        lambda kragx: kragx["deeper"](),
        _within,
        lambda kragx: kragx["of_a_loop"](),
        lambda kragx: asyncio.run(kragx["later"]()),
        lambda kragx: kragx["Own"]().value,
    ],
)
def test_it_points_at_the_line_that_called(call: Callable[[dict[str, Any]], object]) -> None:
    """Through context managers, loops and attributes that are computed, which are Python's own."""
    kragx: dict[str, Any] = {"__name__": "kragx.somewhere", "warn": warn, "asyncio": asyncio}
    exec(compile(CODE, "kragx/somewhere.py", "exec"), kragx)
    with pytest.warns(UserWarning, match=r"^bm25: as plain") as told, about("bm25"):
        call(kragx)
    assert [own.filename for own in told] == [__file__]


def test_where_nobody_called() -> None:
    """In a thread of its own the warning is still given."""
    with warnings.catch_warnings(record=True) as told, ThreadPoolExecutor(1) as pool:
        warnings.simplefilter("always")
        pool.submit(warn, "from a thread", UserWarning).result()
    assert [str(own.message) for own in told] == ["from a thread"]
