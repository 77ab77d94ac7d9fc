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


def frames(innermost: FrameType | None = None) -> Iterator[FrameType]:
    """What runs, the innermost first: by default in this thread and task."""
    frame: FrameType | None = innermost or sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_at_work(frame: FrameType, there: Place) -> bool:
    """Whether a frame runs or is awaited at a place; where that cannot be seen it is."""
    if there == place():
        return _is_among(frame, frames())
    thread, task = there
    if task is None:
        return True
    # Between two looks the task may begin to wait, or no longer do so.
    return any(_runs(thread, frame) or _is_awaited(task, frame) for _ in range(2))


def _runs(thread: int, frame: FrameType) -> bool:
    innermost = sys._current_frames().get(thread)
    return innermost is not None and _is_among(frame, frames(innermost))


def _is_among(frame: FrameType, running: Iterator[FrameType]) -> bool:
    return any(at is frame for at in running)


def _is_awaited(task: asyncio.Task[Any], frame: FrameType) -> bool:
    """Whether a frame is among those that wait in a task, which may wait for what hides others."""
    awaited: Any = None if task.done() else task.get_coro()
    while inspect.iscoroutine(awaited):
        if awaited.cr_frame is frame:
            return not awaited.cr_running
        awaited = awaited.cr_await
    return awaited is not None and type(awaited).__name__ != "FutureIter"
