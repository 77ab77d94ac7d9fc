"""Who does the work: this process, several others, an executor."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from queue import SimpleQueue
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
    """Several processes of this machine; they end with the work, and with this process.

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
        sent = sendable(function)
        idle: SimpleQueue[_Worker] = SimpleQueue()
        workers: list[_Worker] = []

        def work(item: Item) -> Outcome[Value]:
            worker = idle.get()
            try:
                return worker.outcome(item)
            finally:
                idle.put(worker)

        threads = ThreadPoolExecutor(self.n, "kragx-worker")
        try:
            for _ in range(self.n):
                workers.append(_Worker(sent))
                idle.put(workers[-1])
            yield from in_order(
                lambda item: threads.submit(work, item), chain(first, stream), AHEAD * self.n
            )
        finally:  # also where it is interrupted, or nobody wants the rest
            threads.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.end()
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
        sent, here = sendable(function), os.getpid()
        return in_order(
            lambda item: self.executor.submit(attempt_sent, sent, item, here), items, self.n
        )


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


class NotMadeError(UsageError):
    """What is to work in other processes cannot be made there."""


def attempt(function: Callable[[Item], Value], item: Item) -> Outcome[Value]:
    """Do the work in another process, where nobody sees errors and warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value, error = None, None
        try:
            value = function(item)
        except Exception as problem:  # whoever waits for the result is told
            error = sendable_error(problem)
    return Outcome(value, error, [(warned_text(own.message), own.category) for own in caught])


def attempt_sent(sent: bytes, item: Any, whose: int | None = None) -> Outcome[Any]:
    """`attempt` with a function that was sent; each thread has it once, as its own.

    In the process `whose` warnings reach everybody as they are.
    """
    known: dict[str, Callable[[Any], Any]] = _functions.__dict__
    key = hashlib.sha256(sent).hexdigest()
    if key not in known:
        known.clear()
        try:
            known[key] = pickle.loads(sent)
        except Exception as error:  # a class of the script, say
            return Outcome(error=not_sendable(error))
    if whose == os.getpid():
        try:
            return Outcome(known[key](item))
        except Exception as error:
            return Outcome(error=error)
    return attempt(known[key], item)


_functions = threading.local()


def sendable_error(error: Exception) -> Exception:
    """An error as it can leave a process."""
    if not isinstance(error, KragxError):
        error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


class Submitted(Protocol[Value]):
    """Work that is under way; a `Future` is one."""

    def result(self) -> Outcome[Value]:
        """What came of it, once it is done."""
        ...

    def cancel(self) -> object:
        """Nobody wants it any more."""
        ...


def in_order(
    submit: Callable[[Item], Submitted[Value]], items: Iterable[Item], most: int
) -> Generator[Value, None, None]:
    """The results of what is submitted, in order; at most so many items are under way."""
    waiting: deque[tuple[Item, Submitted[Value]]] = deque()
    said: set[tuple[str, type[Warning]]] = set()
    stream = iter(items)
    try:
        while True:
            for item in islice(stream, most - len(waiting)):
                waiting.append((item, submit(item)))
            if not waiting:
                return
            item, future = waiting[0]
            try:
                outcome = future.result()
            except BrokenExecutor as error:
                names = ", or on ".join(name_of(own) for own, _ in islice(waiting, 3))
                raise died(names) from error
            waiting.popleft()
            for warned in outcome.warned:
                if warned not in said:
                    said.add(warned)
                    warn(*warned)
            if outcome.error is not None:
                raise outcome.error
            yield outcome.value  # type: ignore[misc]  # there is one, as there is no error
    finally:
        for _, future in waiting:
            future.cancel()


def name_of(item: object) -> str:
    """What messages call an item."""
    return str(getattr(item, "name", item))


def died(name: str, how: str = "") -> WorkerError:
    """The error that says on what a process worked that is no more."""
    return WorkerError(
        f"a worker died{how} while it worked on {name}",
        remedy="if memory ran out, fewer workers need less of it; nothing is lost but this work",
    )


def sendable(function: Callable[..., object]) -> bytes:
    """A function with its arguments as other processes get it.

    Raises:
        UsageError: it cannot be sent.
    """
    try:
        return pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
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


_CODE = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from kragx.evaluation.parts.worker import serve; serve()"
)


class _Worker:
    """A process that does the work; it is told what on its standard input."""

    def __init__(self, function: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._function: bytes | None = function

    def outcome(self, item: Any) -> Outcome[Any]:
        """What came of an item; `WorkerError` if the process dies of it."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if self._function is not None:
                pickle.dump(sys.path, process.stdin)
                pickle.dump(self._function, process.stdin, pickle.HIGHEST_PROTOCOL)
                self._function = None
            pickle.dump(item, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            outcome: Outcome[Any] = pickle.load(process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            process.kill()
            code = process.wait()
            with suppress(ValueError):
                raise died(name_of(item), f" ({signal.Signals(-code).name})") from None
            raise died(name_of(item), f" (exit code {code})") from None
        return outcome

    def end(self) -> None:
        """End the process, whatever it is at."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
