"""A Ray cluster as what works on parts: a task for each (`kragx.evaluation.parts`)."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from kragx.evaluation.evaluate_run import versions
from kragx.evaluation.parts import AHEAD, Engine, Hands, Waiting, work_on
from kragx.ground.errors import UsageError, needing
from kragx.ground.options import check_options, fitting, is_text, optional, whole

__all__: list[str] = []

RETRIES = 3
"""How often a task is tried again whose worker died."""


@dataclass(frozen=True)
class Ray(Engine):
    """A Ray cluster.

    Attributes:
        address: of the cluster; ``auto`` finds the one that runs here, ``local`` starts one on this
            machine. A connection that is there already is used.
        n: how many parts are under way at once; None for twice the cluster's processors.
    """

    address: Annotated[str, fitting(is_text, "a cluster's address is expected, not {value!r}")] = (
        "auto"
    )
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
        if ray.is_initialized():
            return ray
        options: dict[str, Any] = {"include_dashboard": None, "log_to_driver": False}
        try:
            with redirect_stdout(sys.stderr):
                ray.init(self.address, logging_level=logging.ERROR, **options)
        except Exception as error:  # Ray raises bare ones, too
            raise UsageError(
                "no Ray cluster at {address!r}: {reason}",
                field="engine.ray.address",
                remedy="start one (ray start --head), name its address, or name 'local' for one on "
                "this machine; logs are below /tmp/ray",
                address=self.address,
                reason=_first_line(error),
            ) from error
        return ray

    @contextmanager
    def working(self, function: bytes, waiting: Waiting) -> Iterator[Hands]:
        """Within it tasks are done.

        Raises:
            UsageError: there is no such cluster, or it fails, as it does without kragx.
            BrokenExecutor: a task's worker died again and again.
        """
        ray = self.begin()
        # Ray prints what becomes of workers; the result of a command may be JSON.
        with redirect_stdout(sys.stderr):
            try:
                of_all = ray.put(function)  # each worker fetches it once, with matcher and corpus
                task = ray.remote(num_cpus=1, max_retries=RETRIES)(_work_there)
                limit = self.n or AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
                yield partial(task.remote, versions(), of_all), ray.get, limit
            except ray.exceptions.RayError as error:  # errors of the work come as values
                if waiting and not isinstance(error, ray.exceptions.RayTaskError):
                    remark = f" ({type(error).__name__}, {RETRIES + 1} times)"
                    raise BrokenExecutor(remark) from error
                raise UsageError(
                    "the Ray cluster fails: {reason}",
                    field="engine.ray",
                    remedy="every machine needs kragx; logs are below /tmp/ray; workers=2 "
                    "(--workers 2) works without Ray",
                    reason=_first_line(error),
                ) from error
            finally:
                for _, ref in waiting:
                    ray.cancel(ref, force=True)


def _first_line(error: Exception) -> str:
    return next(filter(None, map(str.strip, str(error).splitlines())), type(error).__name__)


def _work_there(of_driver: Mapping[str, str], function: bytes, item: bytes) -> Any:
    """What an item comes to, once it is sure that this worker computes what the driver would."""
    if of_driver == versions():
        return work_on(function, item)
    return UsageError(
        "a worker has another version of kragx, Python or numpy than this process: {versions}",
        field="engine.ray",
        remedy="numbers would differ, or fail: give every machine the same installation, and files "
        "under one path (a shared file system)",
        versions=versions(),
    )
