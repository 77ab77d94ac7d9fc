"""An interval as people read it, or why there is none: the same words in every table."""

from collections.abc import Iterable

from kragx.ground.printing import interval, joined, limits, phrase
from kragx.metrics.intervals.bootstrap import LEAST

TOO_FEW, ALIKE = phrase("too few to tell"), phrase("all alike")
"""What stands for an interval where there is none."""

_REASONS = {
    TOO_FEW: phrase("too few to tell: fewer than {n} queries have no interval", n=LEAST),
    ALIKE: phrase(
        "all alike: the same for each query, too few to tell how far others would differ"
    ),
}


def ends_text(
    low: float | None, high: float | None, n: int, *, plus: bool = False, exact: bool = False
) -> str:
    """The interval of a mean of n values, or why it has none; empty of no value.

    `plus` is for differences, whose sign is shown; `exact` for shares that are a promise.
    """
    if low is not None and high is not None:
        return limits(low, high) if exact else interval(low, high, plus=plus)
    return "" if n == 0 else TOO_FEW if n < LEAST else ALIKE


def with_reasons(reason_codes: Iterable[str], *notes: str) -> str:
    """The notes of a table, and what it means that some intervals are not there."""
    reasons = set(reason_codes)
    texts = [text for reason, text in _REASONS.items() if reason in reasons]
    return joined("; ", [*notes, *texts])
