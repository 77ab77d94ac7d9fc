"""Who works on parts: processes of this machine, somebody's executor, or another engine."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import threading
import traceback
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar

from kragx.errors import UsageError, WorkerError
from kragx.warned import warn, warned_text

Item = TypeVar("Item")
Value = TypeVar("Value")

AHEAD = 2
"""How many items wait for each worker, so that none is idle while results are taken in."""


class Outcome(NamedTuple):
    """What came of an item: the value, or its error; and what was warned of, with categories."""

    value: Any
    warned: Sequence[tuple[str, type[Warning]]] = ()


class Engine(ABC):
    """Does the same with many items."""

    @abstractmethod
    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item, in the order of the items.

        Args:
            function: of a module, with arguments that can be sent to other processes.
            items: are taken as they are needed, a few ahead.

        Raises:
            WorkerError: whoever worked on an item died.
        """


@dataclass(frozen=True)
class Pool(Engine):
    """The workers of a `concurrent.futures.Executor`.

    Attributes:
        n: how many there are.
        executor: somebody's, which stays theirs; None for processes of this machine, a core each,
            which end with the work, and with this one.
    """

    n: int
    executor: Executor | None = None

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item; for a single one no process is started."""
        limit = AHEAD * self.n
        if (executor := self.executor) is not None:
            work = partial(work_on, sendable(function), home=os.getpid())
            yield from in_order(lambda item: executor.submit(work, sendable(item)), items, limit)
            return
        stream = iter(items)
        beginning = list(islice(stream, 2))
        if len(beginning) < 2:
            yield from map(function, beginning)
            return
        with _processes(self.n, sendable(function)) as pool:
            submit = lambda item: pool.submit(_work, sendable(item))  # noqa: E731
            yield from in_order(submit, chain(beginning, stream), limit, _read)


@contextmanager
def _processes(n: int, function: bytes) -> Iterator[Executor]:
    """New processes, each of which is sent the function once; they end with this one as well."""
    alive, ours = _Context().Pipe(duplex=False)
    with _outcomes_folder() as folder:
        executor = ProcessPoolExecutor(n, _Context(), _begin, (alive, function, folder))
        try:
            yield executor
        finally:  # also where it is interrupted, or nobody wants the rest
            ours.close()
            executor.shutdown(cancel_futures=True)
            alive.close()


def _outcomes_folder() -> TemporaryDirectory[str]:
    try:
        return TemporaryDirectory(prefix="kragx-workers-", ignore_cleanup_errors=True)
    except OSError as error:
        raise _no_room(error) from None


def _no_room(error: OSError) -> UsageError:
    return UsageError(
        f"what a worker has made cannot be written: {error}",
        field="workers",
        remedy="see that the folder of temporary files (TMPDIR names it) can be written and has "
        "room; or leave 'workers' out",
    )


class _Process(SpawnProcess):
    """A process that does not import the script, so that it does not matter what that does."""

    def start(self) -> None:
        """Begin, with another ``__main__`` at hand."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class _Context(SpawnContext):
    """Where an executor has such processes from."""

    Process = _Process


# -- on our side -----------------------------------------------------------------------------------


class Task(Protocol):
    """Work that is under way; a `Future` is one."""

    def result(self) -> Any:
        """Its outcome, once it is there."""
        ...

    def cancel(self) -> object:
        """Nobody wants it any more."""
        ...


def in_order(
    submit: Callable[[Item], Task],
    items: Iterable[Item],
    limit: int,
    read: Callable[[Any], Outcome] = lambda outcome: outcome,
) -> Generator[Any, None, None]:
    """The values of what is submitted, in order; at most so many items are under way.

    Errors are raised here. What was warned of there is warned of here, once.
    """
    waiting: deque[tuple[Item, Task]] = deque()
    shown: set[tuple[str, type[Warning]]] = set()
    stream = iter(items)
    try:
        while True:
            for item in islice(stream, limit - len(waiting)):
                waiting.append((item, submit(item)))
            if not waiting:
                return
            value, warned = read(waiting[0][1].result())
            waiting.popleft()
            if isinstance(value, Exception):
                raise value
            for warning in warned:
                if warning not in shown:
                    shown.add(warning)
                    warn(*warning)
            yield value
    except BrokenExecutor as error:  # whoever died was at one of the first
        names = (name_of(item) for item, task in waiting if _is_lost(task))
        raise died(", or on ".join(islice(names, limit // AHEAD))) from error
    finally:
        for _, task in waiting:
            task.cancel()


def _is_lost(task: Task) -> bool:
    try:
        task.result()
    except BrokenExecutor:
        return True
    return False


def name_of(item: object) -> str:
    """What messages call an item."""
    return str(getattr(item, "name", item))


def died(name: str, remark: str = "") -> WorkerError:
    """The error that says on what a process worked that is no more."""
    return WorkerError(
        f"a worker died{remark} while it worked on {name}",
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
        raise _not_sendable(error) from error


def _not_sendable(error: Exception) -> UsageError:
    return UsageError(
        f"other processes cannot have what is to be done: {error}",
        field="workers",
        remedy="name classes and functions by import path, from a module and not from the script "
        "or notebook itself; or leave 'workers' out",
    )


def _read(path: str) -> Outcome:
    """The outcome that a process of ours has written."""
    outcome: Outcome = pickle.loads(Path(path).read_bytes())
    Path(path).unlink()
    return outcome


# -- on theirs -------------------------------------------------------------------------------------


def work_on(function: bytes, item: bytes, *, home: int = 0) -> Outcome:
    """What a function and an item come to that were sent, where nobody sees errors and warnings.

    A thread unpickles the function once, with its matcher and corpus. In threads of the process
    `home` warnings reach everybody as they are.
    """
    state = _local.__dict__
    try:
        if state.get("sent") != function:
            state.update(function=pickle.loads(function), sent=function)
        unpacked = pickle.loads(item)
    except Exception as error:  # a class of the script, say
        return Outcome(_not_sendable(error))
    caught: Any = nullcontext(())
    if os.getpid() != home:
        caught = warnings.catch_warnings(record=True, action="always")
    with caught as raised:
        try:
            value = state["function"](unpacked)
        except Exception as error:
            return Outcome(_sendable(error))
    return Outcome(value, [(warned_text(note.message), note.category) for note in raised])


_local = threading.local()


def _sendable(error: Exception) -> Exception:
    """An error as it reaches whoever waits for it, whatever its class takes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


def _begin(alive: Connection, function: bytes, folder: str) -> None:
    """Prepare a process of ours: it works with a function as long as a connection is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    os.environ["OMP_NUM_THREADS"] = "1"  # a core each: read as numpy and pyarrow are imported
    os.dup2(2, 1)  # what code prints is no result
    _local.function_sent, _local.folder = function, folder
    threading.Thread(target=_end_with, args=(alive, folder), daemon=True).start()


def _work(item: bytes) -> str:
    """Work on an item; the name of the file in which the outcome stands.

    A name goes through a pipe in one piece. Of an outcome that a killed process has begun to send
    the rest would be waited for.
    """
    outcome = work_on(_local.function_sent, item)
    try:
        with NamedTemporaryFile(dir=_local.folder, delete=False) as file:
            pickle.dump(outcome, file, pickle.HIGHEST_PROTOCOL)
    except OSError as error:
        raise _no_room(error) from None
    return file.name


def _end_with(alive: Connection, folder: str) -> None:
    """Wait until whoever has started this wants no more, or is gone, as nothing is ever sent."""
    alive.poll(None)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # in the middle of whatever it is at
