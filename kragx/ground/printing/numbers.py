"""The forms of numbers, the same wherever people read them."""

from collections.abc import Callable, Mapping
from math import ceil, floor, inf, isclose, log10

from kragx.ground.messages import Phrase, joined, phrase

NEVER = phrase("never")
"""How long it took to find what was not found."""


def number(value: float | None) -> str:
    """A metric's value as people read it; a dash where there is none.

    What was not found has taken infinitely long.
    """
    if value is None:
        return "-"
    if value == inf:
        return NEVER
    # Times and throughputs are not between 0 and 1, and 0.0000 seconds say nothing.
    if 0 < abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """A difference as people read it; infinity has no sign, as it is no number."""
    if value is None or value < 0 or value == inf:
        return number(value)
    return f"+{number(abs(value))}"  # abs: -0.0 is no loss


def interval(low: float | None, high: float | None, *, plus: bool = False) -> str:
    """An interval in brackets; empty where there is none."""
    if low is None or high is None:
        return ""
    form = signed if plus else number
    return joined("", ["[", form(low), ", ", form(high), "]"])


def at_most(share: float) -> str:
    """An upper limit of a share in percent, rounded up, so that it is never promised too little."""
    return _percent(share, ceil)


def limits(low: float, high: float) -> str:
    """The limits of a share in percent, rounded outward; where only one says anything, that.

    A lower limit of less than a thousandth of the upper one says nothing.
    """
    if low <= high / 1000:
        return phrase("at most {high}", high=at_most(high))
    if high >= 1:
        return phrase("at least {low}", low=_percent(low, floor))
    return f"[{_percent(low, floor)}, {at_most(high)}]"


def _percent(share: float, rounded: Callable[[float], int]) -> str:
    """In one decimal, or below a tenth of a percent in two digits."""
    digits = 1 if share >= 0.001 or share <= 0 else -1 - floor(log10(share))
    scaled = share * 10 ** (digits + 2)
    # What has no more digits is not moved by its last bits.
    whole = round(scaled) if isclose(scaled, round(scaled), rel_tol=1e-9) else rounded(scaled)
    return f"{whole / 10**digits:.{digits}f}%"


def between(low: float, high: float) -> str:
    """Bounds of what is not known, in words: no interval, which has brackets."""
    return phrase("{low} to {high}", low=number(low), high=number(high))


def possible(low: float, high: float) -> str:
    """The same beside an estimate."""
    return joined("", ["(", between(low, high), ")"])


def probability(p: float | None, *, equals: str = "") -> str:
    """A p as papers write it, ``.013``, ``< .001``, ``> .999``; a dash where nothing was tested.

    Resamples support no more digits. What is above a limit such as .05 is never shown as that.

    Args:
        p: the value.
        equals: stands before a value, where a sentence has the sign.
    """
    if p is None:
        return "-"
    if p < 0.001:
        return "< .001"
    if p > 0.999:
        return "> .999"
    thousandths = int(1000 * p + 0.5)
    seems_at_a_limit = thousandths % 10 == 0 and 1000 * p - thousandths > 1e-9
    return f"{equals}.{thousandths + seems_at_a_limit:03}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as people read it; a dash where there is none."""
    return "-" if share is None else f"{share:.{digits}%}"


def duration(seconds: float) -> str:
    """How long something took: ``0.25 s``, ``12.5 s``, ``3 min 20 s``, ``1 h 3 min``."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def counted(counts: Mapping[str, int] | Mapping[Phrase, int]) -> str:
    """Counts as people read them: ``timeout: 2, refusal: 1``."""
    return joined(", ", (joined(": ", [name, str(count)]) for name, count in counts.items()))
