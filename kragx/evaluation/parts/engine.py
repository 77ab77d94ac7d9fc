"""Who does the work: this process, several others, an executor."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from kragx.errors import KragxError, UsageError, WorkerError
from kragx.warned import warn, warned_text

Item = TypeVar("Item")
Value = TypeVar("Value")

AHEAD = 2
"""How many items wait for each worker, so that none is idle while results are taken in."""


class Engine(Protocol):
    """Does the same with many items."""

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item, in the order of the items.

        Args:
            function: of a module, with arguments that can be sent to other processes; it is sent to
                each of them once.
            items: are taken as they are needed, a few ahead.

        Raises:
            WorkerError: whoever worked on an item died.
        """
        ...


@dataclass(frozen=True)
class Here:
    """This process, one item after the other."""

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item."""
        yield from map(function, items)


@dataclass(frozen=True)
class Processes:
    """Several processes of this machine, a core each; they end with the work, and with this one.

    They are started anew and import no script, so that it does not matter what it does.

    Attributes:
        n: how many.
    """

    n: int

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item; a single item is done here."""
        stream = iter(items)
        first = list(islice(stream, 2))
        if len(first) < 2:
            yield from map(function, first)
            return
        idle: SimpleQueue[_Worker] = SimpleQueue()
        workers: list[_Worker] = []

        def work(item: Item) -> bytes:
            worker = idle.get()
            try:
                return worker.outcome(item)
            finally:
                idle.put(worker)

        sent = sendable(function)
        threads = ThreadPoolExecutor(self.n, "kragx-worker")
        try:
            for _ in range(self.n):
                workers.append(_Worker(sent))
                idle.put(workers[-1])
            stream = chain(first, stream)
            yield from in_order(lambda item: threads.submit(work, item), stream, AHEAD * self.n)
        finally:  # also where it is interrupted, or nobody wants the rest
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.process.kill()
            threads.shutdown()


