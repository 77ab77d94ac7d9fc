"""Printing is one door: a result describes itself plainly, and this shows it to people.

A result describes itself as `Line`s and `Table`s; they are printed in a terminal, shown as HTML in
a notebook and written as Markdown from the same description. Numbers have one form everywhere.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Literal

from kragx.plain import plain_fields
from kragx.printing.terminal import WIDTH, console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text


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
        """The line cut up into what is marked and what is not; nothing in it steers."""
        position = 0
        before = f"{self.item} " if self.item else ""
        for start, end in self.marks:
            yield inert(before + self.text[position:start]), False
            yield inert(self.text[start:end]), True
            position, before = end, ""
        yield inert(before + self.text[position:]), False

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


def warning(text: str) -> Line:
    """A line about what makes numbers less than they seem."""
    return Line(text, "yellow")


class Result:
    """What every result can do, from its `describe` and its fields.

    The base of frozen dataclasses: ``to_dict`` gives the fields as plain values
    (`kragx.plain.plain`), ``print`` and ``str`` what a person wants to read.
    """

    __slots__ = ()

    def describe(self) -> Iterable[Part]:
        """What a person wants to read, plainly."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_fields(self)

    def print(self) -> None:
        """Print it for a person."""
        show(self.describe())

    def __str__(self) -> str:
        return as_text(self.describe())

    def _repr_html_(self) -> str:
        return as_html(self.describe())


def show(parts: Iterable[Part], out: Console | None = None) -> None:
    """Print a description; a table too wide for the window is split between its columns."""
    from rich.padding import Padding
    from rich.text import Text

    out = out or console()
    colour = out.is_terminal and not out.no_color
    for part in parts:
        if isinstance(part, Table):
            _show_table(part, out)
            continue
        pieces = part.pieces() if colour else [(part.plain(), False)]
        marked = ((piece, "bold green" if marked else "") for piece, marked in pieces)
        text = Text.assemble(*marked, style=part.style)
        if part.indent:
            out.print(Padding(text, (0, 0, 0, part.indent), expand=False))
        else:
            out.print(text, soft_wrap=True)


def as_text(parts: Iterable[Part]) -> str:
    """A description as plain text."""
    from rich.console import Console

    file = io.StringIO()
    show(parts, Console(file=file, width=WIDTH, highlight=False, color_system=None))
    return file.getvalue().rstrip("\n")


def _show_table(table: Table, out: Console) -> None:
    from rich.measure import Measurement
    from rich.text import Text

    def fits(rich_table: RichTable) -> bool:
        wide = out.options.update(width=10_000)
        return Measurement.get(out, wide, rich_table).maximum <= out.width

    if table.narrow is not None and not fits(_rich(table, range(len(table.columns)))):
        table = table.narrow
    words, rest = range(table.words), list(range(table.words, len(table.columns)))
    while True:
        most = next(
            (n for n in range(len(rest), 1, -1) if fits(_rich(table, [*words, *rest[:n]]))), 1
        )
        out.print(_rich(table, [*words, *rest[:most]]))
        rest = rest[most:]
        if not rest:
            break
    if table.note:
        out.print(Text(inert(table.note), style="dim"))


def _rich(table: Table, columns: Sequence[int]) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable()
    for column in columns:
        side: Literal["left", "right"] = "left" if column < table.words else "right"
        rich_table.add_column(Text(inert(table.columns[column])), justify=side)
    for row in table.cells():
        rich_table.add_row(*(_rich_text(row[column]) for column in columns))
    return rich_table


def _rich_text(cell: Cell) -> Text:
    from rich.text import Text

    text = Text(inert(cell.text), style=cell.style)
    return text.append(f"\n{inert(cell.below)}", style="not bold dim") if cell.below else text


def as_html(parts: Iterable[Part]) -> str:
    """A description as HTML for a notebook."""
    return "".join(map(_html, parts))


