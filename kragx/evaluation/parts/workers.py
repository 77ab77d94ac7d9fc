"""Who works on parts: processes of this machine, or an engine that is found by its name."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import ModuleType
from typing import Any, TypeVar

from kragx.ground.caller_warnings import warn
from kragx.ground.entry_points import declared
from kragx.ground.errors import UsageError, WorkerError, inside
from kragx.ground.options import from_options
from kragx.ground.printing import message
from kragx.matchers import BaseMatcher, MatchWarning

Item = TypeVar("Item")
Value = TypeVar("Value")
Waiting = deque[tuple[str, Any]]
"""Items under way by name, each with what stands for its value, in order."""

AHEAD = 2
"""How many items wait for each worker, so that none is idle while results are taken in."""


Hands = tuple[Callable[[bytes], Any], Callable[[Any], Any], int]
"""Others, who work: what gives them an item, as it is sent; what gives its value or error, once it
is there; and how many items may be under way at once."""


class Engine(ABC):
    """Does the same with many items, in other processes."""

    @abstractmethod
    def working(self, function: bytes, waiting: Waiting) -> AbstractContextManager[Hands]:
        """Within it others work with a function; where it is left early nothing of it goes on.

        Raises:
            WorkerError: one of them died; it says at which item of those that wait.
        """

    def begin(self) -> Any:  # noqa: B027  # most are ready
        """Get ready, so that what keeps it from that shows before other work is done."""

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item, in the order of the items.

        Errors are raised here.

        Args:
            function: of a module, with arguments that can be sent to other processes.
            items: are taken as they are needed, a few ahead.

        Raises:
            WorkerError: whoever worked on an item died.
        """
        stream, waiting = iter(items), Waiting()
        with self.working(sendable(function), waiting) as (submit, value_of, limit):
            while True:
                for item in islice(stream, limit - len(waiting)):
                    waiting.append((str(getattr(item, "name", item)), submit(sendable(item))))
                if not waiting:
                    return
                value = value_of(waiting[0][1])
                waiting.popleft()
                if isinstance(value, Exception):
                    raise value
                yield value


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
            problem = f"{workers!r} is no number of processes, 1 or more, and no engine"
            raise UsageError(problem, field="workers")
    judge = next((matcher for matcher in matchers if matcher.judges), None)
    if judge is None:
        return engine
    warn(
        message(
            "workers: {matcher!r} asks a judge, so it stays in this process; it waits for a "
            "server and not for the processor (its 'concurrency' says how often at once)",
            matcher=judge.name,
        ),
        MatchWarning,
    )
    return None


def died(name: str, remark: str = "") -> WorkerError:
    """The error that says on what a process worked that is no more."""
    return WorkerError(
        "a worker died{remark} while it worked on {name}",
        remedy="if memory ran out, fewer workers need less of it; nothing is lost but this work",
        remark=remark,
        name=name,
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
        "other processes cannot have what is to be done: {error}",
        field="workers",
        remedy="name classes and functions by import path, from a module and not from the script "
        "or notebook itself; or leave 'workers' out",
        error=error,
    )


_work_of: dict[str, Any] = {}
"""The function that this process works with for others, as it was sent, and unpickled."""


def work_on(function: bytes, item: bytes) -> Any:
    """What a function and an item come to that were sent, or the error.

    A process unpickles the function once, with its matcher and corpus.
    """
    try:
        if _work_of.get("sent") != function:
            _work_of.update(function=pickle.loads(function), sent=function)
        unpacked = pickle.loads(item)
    except Exception as error:  # a class of the script, say
        return _not_sendable(error)
    try:
        return _work_of["function"](unpacked)
    except Exception as error:
        try:
            return pickle.loads(pickle.dumps(error))
        except Exception:  # whoever waits could not read it, and would take that for a death
            return RuntimeError("".join(traceback.format_exception(error)))


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
        """As any engine; for a single item no process is started."""
        stream = iter(items)
        beginning = [*islice(stream, 2)]
        several = super().map(function, chain(beginning, stream))
        yield from several if len(beginning) > 1 else map(function, beginning)

    @contextmanager
    def working(self, function: bytes, waiting: Waiting) -> Iterator[Hands]:
        """Within it the processes run."""
        folder = TemporaryDirectory(prefix="kragx-workers-", ignore_cleanup_errors=True)
        with (
            folder as path,
            ProcessPoolExecutor(self.n, _Context(), _begin, (function, path)) as executor,
        ):
            try:
                submit = lambda item: executor.submit(_work, item)  # noqa: E731
                yield submit, _read, AHEAD * self.n
            except BrokenExecutor as error:  # whoever died was at one of the first
                names = (name for name, future in waiting if future.exception())
                raise died(", or on ".join(islice(names, self.n))) from error
            except BaseException:  # interrupts as well: nobody waits for what they are at
                for process in executor._processes.values():
                    process.terminate()
                raise


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


def _begin(function: bytes, folder: str) -> None:
    """Prepare a process of ours: it works with a function as long as there is who has begun it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    os.environ["OMP_NUM_THREADS"] = "1"  # a core each: read as numpy and pyarrow are imported
    os.dup2(2, 1)  # what code prints is no result
    _work_of.update(ours=function, folder=folder)
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()


def _work(item: bytes) -> str:
    """Work on an item; the name of the file in which stands what it came to.

    A name goes through a pipe in one piece. Of a value that a killed process has begun to send the
    rest would be waited for.
    """
    with NamedTemporaryFile(dir=_work_of["folder"], delete=False) as file:
        pickle.dump(work_on(_work_of["ours"], item), file, pickle.HIGHEST_PROTOCOL)
    return file.name


def _read(future: Future[str]) -> Any:
    """What a process of ours has written."""
    path = Path(future.result())
    value = pickle.loads(path.read_bytes())
    path.unlink()
    return value


def _end_with_parent(folder: str) -> None:
    """Wait until whoever has started this is gone, as an executor's processes outlive a kill."""
    parent = parent_process()
    assert parent is not None  # as it was spawned
    parent.join()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # in the middle of whatever it is at
