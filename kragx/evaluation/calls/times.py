"""When something was logged."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite

from kragx.data.text import read_number

_UNITS = (1.0, 1e3, 1e6, 1e9)  # seconds, milliseconds, ...
_LATEST = 32_503_680_000  # the year 3000


def moment(value: object) -> float | None:
    """Seconds since 1970 (UTC) of a time as logs write it; None where it is none.

    A number counts seconds, milliseconds, microseconds or nanoseconds, whichever lies before the
    year 3000; a text is ISO 8601, with a space or a T. Where no zone is said it is UTC.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if isinstance(value, str):
        with suppress(ValueError):
            return moment(datetime.fromisoformat(value.strip().replace("/", "-")))
        number = read_number(value.strip())
    if number is None or not isfinite(number) or number < 0:
        return None
    return next((number / unit for unit in _UNITS if number / unit < _LATEST), None)