@dataclass(frozen=True)
class Pool:
    """Somebody's `concurrent.futures.Executor`, which stays theirs.

    Attributes:
        executor: it.
        n: how many items it is given at once.
    """

    executor: Executor
    n: int = field(default_factory=lambda: AHEAD * (os.cpu_count() or 1))

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item."""
        sent, home = sendable(function), os.getpid()
        return in_order(
            lambda item: self.executor.submit(attempt_sent, sent, sendable(item), home),
            items,
            self.n,
        )


# -- on our side -----------------------------------------------------------------------------------


class Submitted(Protocol):
    """Work that is under way; a `Future` is one."""

    def result(self) -> bytes:
        """The pickled `Outcome`, once it is done."""
        ...

    def cancel(self) -> object:
        """Nobody wants it any more."""
        ...


def in_order(
    submit: Callable[[Item], Submitted], items: Iterable[Item], most: int
) -> Generator[Any, None, None]:
    """The results of what is submitted, in order; at most so many items are under way.

    What was warned of there is warned of here, once.
    """
    waiting: deque[tuple[Item, Submitted]] = deque()
    said: set[tuple[str, type[Warning]]] = set()
    stream = iter(items)
    try:
        while True:
            for item in islice(stream, most - len(waiting)):
                waiting.append((item, submit(item)))
            if not waiting:
                return
            try:
                outcome: Outcome[Any] = pickle.loads(waiting[0][1].result())
            except BrokenExecutor as error:
                names = ", or on ".join(name_of(item) for item, _ in islice(waiting, 3))
                raise died(names) from error
            waiting.popleft()
            for warned in outcome.warned:
                if warned not in said:
                    said.add(warned)
                    warn(*warned)
            if outcome.error is not None:
                raise outcome.error
            yield outcome.value
    finally:
        for _, future in waiting:
            future.cancel()


class _Worker:
    """A process of ours; a thread at a time waits for what comes of an item."""

    def __init__(self, function: bytes) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._connection, theirs = spawning.Pipe()
        self._function = function
        self.process = spawning.Process(target=_serve, args=(theirs,), daemon=True)
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")  # which the process would import
        try:
            self.process.start()
        finally:
            sys.modules["__main__"] = main
        theirs.close()  # so that nothing comes any more once the process has died

    def outcome(self, item: object) -> bytes:
        """What comes of an item: a pickled `Outcome`; `WorkerError` if the process dies of it."""
        sent = sendable(item)
        try:
            if self._function:
                self._connection.send_bytes(self._function)
                self._function = b""
            self._connection.send_bytes(sent)
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            self.process.kill()
            self.process.join()
        code = self.process.exitcode or 0
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise died(name_of(item), f" ({how})")


def name_of(item: object) -> str:
    """What messages call an item."""
    return str(getattr(item, "name", item))


def died(name: str, how: str = "") -> WorkerError:
    """The error that says on what a process worked that is no more."""
    return WorkerError(
        f"a worker died{how} while it worked on {name}",
        remedy="if memory ran out, fewer workers need less of it; nothing is lost but this work",
    )


def sendable(value: object) -> bytes:
    """A function with its arguments, or an item, as other processes get it.

    Raises:
        UsageError: it cannot be sent.
    """
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise not_sendable(error) from error


def not_sendable(error: Exception) -> UsageError:
    """The error that says what to do about something that other processes cannot have."""
    return UsageError(
        f"other processes cannot have what is to be done: {error}",
        field="workers",
        remedy="name classes and functions by import path, from a module and not from the script "
        "or notebook itself; or leave 'workers' out",
    )


class NotMadeError(UsageError):
    """What is to work in other processes cannot be made there."""


# -- on theirs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome(Generic[Value]):
    """What came of an item in another process.

    Attributes:
        value: what the function has made of it; None after an error.
        error: what it has raised.
        warned: what was warned of: message and category.
    """

    value: Value | None = None
    error: BaseException | None = None
    warned: Sequence[tuple[str, type[Warning]]] = ()

    def packed(self) -> bytes:
        """It pickled; where it cannot leave this process, the error that says so."""
        try:
            return pickle.dumps(self, pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            return pickle.dumps(Outcome(error=not_sendable(error)))


def attempt(
    function: Callable[[Item], Value], item: Item, *, heard: bool = False
) -> Outcome[Value]:
    """Do the work where nobody sees errors, nor warnings unless somebody `heard` them."""
    caught: Any = nullcontext([])
    if not heard:
        caught = warnings.catch_warnings(record=True, action="always")
    with caught as said:
        value, problem = None, None
        try:
            value = function(item)
        except Exception as error:  # whoever waits for the result is told
            problem = _sendable_error(error)
    return Outcome(value, problem, [(warned_text(own.message), own.category) for own in said])


def _sendable_error(error: Exception) -> Exception:
    if not isinstance(error, KragxError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def attempt_sent(sent: bytes, item: bytes, home: int = 0) -> bytes:
    """The pickled `Outcome` of a function and an item that were sent.

    A thread unpickles the function once, as its own. In threads of the process `home` errors and
    warnings reach everybody as they are.
    """
    known = _known.__dict__
    try:
        if known.get("sent") != sent:
            known.update(function=pickle.loads(sent), sent=sent)
        own = pickle.loads(item)
    except Exception as error:  # a class of the script, say
        return Outcome[Any](error=not_sendable(error)).packed()
    return attempt(known["function"], own, heard=os.getpid() == home).packed()


_known = threading.local()


def _serve(connection: Connection) -> None:
    """Work on what comes, as long as whoever has started this process is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    os.environ["OMP_NUM_THREADS"] = "1"  # a core each: read as numpy and pyarrow are imported
    os.dup2(2, 1)  # what code prints is no result
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # nobody is there any more
        function = connection.recv_bytes()
        while True:
            connection.send_bytes(attempt_sent(function, connection.recv_bytes()))


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)  # in the middle of whatever it is at
