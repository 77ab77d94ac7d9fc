"""How much of what could be tried is tried by default; `KRAGX_THOROUGH=1 .ci/run` tries all.

Hypothesis draws a part of its examples by default, and all where `KRAGX_THOROUGH` is set. No
example has a deadline by the clock, which a busy machine would miss. Of many cases that are much
alike some are tried by default, and the others with ``-m integration``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any

import pytest
from hypothesis import settings

THOROUGH = "KRAGX_THOROUGH" in os.environ
USUAL = 100
"""What a test draws that names no number."""


def examples(count: int) -> settings:
    """`count` examples where the run is thorough, else a twelfth of them, from 8 to 15."""
    usual = min(15, max(8, count // 12))
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


def some_cases(names: str, cases: Iterable[Any], one_in: int) -> Callable[[Any], Any]:
    """As `some`, in two tests: of every `one_in`-th case, and, `integration`, of the others."""
    rows = [*cases]
    others = [case for place, case in enumerate(rows) if place % one_in]
    parts = [rows[::one_in], pytest.param(others, marks=pytest.mark.integration)]

    def decorated(test: Any) -> Any:
        def of_part(part: list[Any]) -> None:
            all_cases(names, part)(test)()

        of_part.__name__, of_part.__doc__ = test.__name__, test.__doc__
        return pytest.mark.parametrize("part", parts, ids=["some", "others"])(of_part)

    return decorated


def all_cases(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Any], Any]:
    """Every case in one test, as `pytest.mark.parametrize` has a test for each of them.

    For cases that take no fixture of their own and less time than pytest takes for a test. A
    failure has a note that says of which case it is.
    """
    fields = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    several = not isinstance(names, str) or "," in names
    cases = [*cases]
    assert cases, "no case is no test"
    assert not any(hasattr(case, "marks") for case in cases), "a case with marks is a test"
    rows = [dict(zip(fields, case if several else [case], strict=True)) for case in cases]

    def decorated(test: Any) -> Any:
        @wraps(test)
        def all_of_them(*args: Any, **others: Any) -> None:
            for row in rows:
                try:
                    test(*args, **row, **others)
                except BaseException as error:
                    error.add_note(f"in the case {row!r:.500}")
                    raise

        own = signature(test)
        kept = [value for name, value in own.parameters.items() if name not in fields]
        all_of_them.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_of_them

    return decorated
