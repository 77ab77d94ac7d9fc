"""Gold moved to a corpus that was chunked anew, in a process of its own."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from .support import child, once, sides, take
from .workloads import SIZE, write_corpora

_FOLDER = tempfile.TemporaryDirectory(prefix="kragx-benchmarks-")


@cache
def corpora(n_chunks: int) -> Path:
    """Gold and two corpora, written once; they go when the tests end."""
    path = Path(_FOLDER.name) / str(n_chunks)
    path.mkdir()
    write_corpora(path, n_chunks)
    return path


@sides("kragx", "floor")
@once
def test_move(benchmark: Any, side: str, turn: int) -> None:
    """Gold by id, a tenth as many items as chunks; the floor decodes each line and forgets it."""
    folder = corpora(SIZE.moved_chunks)
    work = "move" if side == "kragx" else "read-corpora"
    answer = take(benchmark, "move", lambda: child(work, folder), rounds=1)
    benchmark.extra_info.update(
        {name: answer[name] for name in ("seconds", "peak") if name in answer}
    )


def test_every_item_is_found() -> None:
    """What is measured finds all gold: chunks of 130 words lie over several of 80."""
    assert child("move", corpora(1_000))["counts"] == {"split": 100}
