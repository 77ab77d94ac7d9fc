"""What a description is made of: lines and tables, whose text from data steers nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


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
