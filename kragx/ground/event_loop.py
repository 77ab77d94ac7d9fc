"""Coroutines run from synchronous code: all in one event loop, in a thread that stays.

Chat models, embeddings and retrievers keep connections that belong to the event loop in which they
were opened; a loop for each call would leave the next one with connections of a loop that is
closed. So there is one for the life of the process, and a notebook's own loop does not matter.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

_Result = TypeVar("_Result")

_LOOK = 0.5  # seconds between looks for an interrupt, where a wait does not end by one (Windows)
_BEGIN = 5.0  # seconds for a call to begin; a loop that takes longer is blocked by what it runs
_END = 2.0  # seconds that are left to a call after the second interrupt


def run_sync(make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Run a coroutine to its end, whether or not an event loop is running here.

    It sees the caller's context variables. At an interrupt (Ctrl-C, or a signal whose handler
    raises) the coroutine is cancelled and waited for, so it may first finish what it is at; what
    it raises meanwhile becomes the interrupt's cause. A second interrupt cancels it again and
    waits two seconds at most.

    Args:
        make: makes the coroutine; called in the loop's thread.
    """
    call = _Call(make)
    try:
        call.begin()
        call.wait()
    except BaseException as interrupt:
        try:
            call.cancel()
            call.wait()
        except BaseException:
            call.cancel()
            call.leave_after(_END)
            raise
        raise interrupt from call.error
    return call.future.result()


async def run_on_loop(make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Await a coroutine that runs where `run_sync` runs its own, from whichever event loop."""
    if isinstance(threading.current_thread(), _LoopThread):
        return await make()
    call = _Call(make)
    call.put(_first())
    try:
        return await asyncio.wrap_future(call.future)
    except asyncio.CancelledError:
        call.cancel()
        raise


class _LoopThread(threading.Thread):
    """A thread with an event loop that runs as long as the process.

    It is never stopped: as a daemon it ends with the process, and the system closes what it has
    open then.
    """

    inner: "_LoopThread | None" = None  # for what is called while this one cannot go on

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

    def further(self) -> "_LoopThread":
        """Another one beside it."""
        with _lock:
            self.inner = self.inner or _LoopThread()
            return self.inner


_lock = threading.Lock()
_thread: _LoopThread | None = None


def _first() -> _LoopThread:
    global _thread  # noqa: PLW0603  # the process has one
    with _lock:
        if _thread is None or not _thread.is_alive():  # a forked process inherits no thread
            _thread = _LoopThread()
        return _thread


class _Call(Generic[_Result]):
    """A coroutine that is to run in a thread's loop."""

    thread: _LoopThread
    task: "asyncio.Task[_Result] | None" = None

    def __init__(self, make: Callable[[], Coroutine[Any, Any, _Result]]) -> None:
        self.make = make
        self._wish()

    def _wish(self) -> None:
        self.future, self.ended = Future[_Result](), threading.Event()
        ended = self.ended
        self.future.add_done_callback(lambda _: ended.set())

    def begin(self) -> None:
        """Run it in the first loop that takes it.

        What runs in a loop may call synchronous code that ends here, and blocks the loop till that
        is done: directly, or while it waits for a thread of its own. Hence further loops.
        """
        current = threading.current_thread()
        thread = current.further() if isinstance(current, _LoopThread) else _first()
        while not self.put(thread).wait(_BEGIN) and self.future.cancel():
            self._wish()
            thread = thread.further()

    def put(self, thread: _LoopThread) -> threading.Event:
        """Have it run in the loop of this thread; the event says that it begins, or has ended."""
        future, begun = self.future, threading.Event()

        def begin() -> None:
            # Until then it can be taken away again; from then on only its own end ends it.
            if future.set_running_or_notify_cancel():
                begun.set()
                try:
                    self.task = thread.loop.create_task(self.make())
                except BaseException as error:
                    future.set_exception(error)
                else:
                    self.task.add_done_callback(self._finish)

        self.thread = thread
        thread.loop.call_soon_threadsafe(begin)
        return begun

    def _finish(self, task: "asyncio.Task[_Result]") -> None:
        try:
            self.future.set_result(task.result())
        except BaseException as error:
            self.future.set_exception(error)

    def wait(self) -> None:
        """Wait until it has ended."""
        while not self.ended.wait(_LOOK):
            pass

    def cancel(self) -> None:
        """Cancel the coroutine; it may take its time to end."""
        if not self.future.cancel():
            self.thread.loop.call_soon_threadsafe(lambda: self.task and self.task.cancel())

    def leave_after(self, seconds: float) -> None:
        """Wait so long, then use that loop no longer: something hangs in it."""
        global _thread  # noqa: PLW0603
        try:
            self.ended.wait(seconds)
        finally:
            with _lock:
                if not self.ended.is_set() and _thread is self.thread:
                    _thread = None

    @property
    def error(self) -> BaseException | None:
        """What it raised, but for being cancelled."""
        if self.future.cancelled():
            return None
        error = self.future.exception()
        return None if isinstance(error, asyncio.CancelledError) else error
