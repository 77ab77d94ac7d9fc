"""How a measurement is taken."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .workloads import SIZE, SIZE_NAME

ROOT = Path(__file__).parents[2]

turns = pytest.mark.parametrize("turn", range(SIZE.turns))
"""Stands nearest to the function, so that those compared are measured in turn, several times."""

once = pytest.mark.parametrize("turn", range(1))
"""For what takes so long, or varies so little, that one turn has to do."""

_ROUNDS = {"small": 5, "medium": 2, "full": 1}[SIZE_NAME]


def sides(*names: str) -> pytest.MarkDecorator:
    """Those that are compared: `kragx...`, `floor...` and `peer-...`."""
    return pytest.mark.parametrize("side", names)


def take(
    benchmark: Any, group: str, function: Callable[[], object], *, rounds: int = _ROUNDS
) -> Any:
    """Measure a function; the report takes the least time of all rounds of all turns."""
    benchmark.group = group
    # What other benchmarks keep alive is no part of this one's garbage collection.
    gc.collect()
    gc.freeze()
    return benchmark.pedantic(function, rounds=rounds)


def child(*arguments: str | Path) -> dict[str, Any]:
    """What `tests.benchmarks.child` prints when it runs in a fresh interpreter."""
    command = [sys.executable, "-m", "tests.benchmarks.child", *map(str, arguments)]
    return json.loads(output_of(command))


def output_of(command: list[str], given: str | None = None) -> str:
    """What a command prints; its errors go into the failure."""
    done = subprocess.run(
        command,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
