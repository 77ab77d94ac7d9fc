"""What a description is made of: lines and tables, whose text from data steers nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, isclose, log10

from kragx.ground.messages import Message, joined, message


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with a style of rich's (``bold green``), and a second, fainter line below.

    `code` is for names that are written so in configs and programs, not for texts from data.
    """

    text: str
    style: str = ""
    below: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose.

    Attributes:
        text: what it says.
        style: one of rich's (``yellow`` warns, ``dim`` explains).
        item: what stands before one line of a list: ``-``, or ``?`` for what is open.
        marks: where the text is marked: in bold green, and in «marks» where there is no colour.
        indent: how many columns it stands to the right.
    """

    text: str
    style: str = ""
    item: str = ""
    marks: tuple[tuple[int, int], ...] = ()
    indent: int = 0

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """The line cut up into what is marked and what is not.

        Nothing in it steers, and what follows a line end in it is set in: it is no line of its own.
        """
        position = 0
        before = f"{self.item} " if self.item else ""
        for start, end in self.marks:
            yield _set_in(before + self.text[position:start]), False
            yield _set_in(self.text[start:end]), True
            position, before = end, ""
        yield _set_in(before + self.text[position:]), False

    def plain(self) -> str:
        """The line without colours."""
        return "".join(f"«{piece}»" if marked else piece for piece, marked in self.pieces())


@dataclass(frozen=True, slots=True)
class Heading(Line):
    """A line above what belongs to it; `level` is 1 for the title of the whole."""

    style: str = "bold"
    level: int = 2


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: the heads.
        rows: a cell for each column.
        words: how many of the first columns hold words: they stand to the left, and are said again
            where a table is too wide for its window and is split.
        narrow: what is shown where this table does not fit, before it is split.
        note: what its marks mean; it stands below.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    words: int = 1
    narrow: Table | None = None
    note: str = ""

    def cells(self) -> Iterator[list[Cell]]:
        """The rows, each text of them as a cell."""
        for row in self.rows:
            yield [value if isinstance(value, Cell) else Cell(value) for value in row]


Part = Line | Table
"""What a result describes itself as, part by part."""


def warning(text: str) -> Line:
    """A line about what makes numbers less than they seem."""
    return Line(text, "yellow")


def _set_in(text: str) -> str:
    return inert(text).replace("\n", "\n  ")


def visible(text: str) -> str:
    """A text from data in one line that shows what it holds and steers nothing."""
    return inert(" ".join(text.split()))


def inert(text: str, form: str = "\u2039U+{:04X}\u203a") -> str:
    """A text whose characters are all shown; line ends and tabs alone are obeyed.

    Control characters and marks of direction are what a terminal, a browser or an editor obeys
    instead of showing; they become their code point, in the `form` that is asked for.
    """
    if text.isprintable():  # as nearly all are, and that is many times as fast as a search
        return text
    return _OBEYED.sub(lambda match: form.format(ord(match[0])), text)


# The categories Cc, but for line feed and tab, and Cs; then the marks of direction.
_OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


NEVER = message("never")
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
        return message("at most {high}", high=at_most(high))
    if high >= 1:
        return message("at least {low}", low=_percent(low, floor))
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
    return message("{low} to {high}", low=number(low), high=number(high))


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


def counted(counts: Mapping[str, int] | Mapping[Message, int]) -> str:
    """Counts as people read them: ``timeout: 2, refusal: 1``."""
    return joined(", ", (joined(": ", [name, str(count)]) for name, count in counts.items()))
