"""What a fresh interpreter needs until kragx is there, beside one that does nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .support import output_of, sides, take, turns
from .workloads import write_results_file

COMMANDS = {
    "floor": ["-c", "pass"],
    "kragx-import": ["-c", "import kragx"],
    "kragx-help": ["-m", "kragx", "--help"],
    "kragx-score": ["-m", "kragx", "score", "--format", "json"],
}


@pytest.fixture(scope="module")
def ten_queries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results file of ten queries."""
    path = tmp_path_factory.mktemp("startup") / "ten.jsonl"
    write_results_file(path, 10, distinct=True)
    return path


def command(side: str, path: Path) -> list[str]:
    """The command line of a side."""
    return [sys.executable, *COMMANDS[side], *([str(path)] if side == "kragx-score" else [])]


@sides(*COMMANDS)
@turns
def test_start(benchmark: Any, side: str, turn: int, ten_queries: Path) -> None:
    """Import, help and a score of ten queries, from nothing to the end of the process."""
    take(benchmark, "start", lambda: output_of(command(side, ten_queries)), rounds=5)


@pytest.mark.integration
def test_they_do_what_they_say(ten_queries: Path) -> None:
    """The help names the commands, and the score is one of ten queries."""
    assert "score" in output_of(command("kragx-help", ten_queries))
    assert json.loads(output_of(command("kragx-score", ten_queries)))["counts"]["n_queries"] == 10
