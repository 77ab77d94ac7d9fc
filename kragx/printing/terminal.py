"""The terminal: a console that fits where its text goes, and a progress bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 200
"""Columns of text that goes to no terminal, so that no table is cut in a pipe or CI log."""


def console(*, stderr: bool = False) -> Console:
    """A console that never cuts a table in a pipe or CI log, and obeys COLUMNS and NO_COLOR."""
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704  # rich calls this while it handles the error; it is ours

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return Pipe(stderr=stderr, width=width, highlight=False, soft_wrap=False)


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
