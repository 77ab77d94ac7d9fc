"""What a database takes: any text, numbers that it has room for, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from kragx.errors import DataError, shorten
from kragx.judging.client import words_of
from kragx.judging.question import Judgement

COLUMNS = tuple(field.name for field in fields(Judgement))
VALUES = attrgetter(*COLUMNS)
_WHOLE = (
    *("grade", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"),
    "output_limit",
)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(COLUMNS, (str, type(None))),
    **dict.fromkeys(_WHOLE, (int, type(None))),
    **dict.fromkeys(("seconds", "expected"), (float, int, type(None))),
}
_MOST = 2**63


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def storable(attempt: Judgement) -> Judgement:
    """The attempt as it is stored, whatever somebody has put into a file of judgements.

    Of numbers that cannot be (below zero, not finite, beyond 64 bits) nothing is known.
    """
    changed = {
        name: kept
        for name, value in zip(COLUMNS, VALUES(attempt))
        if value is not None and (kept := _kept(name, value)) is not value
    }
    return replace(attempt, **changed) if changed else attempt


def _kept(name: str, value: Any) -> Any:
    if name == "grade":  # the rubric's scale was checked
        return value
    if str in _KINDS[name]:
        words = words_of(value)
        return value if words == value else words
    return value if type(value) in _KINDS[name] and 0 <= value < _MOST else None


def attempt_of(values: Any, path: str = "") -> Judgement:
    """The attempt that has these values; a `DataError` where one is of another kind."""
    for (name, kinds), value in zip(_KINDS.items(), values):
        if type(value) not in kinds:
            raise DataError(f"not a judgement: {name!r} is {shorten(value)}", path=path)
    return Judgement(*values)
