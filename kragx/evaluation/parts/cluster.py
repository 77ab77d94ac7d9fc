"""A Ray cluster does the work: a task for each part, tried again where a machine is lost."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Annotated, Any

from kragx.data.formats.located import is_address, shown, state_of
from kragx.errors import DataError, UsageError, inside, needing
from kragx.evaluation.parts.engine import (
    AHEAD,
    Engine,
    Item,
    NotMadeError,
    Outcome,
    Pool,
    Value,
    attempt,
    attempt_sent,
    died,
    in_order,
    name_of,
    sendable,
)
from kragx.matchers import BaseMatcher, MatchWarning
from kragx.plugins import check_options, fitting, from_options, is_text, optional, whole
from kragx.printing import phrase
from kragx.warned import warn

RETRIES = 3
"""How often a task is tried again whose worker died."""


@dataclass(frozen=True)
class Ray:
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
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_attempt_there)

            def submit(item: Item) -> _Task:
                file = getattr(item, "where", {}).get("file", "")  # of a part
                origin = _code(), file, _size(file)
                ref = task.remote(sys.path, origin, of_all, sendable(item))
                return _Task(ray, ref, name_of(item))

            yield from in_order(submit, items, self.n or AHEAD * n_processors(ray))

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Ray: one connection, and one ``local`` cluster, for all that is done meanwhile.

        Raises:
            UsageError: there is no such cluster, or it fails.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of its use
        with needing("ray", "engine ray"):
            import ray
        with redirect_stdout(_Aside(sys.stdout)):
            is_new = not ray.is_initialized()
            if is_new:
                _start(ray, self.address)
            try:
                yield ray
            except ray.exceptions.RayError as error:
                problem = f"the Ray cluster fails: {_first_line(error)}"
                raise UsageError(problem, field="engine.ray", remedy=_LOGS) from error
            finally:
                if is_new:
                    ray.shutdown()

    @contextmanager
    def standing(
        self, make: Callable[[], Callable[[Item], Value]], n_calls: int, name: str
    ) -> Iterator[Callable[[Item], Value]]:
        """Something to call that works on the cluster, in processes that stay meanwhile.

        Args:
            make: of a module; makes in each process, once, what is called there.
            n_calls: how many calls are under way at once over all processes; of these there are as
                many as the cluster has processors, and not more than calls.
            name: of what is made, in messages.

        Yields:
            It; threads may call it. A process that dies is made anew, and its calls are made again.

        Raises:
            NotMadeError: some process cannot make it.
            UsageError: as `map`.
            WorkerError: a process died again and again, also when it is called.
        """
        sent = sendable(make)
        with self.connected() as ray:
            n = min(n_calls, n_processors(ray))
            actor_class = ray.remote(
                num_cpus=1,
                max_restarts=RETRIES,
                max_task_retries=RETRIES,
                max_concurrency=-(-n_calls // n),
                scheduling_strategy="SPREAD",
            )(_Standing)
            turns = count()

            def call(item: Item) -> Value:
                actor = actors[next(turns) % n]
                outcome: Outcome[Value] = pickle.loads(
                    _Task(ray, actor.work.remote(item), name).result()
                )
                return outcome.taken()

            actors: list[Any] = []
            try:
                actors += (actor_class.remote(sys.path, _code(), sent) for _ in range(n))
                begun = [_Task(ray, actor.begun.remote(), name) for actor in actors]
                outcomes: list[Outcome[None]] = [pickle.loads(task.result()) for task in begun]
                for note in dict.fromkeys(note for outcome in outcomes for note in outcome.warned):
                    warn(*note)
                for error in filter(None, (outcome.error for outcome in outcomes)):
                    raise NotMadeError(str(error)) from error
                yield call
            finally:  # also where it is interrupted
                for actor in actors:
                    ray.kill(actor)


@dataclass(frozen=True)
class _Task:
    """A task that is under way."""

    ray: Any
    ref: Any
    name: str

    def result(self) -> bytes:
        """The pickled `Outcome`."""
        try:
            return self.ray.get(self.ref)  # type: ignore[no-any-return]
        except self.ray.exceptions.RayTaskError as error:  # ours come in an outcome
            raise _differs("no kragx of this kind", error.ip) from error
        except self.ray.exceptions.RayError as error:
            remark = f" ({type(error).__name__}, {RETRIES + 1} times)"
            raise died(self.name, remark) from error

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self.ray.cancel(self.ref, force=True)


def n_processors(ray: Any) -> int:
    """How many processors a connected cluster has."""
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


# -- on the workers --------------------------------------------------------------------------------


def _import_from(paths: Sequence[str]) -> None:
    """Find the modules here that the process finds that has sent the work."""
    sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]


def _attempt_there(
    paths: Sequence[str], origin: tuple[str, str, int | None], sent: bytes, item: bytes
) -> bytes:
    _import_from(paths)
    checked = attempt(lambda place: _check(*place), origin)
    return attempt_sent(sent, item) if checked.error is None else checked.packed()


class _Standing:
    """What one process of the cluster has made, and does with it what it is told."""

    def __init__(self, paths: Sequence[str], code: str, sent: bytes) -> None:
        _import_from(paths)

        def made(sent: bytes) -> Callable[[Any], Any]:
            _check(code)
            return pickle.loads(sent)()  # type: ignore[no-any-return]

        self._made: Outcome[Callable[[Any], Any]] = attempt(made, sent)

    def begun(self) -> bytes:
        """Whether it was made, and with which warnings: a pickled `Outcome`."""
        return replace(self._made, value=None).packed()

    def work(self, item: Any) -> bytes:
        """What comes of an item: a pickled `Outcome`."""
        if self._made.value is None:
            return self.begun()
        return attempt(self._made.value, item, is_heard=True).packed()  # in threads


def _check(code: str, file: str = "", size: int | None = None) -> None:
    """See to it that this worker would compute what whoever has sent the work would.

    Raises:
        UsageError: it has another kragx, or not the same file.
    """
    import ray

    address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
    if code != _code():
        raise _differs("another version of kragx than this process", address)
    if size != _size(file):
        raise _differs(f"not the same file {shown(file)}", address)


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


def _size(file: str) -> int | None:
    if not file:  # all of the work is sent
        return None
    try:
        return state_of(file)[0] if is_address(file) else Path(file).stat().st_size
    except (OSError, DataError):
        return None


# -- connecting ------------------------------------------------------------------------------------

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


class _Aside:
    """Standard output, but for what Ray's own threads say of workers: the result may be JSON."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        is_rays = threading.current_thread().name.startswith("ray_")
        return int((sys.stderr if is_rays else self._stream).write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


# -- by name ---------------------------------------------------------------------------------------


def engine_of(workers: object, matcher: BaseMatcher | None = None) -> Engine | None:
    """Who does the work that is shared; None for nobody else.

    Args:
        workers: a number of processes, an executor, an `Engine`, or a mapping that says which:
            ``{"ray": {"address": "auto"}}``.
        matcher: a judge's questions are not shared, which is said.

    Raises:
        UsageError: it is nothing of the kind.
    """
    engine: Engine | None
    match workers:
        case None | 1 if not isinstance(workers, (bool, float)):
            return None
        case int() if not isinstance(workers, bool) and workers > 1:
            engine = Pool(workers)
        case Executor():
            engine = Pool(os.cpu_count() or 1, workers)
        case Pool() | Ray():
            engine = workers
        case {"ray": (None | Mapping()) as options}:
            with inside("engine.ray"):
                engine = from_options(Ray, options or {})
        case _:
            raise UsageError(
                f"{workers!r} is no number of processes, 1 or more, no executor, and no engine",
                field="workers",
            )
    if matcher is None or not matcher.judges:
        return engine
    warn(
        phrase(
            "workers: {matcher!r} asks a judge, so it stays in this process; it waits for a "
            "server and not for the processor (its 'concurrency' says how often at once)",
            matcher=matcher.name,
        ),
        MatchWarning,
    )
    return None
