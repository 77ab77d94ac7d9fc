"""Where calls run: in which thread and task, and in which function's frame."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

Place = tuple[int, "asyncio.Task[Any] | None"]
"""A thread and a task: the task itself, as another may get the number of one that is gone."""


def place() -> Place:
    """The thread and the task that run now."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return threading.get_ident(), task


def frames() -> Iterator[FrameType]:
    """What runs now in this thread and task, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_at_work(frame: FrameType, there: Place) -> bool:
    """Whether a frame runs or is awaited at a place; where that cannot be seen it is."""
    if there == place():
        return any(running is frame for running in frames())
    task = there[1]
    return task is None or not (task.done() or _awaits_without(task, frame))


def _awaits_without(task: asyncio.Task[Any], frame: FrameType) -> bool:
    """Whether a task awaits a future, and the frame is not among those that await it."""
    awaited: Any = task.get_coro()
    while inspect.iscoroutine(awaited):
        if awaited.cr_frame is frame:
            return False
        awaited = awaited.cr_await
    return type(awaited).__name__ == "FutureIter"
