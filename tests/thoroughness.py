"""How much of what could be tried is tried by default; `KRAGX_THOROUGH=1 .ci/run` tries all.

Hypothesis draws a part of its examples by default, and all where `KRAGX_THOROUGH` is set. No
example has a deadline by the clock, which a busy machine would miss. Of many cases that are much
alike some are tried by default, and the others with ``-m integration``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = "KRAGX_THOROUGH" in os.environ
USUAL = 100
"""What a test draws that names no number."""


def examples(count: int) -> settings:
    """`count` examples where the run is thorough, else an eighth of them, from 10 to 25."""
    usual = min(25, max(10, count // 8))
    return settings(max_examples=count if THOROUGH else min(count, usual), deadline=None)


def some(cases: Iterable[Any], one_in: int) -> list[Any]:
    """Every case as a parameter; all but every `one_in`-th, from the first, are `integration`.

    A case of several arguments is a tuple, as in `pytest.mark.parametrize`.
    """
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if place % one_in == 0 else pytest.mark.integration,
        )
        for place, case in enumerate(cases)
    ]
