"""A progress bar: in a terminal rich's, in a notebook one that needs no package of widgets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from kragx.ground.printing.localisation import in_language
from kragx.ground.printing.parts import visible

_PAUSE = 0.1
"""Seconds between two pictures of a bar in a notebook, each of which goes to the browser."""


@contextmanager
def progress_bar(
    task: str, total: int | None, option: bool | None, note: Callable[[], str] = lambda: ""
) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error, in the language of results; what it yields moves it on.

    Args:
        task: what is done.
        total: how often; None where that is not known before.
        option: whether to show it; None for only on a terminal or in a notebook.
        note: what to say beside it now.
    """
    if option is False:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    err = Console(stderr=True)
    if option is None and not (err.is_terminal or err.is_jupyter):
        yield lambda: None
        return
    task = in_language(task)
    if err.is_jupyter:  # where rich would ask for ipywidgets, with a warning
        with _notebook_bar(task, total, note) as advance:
            yield advance
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        bar_task = bar.add_task(visible(task), total=total, note="")
        yield lambda: bar.update(bar_task, advance=1, note=visible(note()))


@contextmanager
def _notebook_bar(
    task: str, total: int | None, note: Callable[[], str]
) -> Iterator[Callable[[], None]]:
    """A picture in the cell's output, drawn anew as it goes on and taken away at the end."""
    from IPython.display import display

    done, shown_at = 0, time.monotonic()
    show: Any = display  # which has no types
    handle = show(_picture(task, 0, total, ""), raw=True, display_id=True)

    def advance() -> None:
        nonlocal done, shown_at
        done += 1
        if done == total or time.monotonic() - shown_at >= _PAUSE:
            shown_at = time.monotonic()
            handle.update(_picture(task, done, total, note()), raw=True)

    try:
        yield advance
    finally:
        handle.update({"text/plain": "", "text/html": ""}, raw=True)


def _picture(task: str, n_done: int, total: int | None, note: str) -> dict[str, str]:
    """A bar as a notebook takes it: HTML, and a text where there is none."""
    count = str(n_done) if total is None else f"{n_done}/{total}"
    text = " ".join(filter(None, (visible(task), count, visible(note))))
    ends = "" if total is None else f" value='{n_done}' max='{total}'"
    bar = f"<progress{ends} aria-label='{escape(visible(task), quote=True)}'></progress>"
    return {"text/plain": text, "text/html": f"<div>{bar} {escape(text)}</div>"}
