"""A Ray cluster does the work: a task for each part, tried again where a machine is lost."""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import platform
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, Any, Generic, Self

from kragx.data.formats.located import is_address, shown, state_of
from kragx.errors import DataError, UsageError, needing
from kragx.evaluation.parts.engine import (
    AHEAD,
    Item,
    NotMadeError,
    Outcome,
    Value,
    attempt,
    attempt_sent,
    died,
    in_order,
    name_of,
    not_sendable,
    sendable,
    sendable_error,
)
from kragx.evaluation.parts.part import place_of
from kragx.plugins import check_options, fitting, is_text, optional, whole
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
        with _connected(self.address) as ray:
            _check(ray, ())
            checked: set[str] = set()

            def submit(item: Item) -> _Task[Value]:
                if (place := place_of(item)) and place not in checked:
                    _check(ray, [place])
                    checked.add(place)
                return _Task(ray, task.remote(sys.path, of_all, item), item)

            # Each worker fetches the function once, with its matcher and corpus.
            of_all = ray.put(sent)
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_attempt_there)
            most = self.n or AHEAD * _n_processors(ray)
            yield from in_order(submit, items, most)

    def n_processors(self) -> int:
        """How many processors the cluster has; once connected.

        Raises:
            UsageError: there is no such cluster.
        """
        with _connected(self.address) as ray:
            return _n_processors(ray)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """One connection, and one ``local`` cluster, for all the work that is done meanwhile.

        Raises:
            UsageError: there is no such cluster.
        """
        with _connected(self.address):
            yield

    @contextmanager
    def standing(
        self, make: Callable[[], Callable[[Item], Value]], most: int, what: str
    ) -> Iterator[Callable[[Item], Value]]:
        """Something to call that works on the cluster, in processes that stay meanwhile.

        Args:
            make: of a module; makes in each process, once, what is called there.
            most: how many calls are under way at once over all processes; of these there are as
                many as the cluster has processors, and not more than calls.
            what: names what is made, in messages.

        Yields:
            It; threads may call it. A process that dies is made anew, and its calls are made again.

        Raises:
            NotMadeError: some process cannot make it.
            UsageError: as `map`.
            WorkerError: a process died again and again, also when it is called.
        """
        sent = sendable(make)
        with _connected(self.address) as ray:
            _check(ray, ())
            n = min(most, _n_processors(ray))
            shares = [len(range(place, most, n)) for place in range(n)]
            standing = ray.remote(
                num_cpus=1,
                max_restarts=RETRIES,
                max_task_retries=RETRIES,
                scheduling_strategy="SPREAD",
            )(_Standing)
            idle: SimpleQueue[Any] = SimpleQueue()

            def call(item: Item) -> Value:
                actor = idle.get()
                try:
                    answer = _result(ray, actor.work.remote(item), what)
                finally:
                    idle.put(actor)
                outcome: Outcome[Value] = pickle.loads(answer)
                if outcome.error is not None:
                    raise outcome.error
                return outcome.value  # type: ignore[return-value]  # there is one without error

            actors: list[Any] = []
            try:
                actors += (
                    standing.options(max_concurrency=share).remote(sys.path, sent)
                    for share in shares
                )
                made: list[Outcome[None]] = [
                    _result(ray, begun, what)
                    for begun in [actor.begun.remote() for actor in actors]
                ]
                for warned in dict.fromkeys(warned for own in made for warned in own.warned):
                    warn(*warned)
                for error in filter(None, (own.error for own in made)):
                    raise NotMadeError(str(error)) from error
                for turn in range(max(shares)):
                    for actor, share in zip(actors, shares):
                        if turn < share:
                            idle.put(actor)
                yield call
            finally:  # also where it is interrupted
                for actor in actors:
                    ray.kill(actor)


class _Standing:
    """What one process of the cluster has made, and does with it what it is told."""

    def __init__(self, paths: Sequence[str], sent: bytes) -> None:
        _import_from(paths)
        self._made: Outcome[Callable[[Any], Any]] = attempt(lambda own: pickle.loads(own)(), sent)

    def begun(self) -> Outcome[None]:
        """Whether it was made."""
        return Outcome(error=self._made.error, warned=self._made.warned)

    def work(self, item: Any) -> bytes:
        """What comes of an item: a pickled `Outcome`."""
        outcome = Outcome[Any](error=self._made.error)
        if self._made.value is not None:
            try:
                outcome = Outcome(self._made.value(item))
            except Exception as error:
                outcome = Outcome(error=sendable_error(error))
        try:
            return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # a result that cannot leave this process
            return pickle.dumps(Outcome(error=not_sendable(error)))


