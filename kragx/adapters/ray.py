"""A Ray cluster as what works on parts: a task for each (`kragx.evaluation.parts`)."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from kragx.evaluation.parts import AHEAD, Engine, Hands, Waiting, died, work_on
from kragx.ground.errors import UsageError, needing
from kragx.ground.options import check_options, fitting, is_text, optional, whole
from kragx.ground.printing import message

__all__: list[str] = []

RETRIES = 3
"""How often a task is tried again whose worker died."""

_LOGS = "its logs (below /tmp/ray) say why; workers=2 (--workers 2) does the work without Ray"


@dataclass(frozen=True)
class Ray(Engine):
    """A Ray cluster.

    Attributes:
        address: of the cluster; ``auto`` finds the one that runs here, ``local`` starts one on this
            machine. A connection that is there already is used.
        n: how many parts are under way at once; None for twice the cluster's processors.
    """

    address: Annotated[str, fitting(is_text, "a cluster's address is expected, not {!r}")] = "auto"
    n: Annotated[int | None, optional(whole(1))] = None

    def __post_init__(self) -> None:
        check_options(self)

    def begin(self) -> Any:
        """Ray, connected; it ends that itself, and a ``local`` cluster, with this process.

        Raises:
            UsageError: there is no such cluster.
        """
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of its use
        with needing("ray", "engine ray"):
            import ray
        if not ray.is_initialized():
            _start(ray, self.address)
        return ray

    @contextmanager
    def working(self, function: bytes, waiting: Waiting) -> Iterator[Hands]:
        """Within it tasks are done.

        Raises:
            UsageError: there is no such cluster, or it fails; or its machines have another kragx,
                or none.
            WorkerError: a task's worker died again and again.
        """
        ray = self.begin()
        # Ray prints what becomes of workers; the result of a command may be JSON.
        with redirect_stdout(sys.stderr):
            try:
                of_all = ray.put(function)  # each worker fetches it once, with matcher and corpus
                task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work_there)
                limit = self.n or AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
                yield partial(task.remote, _code(), of_all), ray.get, limit
            except ray.exceptions.RayTaskError as error:  # errors of the work come as values
                raise _differs("no kragx of this kind", error.ip) from error
            except ray.exceptions.RayError as error:
                if waiting:
                    remark = f" ({type(error).__name__}, {RETRIES + 1} times)"
                    raise died(waiting[0][0], remark) from error
                problem = message("the Ray cluster fails: {reason}", reason=_first_line(error))
                raise UsageError(problem, field="engine.ray", remedy=_LOGS) from error
            finally:
                for _, ref in waiting:
                    ray.cancel(ref, force=True)


def _start(ray: Any, address: str) -> None:
    """Connect to a cluster, or start one; whatever keeps it from that is said with a remedy."""
    options = {"include_dashboard": None, "log_to_driver": False, "logging_level": logging.ERROR}
    try:
        with redirect_stdout(sys.stderr):
            ray.init(address, **options)
    except Exception as error:  # Ray raises bare ones, too
        is_local = address == "local"
        how = "no Ray cluster can be started here" if is_local else f"no Ray cluster at {address!r}"
        raise UsageError(
            message("{how}: {first_line}", how=how, first_line=_first_line(error)),
            field="engine.ray.address",
            remedy=_LOGS
            if is_local
            else "start one (ray start --head), name its address, or name 'local' for one on "
            "this machine",
        ) from error


def _first_line(error: Exception) -> str:
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)


def _work_there(code: str, function: bytes, item: bytes) -> Any:
    """What an item comes to, once it is sure that this worker computes what the driver would."""
    if code == _code():
        return work_on(function, item)
    import ray

    address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
    return _differs("another version of kragx than this process", address)


def _differs(problem: str, address: str) -> UsageError:
    return UsageError(
        "the worker {address} has {why}",
        field="engine.ray",
        remedy="numbers would differ, or fail: give every machine the same installation, and "
        "files under one path (a shared file system)",
        address=address,
        why=problem,
    )


@cache
def _code() -> str:
    folder = Path(__file__).parents[1]  # of kragx
    code = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        code.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return code.hexdigest()