def _html(part: Part) -> str:
    if isinstance(part, Line):
        pieces = (
            f"<mark>{escape(piece)}</mark>" if marked else escape(piece)
            for piece, marked in part.pieces()
        )
        return f"<p>{''.join(pieces)}</p>"

    def data(cell: Cell, column: int) -> str:
        text = "<br>".join(escape(inert(line)) for line in (cell.text, cell.below) if line)
        align = " style='text-align:left'" if column < part.words else ""
        return f"<td{align}>{f'<b>{text}</b>' if 'bold' in cell.style else text}</td>"

    heads = "".join(f"<th>{escape(inert(head))}</th>" for head in part.columns)
    rows = "".join(f"<tr>{''.join(map(data, row, count()))}</tr>" for row in part.cells())
    note = f"<p>{escape(inert(part.note))}</p>" if part.note else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{note}"


def as_markdown(parts: Iterable[Part]) -> str:
    """A description as Markdown, in which every text is shown to the letter."""
    blocks = map(_markdown, parts)
    return (
        "\n\n".join(
            block
            for is_item, group in groupby(blocks, lambda block: block.startswith("- "))
            for block in (["\n".join(group)] if is_item else group)
        )
        + "\n"
    )


def _markdown(part: Part) -> str:
    if isinstance(part, Table):
        return _markdown_table(part)
    text = escaped(part.text)
    if isinstance(part, Heading):
        return f"{'#' * part.level} {text}"
    if part.item or part.style == "yellow":
        return f"- {'**?** ' if part.item == '?' else ''}{text}"
    return text


def _markdown_table(table: Table) -> str:
    def cell(value: Cell) -> str:
        text = f"`{value.text}`" if value.code else escaped(value.text)
        return f"{f'**{text}**' if 'bold' in value.style else text} {escaped(value.below)}".strip()

    rules = ["---" if column < table.words else "---:" for column in range(len(table.columns))]
    rows = [map(escaped, table.columns), rules, *(map(cell, row) for row in table.cells())]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, *(["", escaped(table.note)] if table.note else [])])


_MARKDOWN = re.compile(r"([\\`*_\[\]|~$]|(?<!\w)@|(?<=:)//|^[#+=-]+(?=\s|$)|^\d+(?=[.)](?:\s|$)))")


def escaped(text: str) -> str:
    """A text from data as Markdown shows it to the letter.

    White space and line ends become one space, controls visible; what Markdown, HTML in it, or
    GitHub's mentions, links and formulas would read is escaped.
    """
    return _MARKDOWN.sub(lambda match: _escape(match[0]), escape(visible(text), quote=False))


def _escape(special: str) -> str:
    # A backslash before a digit is a backslash; a number that begins a list is written otherwise.
    return f"&#{ord(special[0])};{special[1:]}" if special[0].isdecimal() else f"\\{special}"


def number(value: float | None) -> str:
    """A metric's value as people read it; a dash where there is none."""
    if value is None:
        return "-"
    # Times and throughputs are not between 0 and 1, and 0.0000 seconds say nothing.
    if 0 < abs(value) < 0.001:
        return f"{value:.2g}"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.0f}"


def signed(value: float | None) -> str:
    """A difference as people read it."""
    # abs: -0.0 is no loss
    return number(value) if value is None or value < 0 else f"+{number(abs(value))}"


def interval(low: float | None, high: float | None, *, plus: bool = False) -> str:
    """An interval in brackets; empty where there is none."""
    if low is None or high is None:
        return ""
    shown = signed if plus else number
    return f"[{shown(low)}, {shown(high)}]"


def probability(p: float | None) -> str:
    """A p as people read it; a dash where nothing was tested."""
    return "-" if p is None else f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as people read it; a dash where there is none."""
    return "-" if share is None else f"{share:.{digits}%}"


def counted(counts: Mapping[str, int]) -> str:
    """Counts as people read them: ``timeout: 2, refusal: 1``."""
    return ", ".join(f"{name}: {count}" for name, count in counts.items())


def visible(text: str) -> str:
    """A text from data in one line that shows what it holds and steers nothing."""
    return inert(" ".join(text.split()))


def inert(text: str) -> str:
    """A text whose characters are all shown; line ends alone are obeyed.

    Control characters and marks of direction are what a terminal, a browser or an editor obeys
    instead of showing; they become their code point.
    """
    return _OBEYED.sub(lambda match: f"\u2039U+{ord(match[0]):04X}\u203a", text)


# The categories Cc, but for the line feed, and Cs; then the marks of direction.
_OBEYED = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
