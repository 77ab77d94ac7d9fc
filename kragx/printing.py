"""Printing is one door: a result describes itself plainly, and this shows it to people.

A result describes itself as `Line`s and `Table`s; they are printed in a terminal, shown as HTML in
a notebook and written as Markdown from the same description. Numbers have one form everywhere.
"""

from __future__ import annotations

import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from kragx.plain import plain_fields

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

MARK = "bold green"
"""The style of what is marked in a line."""

WIDTH = 200
"""Columns of text that goes to no terminal, so that no table is cut in a pipe or CI log."""


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
        marks: where the text is marked: in colour, and in «marks» where there is none.
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


def console(*, stderr: bool = False) -> Console:
    """A console that never cuts a table in a pipe or CI log, and obeys COLUMNS and NO_COLOR."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704  # rich calls this while it handles the error; it is ours

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Pipe(stderr=stderr, width=width, highlight=False, soft_wrap=False)


def show(parts: Iterable[Part], out: Console | None = None) -> None:
    """Print a description; a table too wide for the window is split between its columns."""
    from rich.padding import Padding
    from rich.text import Text

    out = out or console()
    for part in parts:
        if isinstance(part, Line):
            colour = out.is_terminal and not out.no_color
            text = Text(style=part.style)
            for piece, marked in part.pieces() if colour else [(part.plain(), False)]:
                text.append(piece, MARK if marked else "")
            if part.indent:
                out.print(Padding(text, (0, 0, 0, part.indent), expand=False))
            else:
                out.print(text, soft_wrap=True)
        else:
            _show_table(part, out)


@contextmanager
def progress_bar(
    task: str, total: int, wanted: bool | None, note: Callable[[], str] = lambda: ""
) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error; what it yields moves it on by one.

    Args:
        task: what is done.
        total: how often.
        wanted: whether to show it; None for only on a terminal or in a notebook.
        note: what to say beside it now.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    err = Console(stderr=True)
    shown = (err.is_terminal or err.is_jupyter) if wanted is None else wanted
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, disable=not shown, transient=True) as bar:
        bar_task = bar.add_task(task, total=total, note="")

        def advance() -> None:
            if shown:
                bar.update(bar_task, advance=1, note=note())

        yield advance


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
        out.print(Text(table.note, style="dim"))


def _rich(table: Table, columns: Sequence[int]) -> RichTable:
    from rich.table import Column
    from rich.table import Table as RichTable
    from rich.text import Text

    rich_table = RichTable(
        *(
            Column(Text(inert(table.columns[at])), justify="left" if at < table.words else "right")
            for at in columns
        )
    )
    for row in table.rows:
        texts = []
        for at in columns:
            cell = _cell(row[at])
            text = Text(inert(cell.text), style=cell.style)
            if cell.below:
                text.append(f"\n{inert(cell.below)}", style="not bold dim")
            texts.append(text)
        rich_table.add_row(*texts)
    return rich_table


def as_html(parts: Iterable[Part]) -> str:
    """A description as HTML for a notebook."""
    return "".join(
        f"<p>{''.join(_html_piece(*piece) for piece in part.pieces())}</p>"
        if isinstance(part, Line)
        else _html_table(part)
        for part in parts
    )


def _html_piece(text: str, marked: bool) -> str:
    return f"<mark>{escape(text)}</mark>" if marked else escape(text)


def _cell(value: str | Cell) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def _html_table(table: Table) -> str:
    def cell(value: str | Cell, position: int) -> str:
        shown = _cell(value)
        text = "<br>".join(escape(inert(line)) for line in (shown.text, shown.below) if line)
        align = " style='text-align:left'" if position < table.words else ""
        return f"<td{align}>{f'<b>{text}</b>' if 'bold' in shown.style else text}</td>"

    heads = "".join(f"<th>{escape(inert(head))}</th>" for head in table.columns)
    rows = "".join(
        f"<tr>{''.join(cell(value, position) for position, value in enumerate(row))}</tr>"
        for row in table.rows
    )
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{note}"


def as_markdown(parts: Iterable[Part], deeper: int = 0) -> str:
    """A description as Markdown, in which every text is shown to the letter.

    Args:
        parts: the description.
        deeper: by how much its headings stand below their own level.
    """
    blocks: list[str] = []
    before = ""
    for part in parts:
        if isinstance(part, Table):
            block = _markdown_table(part)
        elif isinstance(part, Heading):
            block = f"{'#' * (part.level + deeper)} {escaped(part.text)}"
        elif part.item or part.style == "yellow":
            block = f"- {'**?** ' if part.item == '?' else ''}{escaped(part.text)}"
        else:
            block = escaped(part.text)
        if blocks and block.startswith("- ") and before.startswith("- "):
            blocks[-1] += f"\n{block}"
        else:
            blocks.append(block)
        before = block
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    def cell(value: str | Cell) -> str:
        shown = _cell(value)
        text = f"`{shown.text}`" if shown.code else escaped(shown.text)
        return f"{f'**{text}**' if 'bold' in shown.style else text} {escaped(shown.below)}".strip()

    rules = ["---" if at < table.words else "---:" for at in range(len(table.columns))]
    rows = [[*map(escaped, table.columns)], rules, *([*map(cell, row)] for row in table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, *(["", escaped(table.note)] if table.note else [])])


_MARKDOWN = re.compile(r"([\\`*_\[\]|~$]|(?<!\w)@|(?<=:)//|^[#+=-]+(?=\s|$)|^\d+(?=[.)](?:\s|$)))")


def escaped(text: str) -> str:
    """A text from data as Markdown shows it to the letter.

    White space and line ends become one space, controls visible; what Markdown, HTML in it, or
    GitHub's mentions, links and formulas would read is escaped.
    """
    plain = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(lambda match: _escape(match[0]), plain)


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
    if value is None or value < 0:
        return number(value)
    return f"+{number(abs(value))}"  # abs: -0.0 is no loss


def interval(low: float | None, high: float | None, *, plus: bool = False) -> str:
    """An interval in brackets; empty where there is none."""
    if low is None or high is None:
        return ""
    shown = signed if plus else number
    return f"[{shown(low)}, {shown(high)}]"


def probability(p: float | None) -> str:
    """A p as people read it; a dash where nothing was tested."""
    if p is None:
        return "-"
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


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
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"\u2039U+{ord(character):04X}\u203a"
        if (unicodedata.category(character) in ("Cc", "Cs") and character != "\n")
        or character in _DIRECTION
        else character
        for character in text
    )


_DIRECTION = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
