"""A Ray cluster on this machine, for the tests that share one."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def two_workers() -> Iterator[Any]:
    """As small as can be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")  # which would leave a token in the home folder
        ray = pytest.importorskip("ray")
        root = str(Path(__file__).parents[1])
        start = partial(
            ray.init,
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 << 20,
            log_to_driver=False,
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([root])}},
        )
        with _rays_own():
            # Its processes get a few seconds to begin, which a busy machine may not have.
            with suppress(Exception):
                start()
            if not ray.is_initialized():
                gc.collect()  # now, as what it left unwaited for is warned of
                start()
        yield ray
        with _rays_own():
            ray.shutdown()


@contextmanager
def _rays_own() -> Iterator[None]:
    """Ray 2.40 leaves a log open as it starts, and processes that it ended unwaited for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
