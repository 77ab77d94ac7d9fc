"""Gold moved to a corpus that was chunked anew, and the page, in processes of their own."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .support import child, once, sides, take, turns
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


@sides("kragx", "floor")
@turns
def test_answer(benchmark: Any, side: str, turn: int) -> None:
    """20 people judge at once; the floor is a bare server with a commit for each judgement."""
    work = "answer" if side == "kragx" else "bare-answer"
    taken = take(benchmark, "answer", lambda: child(work, str(SIZE.page_chunks)), rounds=1)
    benchmark.extra_info.update(taken)


@pytest.mark.integration
def test_every_item_is_found() -> None:
    """What is measured finds all gold: chunks of 130 words lie over several of 80."""
    assert child("move", corpora(1_000))["counts"] == {"split": 100}
