"""Who works on parts: processes of this machine, or an engine that is found by its name."""

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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from kragx.ground.caller_warnings import warn, warned_text
from kragx.ground.entry_points import declared
from kragx.ground.errors import UsageError, WorkerError, inside
from kragx.ground.options import from_options
from kragx.ground.printing import phrase
from kragx.matchers import BaseMatcher, MatchWarning

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

    def connected(self) -> AbstractContextManager[Any]:
        """Within this it stays ready, for all that is done meanwhile."""
        return nullcontext()


def engine_of(workers: object, *matchers: BaseMatcher) -> Engine | None:
    """Who does the work that is shared; None for nobody else.

    Args:
        workers: a number of processes, an `Engine`, or a mapping that says which:
            ``{"ray": {"address": "auto"}}``.
        matchers: a judge's questions are not shared, which is said.

    Raises:
        UsageError: it is nothing of the kind.
    """
    engine: Engine
    match workers:
        case None | 1 if not isinstance(workers, (bool, float)):
            return None
        case int() if not isinstance(workers, bool) and workers > 1:
            engine = ProcessPool(workers)
        case Engine():
            engine = workers
        case Mapping() if [*map(type, workers)] == [str]:
            ((name, options),) = workers.items()
            with inside(f"engine.{name}"):
                engine = from_options(declared("engines", name), options or {})
        case _:
            raise UsageError(
                f"{workers!r} is no number of processes, 1 or more, and no engine",
                field="workers",
            )
    judge = next((matcher for matcher in matchers if matcher.judges), None)
    if judge is None:
        return engine
    warn(
        phrase(
            "workers: {matcher!r} asks a judge, so it stays in this process; it waits for a "
            "server and not for the processor (its 'concurrency' says how often at once)",
            matcher=judge.name,
        ),
        MatchWarning,
    )
    return None


# -- sending and receiving -------------------------------------------------------------------------


def in_order(
    submit: Callable[[Any], Any],
    items: Iterable[Any],
    limit: int,
    read: Callable[[Any], Outcome] = lambda outcome: outcome,
) -> Generator[Any, None, None]:
    """The values of what is submitted, in order; at most so many items are under way.

    Errors are raised here. What was warned of there is warned of here, once.

    Args:
        submit: from an item to the `Future` of its outcome, or what is like one.
        items: are taken as there is room.
        limit: how many are under way at most.
        read: from what the future has to the outcome.
    """
    waiting: deque[tuple[str, Any]] = deque()
    shown: set[tuple[str, type[Warning]]] = set()
    stream = iter(items)
    try:
        while True:
            for item in islice(stream, limit - len(waiting)):
                waiting.append((name_of(item), submit(item)))
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
        names = (name for name, future in waiting if future.exception())
        raise died(", or on ".join(islice(names, limit // AHEAD))) from error
    finally:
        for _, future in waiting:
            future.cancel()


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


def work_on(function: bytes, item: bytes) -> Outcome:
    """What a function and an item come to that were sent, where nobody sees errors and warnings.

    A process unpickles the function once, with its matcher and corpus.
    """
    try:
        if _work_of.get("sent") != function:
            _work_of.update(function=pickle.loads(function), sent=function)
        unpacked = pickle.loads(item)
    except Exception as error:  # a class of the script, say
        return Outcome(_not_sendable(error))
    with warnings.catch_warnings(record=True, action="always") as raised:
        try:
            value = _work_of["function"](unpacked)
        except Exception as error:
            return Outcome(_sendable(error))
    return Outcome(value, [(warned_text(note.message), note.category) for note in raised])


_work_of: dict[str, Any] = {}
"""The function that this process works with for others, as it was sent and unpickled."""


def _sendable(error: Exception) -> Exception:
    """An error as it reaches whoever waits for it, whatever its class takes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(error)))
    return error


# -- processes of this machine ---------------------------------------------------------------------


@dataclass(frozen=True)
class ProcessPool(Engine):
    """Processes of this machine, a core each, which end with the work, and with this one.

    Attributes:
        n: how many there are.
    """

    n: int

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item; for a single one no process is started."""
        stream = iter(items)
        beginning = list(islice(stream, 2))
        if len(beginning) < 2:
            yield from map(function, beginning)
            return
        alive, ours = _Context().Pipe(duplex=False)
        with _writing():
            folder = TemporaryDirectory(prefix="kragx-workers-", ignore_cleanup_errors=True)
        with folder as path:
            prepared = alive, sendable(function), path
            executor = ProcessPoolExecutor(self.n, _Context(), _begin, prepared)
            submit = lambda item: executor.submit(_work, sendable(item))  # noqa: E731
            try:
                yield from in_order(submit, chain(beginning, stream), AHEAD * self.n, _read)
            finally:  # also where it is interrupted, or nobody wants the rest
                ours.close()
                executor.shutdown(cancel_futures=True)
                alive.close()


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


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"what a worker has made cannot be written: {error}",
            field="workers",
            remedy="see that the folder of temporary files (TMPDIR names it) can be written and "
            "has room; or leave 'workers' out",
        ) from None


def _read(path: str) -> Outcome:
    """The outcome that a process of ours has written."""
    outcome: Outcome = pickle.loads(Path(path).read_bytes())
    Path(path).unlink()
    return outcome


def _begin(alive: Connection, function: bytes, folder: str) -> None:
    """Prepare a process of ours: it works with a function as long as a connection is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    os.environ["OMP_NUM_THREADS"] = "1"  # a core each: read as numpy and pyarrow are imported
    os.dup2(2, 1)  # what code prints is no result
    _of_ours.update(function=function, folder=folder)
    threading.Thread(target=_end_with, args=(alive, folder), daemon=True).start()


_of_ours: dict[str, Any] = {}
"""What a process of ours works with, once it has begun: the function, and where outcomes go."""


def _work(item: bytes) -> str:
    """Work on an item; the name of the file in which the outcome stands.

    A name goes through a pipe in one piece. Of an outcome that a killed process has begun to send
    the rest would be waited for.
    """
    outcome = work_on(_of_ours["function"], item)
    with _writing(), NamedTemporaryFile(dir=_of_ours["folder"], delete=False) as file:
        pickle.dump(outcome, file, pickle.HIGHEST_PROTOCOL)
    return file.name


def _end_with(alive: Connection, folder: str) -> None:
    """Wait until whoever has started this wants no more, or is gone, as nothing is ever sent."""
    alive.poll(None)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # in the middle of whatever it is at
