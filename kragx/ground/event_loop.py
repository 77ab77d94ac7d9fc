"""Coroutines run from synchronous code: all in one event loop, in a thread that stays.

Chat models, embeddings and retrievers keep connections that belong to the event loop in which they
were opened; a loop for each call would leave the next one with connections of a loop that is
closed. So there is one for the life of the process, and a notebook's own loop does not matter.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

_Result = TypeVar("_Result")

_LOOK = 0.5  # seconds between looks for an interrupt, where a wait does not end by one (Windows)
_END = 2.0  # seconds that are left to a call after the second interrupt


def run_sync(make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Run a coroutine to its end, whether or not an event loop is running here.

    It sees the caller's context variables. At an interrupt (Ctrl-C, or a signal whose handler
    raises) the coroutine is cancelled and waited for, so it may first finish what it is at; what
    it raises meanwhile becomes the interrupt's cause. A second interrupt cancels it again, waits
    two seconds at most, and leaves the loop to what hangs in it.

    Args:
        make: makes the coroutine; called in the loop's thread.
    """
    thread, future, tasks = _thread(), Future[_Result](), list[asyncio.Task[_Result]]()

    async def run() -> _Result:
        return await make()  # so that what making raises ends the task, too

    def begin() -> None:
        tasks.append(thread.loop.create_task(run()))
        tasks[0].add_done_callback(finish)

    def finish(task: asyncio.Task[_Result]) -> None:
        try:
            future.set_result(task.result())
        except BaseException as error:
            future.set_exception(error)

    def end() -> None:
        # It may take its time: only the task's own end is that of the future.
        thread.loop.call_soon_threadsafe(lambda: tasks and tasks[0].cancel())

    try:
        thread.loop.call_soon_threadsafe(begin)
        _wait(future)
    except BaseException as interrupt:
        try:
            end()
            _wait(future)
        except BaseException:
            end()
            if wait([future], _END).not_done:
                thread.is_left = True
            raise
        error = future.exception()
        raise interrupt from (None if isinstance(error, asyncio.CancelledError) else error)
    return future.result()


def _wait(future: Future[Any]) -> None:
    while wait([future], _LOOK).not_done:
        pass


async def run_on_loop(make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Await a coroutine that runs where `run_sync` runs its own, from whichever event loop."""
    if isinstance(threading.current_thread(), _LoopThread):
        return await make()

    async def run() -> _Result:
        return await make()  # which is called where it runs

    # Who cancels this cancels what it waits for.
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), _thread().loop))


class _LoopThread(threading.Thread):
    """A thread with an event loop that runs as long as the process.

    It is never stopped: as a daemon it ends with the process, and the system closes what it has
    open then.

    Attributes:
        inner: runs what is called while this one cannot go on, as what runs in it calls
            synchronous code that ends here.
        is_left: whether something hangs in its loop, which is used no longer.
    """

    inner: "_LoopThread | None" = None
    is_left = False

    def __init__(self) -> None:
        super().__init__(name="kragx-loop", daemon=True)
        self.loop = asyncio.new_event_loop()
        self.start()

    def run(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            # A task that wants to exit has kept its exception, for whoever waits for it.
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()


_lock = threading.Lock()
_outermost: _LoopThread | None = None


def _thread() -> _LoopThread:
    """The thread whose loop is free for whoever calls."""
    global _outermost  # noqa: PLW0603  # the process has one
    current = threading.current_thread()
    with _lock:
        if isinstance(current, _LoopThread):
            current.inner = current.inner or _LoopThread()
            return current.inner
        # A forked process inherits no thread.
        if _outermost is None or _outermost.is_left or not _outermost.is_alive():
            _outermost = _LoopThread()
        return _outermost