def _import_from(paths: Sequence[str]) -> None:
    """Find the modules here that the process finds that has sent the work."""
    sys.path[:] = [*paths, *(path for path in sys.path if path not in paths)]


def _attempt_there(paths: Sequence[str], sent: bytes, item: Any) -> Outcome[Any]:
    _import_from(paths)
    return attempt_sent(sent, item)


def _result(ray: Any, ref: Any, name: str) -> Any:
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        raise died(name, f" ({type(error).__name__}, {RETRIES + 1} times)") from error


def _n_processors(ray: Any) -> int:
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


@dataclass(frozen=True)
class _Task(Generic[Value]):
    """A task that is under way."""

    ray: Any
    ref: Any
    item: object

    def result(self) -> Outcome[Value]:
        """What came of it."""
        return _result(self.ray, self.ref, name_of(self.item))  # type: ignore[no-any-return]

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self.ray.cancel(self.ref, force=True)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of its use
    with needing("ray", "engine ray"):
        import ray
    with _said_aside():
        is_new = not ray.is_initialized()
        if is_new:
            _start(ray, address)
        try:
            yield ray
        except ray.exceptions.RayError as error:
            problem = f"the Ray cluster fails: {_first_line(error)}"
            raise UsageError(problem, field="engine.ray", remedy=_LOGS) from error
        finally:
            if is_new:
                ray.shutdown()


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
    """Standard output, but for the lines of Ray's own threads, which go to standard error."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        is_rays = threading.current_thread().name.startswith("ray_")
        return int((sys.stderr if is_rays else self._stream).write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _said_aside() -> Iterator[None]:
    """Within, Ray says on standard error what happens to its workers: the result may be JSON."""
    before = sys.stdout
    if isinstance(before, _Aside):
        yield
        return
    aside: Any = _Aside(before)
    sys.stdout = aside
    try:
        yield
    finally:
        if sys.stdout is aside:  # somebody may have put another one there
            sys.stdout = before


@dataclass(frozen=True)
class _Environment:
    """What numbers depend on, and what has to be there."""

    python: str
    code: str
    sizes: tuple[int | None, ...]

    @classmethod
    def here(cls, files: Iterable[str]) -> Self:
        """That of this process."""
        return cls(platform.python_version(), _code(), tuple(map(_size, files)))


@cache
def _code() -> str:
    folder = Path(__file__).parents[2]  # of kragx
    code = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        code.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return code.hexdigest()


def _size(file: str) -> int | None:
    """The bytes of a file; None where it is not, or cannot be read."""
    if is_address(file):
        with suppress(DataError):
            return state_of(file)[0]
        return None
    path = Path(file)
    return path.stat().st_size if path.is_file() and os.access(path, os.R_OK) else None


def _check(ray: Any, files: Sequence[str]) -> None:
    """See to it that every machine of the cluster would compute the same, before any work.

    Raises:
        UsageError: one would not.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    own = _Environment.here(files)

    def environment() -> tuple[str, tuple[Any, ...] | None]:
        # Sent as it stands here, as there may be no kragx.
        import platform

        try:
            from kragx.evaluation.parts.cluster import _Environment

            there = _Environment.here(files)
        except ImportError:
            return platform.python_version(), None
        return there.python, (there.code, there.sizes)

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    task = ray.remote(num_cpus=0)(environment)
    asked = [
        task.options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote()
        for node in nodes
    ]
    for node, (python, there) in zip(nodes, ray.get(asked)):
        where = f"the worker {node['NodeManagerAddress']} has"
        problem = ""
        if python != own.python:
            problem = f"{where} Python {python}, and this process {own.python}"
        elif there is None:
            problem = f"{where} no kragx of this kind"
        elif there[0] != own.code:
            problem = f"{where} another version of kragx than this process"
        elif there[1] != own.sizes:
            lost = next(shown(file) for file, a, b in zip(files, own.sizes, there[1]) if a != b)
            problem = f"{where} not the same file {lost}"
        if problem:
            raise UsageError(
                problem,
                field="engine.ray",
                remedy="numbers would differ, or fail: give every machine the same installation, "
                "and files under one path (a shared file system)",
            )
