"""Who works on parts: processes of this machine, or a Ray cluster with a task for each part."""

from __future__ import annotations

import hashlib
import logging
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
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import ModuleType
from typing import Annotated, Any, NamedTuple, TypeVar

from kragx.ground.caller_warnings import warn, warned_text
from kragx.ground.errors import UsageError, WorkerError, inside, needing
from kragx.ground.plugins import check_options, fitting, from_options, is_text, optional, whole
from kragx.ground.printing import phrase
from kragx.matchers import BaseMatcher, MatchWarning

Item = TypeVar("Item")
Value = TypeVar("Value")

AHEAD = 2
"""How many items wait for each worker, so that none is idle while results are taken in."""

RETRIES = 3
"""How often a task of Ray's is tried again whose worker died."""


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
        case {"ray": (None | Mapping()) as options}:
            with inside("engine.ray"):
                engine = from_options(Ray, options or {})
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


# -- a Ray cluster ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ray(Engine):
    """A Ray cluster.

    Attributes:
        address: of the cluster; ``auto`` finds the one that runs here, ``local`` starts one on this
            machine for the time of the work. A connection that is there already is used.
        n: how many parts are under way at once; None for twice the cluster's processors.
    """

    address: Annotated[str, fitting(is_text, "a cluster's address is expected, not {!r}")] = "auto"
    n: Annotated[int | None, optional(whole(1))] = None

    def __post_init__(self) -> None:
        check_options(self)

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item, in the order of the items.

        Raises:
            UsageError: there is no such cluster, or its machines have another kragx or Python, or
                lack the file.
            WorkerError: a task's worker died again and again.
        """
        sent = sendable(function)
        with self.connected() as ray:
            of_all = ray.put(sent)  # each worker fetches it once, with its matcher and corpus
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work_there)

            def submit(item: Item) -> _Task:
                path = getattr(item, "place", "")  # of a part of a file
                ref = task.remote(sys.path, _code(), path, _size(path), of_all, sendable(item))
                return _Task(ray, ref, name_of(item))

            n_processors = max(int(ray.cluster_resources().get("CPU", 1)), 1)
            yield from in_order(submit, items, self.n or AHEAD * n_processors)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Ray: one connection, and one ``local`` cluster, for all that is done meanwhile.

        Raises:
            UsageError: there is no such cluster, or it fails.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of its use
        with needing("ray", "engine ray"):
            import ray
        # Ray prints what becomes of workers; the result of a command may be JSON.
        with redirect_stdout(sys.stderr):
            is_new = not ray.is_initialized()
            if is_new:
                _start(ray, self.address)
            try:
                yield ray
            except ray.exceptions.RayError as error:
                raise UsageError(
                    f"the Ray cluster fails: {_first_line(error)}", field="engine.ray", remedy=_LOGS
                ) from error
            finally:
                if is_new:
                    ray.shutdown()


@dataclass(frozen=True)
class _Task:
    """A task that is under way."""

    ray: Any
    ref: Any
    name: str

    def result(self) -> Outcome:
        """Its outcome, once it is there; errors of the work are part of it."""
        try:
            outcome: Outcome = self.ray.get(self.ref)
        except self.ray.exceptions.RayTaskError as error:
            raise _differs("no kragx of this kind", error.ip) from error
        except self.ray.exceptions.RayError as error:
            remark = f" ({type(error).__name__}, {RETRIES + 1} times)"
            raise died(self.name, remark) from error
        return outcome

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self.ray.cancel(self.ref, force=True)


_LOGS = "its logs (below /tmp/ray) say why; workers=2 (--workers 2) does the work without Ray"


def _start(ray: Any, address: str) -> None:
    """Connect to a cluster, or start one; whatever keeps it from that is said with a remedy."""
    try:
        ray.init(address, include_dashboard=None, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises bare ones, too
        is_local = address == "local"
        how = "no Ray cluster can be started here" if is_local else f"no Ray cluster at {address!r}"
        raise UsageError(
            f"{how}: {_first_line(error)}",
            field="engine.ray.address",
            remedy=_LOGS
            if is_local
            else "start one (ray start --head), name its address, or name 'local' for one on "
            "this machine",
        ) from error


def _first_line(error: Exception) -> str:
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)


def _work_there(
    paths: Sequence[str], code: str, path: str, size: int | None, function: bytes, item: bytes
) -> Outcome:
    """What an item comes to, once it is sure that this worker computes what the driver would."""
    import ray

    # Modules are found here that the process finds that has sent the work.
    sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]
    if code == _code() and size == _size(path):
        return work_on(function, item)
    is_other = code != _code()
    problem = (
        "another version of kragx than this process" if is_other else f"not the same file {path}"
    )
    address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
    return Outcome(_differs(problem, address))


def _differs(problem: str, address: str) -> UsageError:
    return UsageError(
        f"the worker {address} has {problem}",
        field="engine.ray",
        remedy="numbers would differ, or fail: give every machine the same installation, and "
        "files under one path (a shared file system)",
    )


@cache
def _code() -> str:
    folder = Path(__file__).parents[2]  # of kragx
    code = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        code.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return code.hexdigest()


def _size(path: str) -> int | None:
    return Path(path).stat().st_size if Path(path).is_file() else None
