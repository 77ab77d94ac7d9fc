"""The terminal: descriptions and lines printed in it, and its console."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Literal

from kragx.ground.messages import Message
from kragx.ground.printing.localisation import in_language, spoken
from kragx.ground.printing.parts import Cell, Part, Table, inert

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

WIDTH = 200
"""Columns of text that goes to no terminal, so that no table is cut in a pipe or CI log."""


_RESULTS = ContextVar[IO[str] | None]("kragx_results", default=None)


def output() -> IO[str]:
    """Where results go."""
    return _RESULTS.get() or sys.stdout


@contextmanager
def results_alone() -> Iterator[None]:
    """Within it results alone go to standard output, and go on to nobody once its reader has gone.

    What else is printed there, by a retriever, a matcher or a program that they start, is no
    result, and goes to standard error.
    """
    stdout = sys.stdout
    try:
        number, errors_number = stdout.fileno(), sys.stderr.fileno()
    except (OSError, ValueError):  # others stand for them, which have no number
        yield
        return
    stdout.flush()
    # With a buffer, whatever PYTHONUNBUFFERED says: without one a full disk takes part of a write.
    with os.fdopen(os.dup(number), "w", encoding=stdout.encoding, errors=stdout.errors) as results:
        os.dup2(errors_number, number)
        token = _RESULTS.set(results)
        try:
            yield
        finally:
            _RESULTS.reset(token)
            sys.stdout = stdout  # which may have been put away
            with suppress(OSError, ValueError):  # closed by whoever else prints there
                stdout.flush()
            os.dup2(results.fileno(), number)


@contextmanager
def _writing_results() -> Iterator[None]:
    """Around what writes results: a command whose reader has gone does what else it has to do."""
    results = _RESULTS.get()
    try:
        yield
        output().flush()
    except BrokenPipeError:
        if results is None:
            raise
        let_go(results)


def let_go(file: IO[str]) -> None:
    """Lead a file nowhere, lest Python complain of it at its end."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, file.fileno())
        os.close(null)


def console() -> Console:
    """A console that never cuts a table in a pipe or CI log, and obeys COLUMNS and NO_COLOR."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704  # rich calls this while it handles the error; it is ours

    file = output()
    width = None if file.isatty() or "COLUMNS" in os.environ else WIDTH
    # A notebook would get tables as displays of their own, apart from the lines around them.
    return Pipe(file=file, width=width, highlight=False, soft_wrap=False, force_jupyter=False)


def put(text: str) -> None:
    """Write a text to standard output, a message in the language of results; it steers nothing."""
    with _writing_results():
        output().write(inert(_shown_text(text)))


def say(text: str) -> None:
    """Write to standard error what is no result.

    It steers no terminal, and whatever it quotes, only kragx itself begins a line. It is said
    in the language that results are shown in.
    """
    with suppress(OSError, ValueError):  # where nobody can be told, all else is done as ever
        sys.stderr.write(re.sub(r"\n(?=\S)", "\n  ", inert(_shown_text(text))) + "\n")
        sys.stderr.flush()


def _shown_text(text: str) -> str:
    return in_language(text) if isinstance(text, Message) else text


def show(parts: Iterable[Part], out: Console | None = None, *, language: str | None = None) -> None:
    """Print a description; a table too wide for the window is split between its columns.

    `language` is ``en`` or ``ko``; None for the one results are shown in (`localisation.language`).
    """
    with _writing_results():
        _show(spoken(parts, language), out or console())


def _show(parts: Iterable[Part], out: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    colour = out.is_terminal and not out.no_color
    for part in parts:
        if isinstance(part, Table):
            _show_table(part, out)
            continue
        if not (part.indent or out.is_terminal):
            out.file.write(f"{part.plain()}\n")  # as below, but in next to no time
            continue
        pieces = part.pieces() if colour else [(part.plain(), False)]
        marked = ((piece, "bold green" if marked else "") for piece, marked in pieces)
        text = Text.assemble(*marked, style=part.style)
        if part.indent:
            out.print(Padding(text, (0, 0, 0, part.indent), expand=False))
        else:
            out.print(text, soft_wrap=True)


def as_text(parts: Iterable[Part], *, language: str | None = None) -> str:
    """A description as plain text."""
    from rich.console import Console

    file = io.StringIO()
    out = Console(file=file, width=WIDTH, highlight=False, color_system=None, force_jupyter=False)
    _show(spoken(parts, language), out)
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
        n_rows = next(
            (n for n in range(len(rest), 1, -1) if fits(_rich(table, [*words, *rest[:n]]))), 1
        )
        out.print(_rich(table, [*words, *rest[:n_rows]]))
        rest = rest[n_rows:]
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
