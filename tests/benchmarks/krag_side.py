"""Asks the real K-RAG, where there is one, and keeps what it said of one workload.

    KRAGX_BENCH_KRAG_PYTHON=krag-env/bin/python python -m tests.benchmarks.krag_side

records krag_values.json; `krag_peer` says how to make krag-env.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .support import output_of
from .workloads import TextWorkload, texts

RECORDED = Path(__file__).with_name("krag_values.json")
METHODS = ("rouge1", "rouge2", "rougeL")
PYTHON = os.environ.get("KRAGX_BENCH_KRAG_PYTHON")
WHY_NOT = (
    "K-RAG is not measured: KRAGX_BENCH_KRAG_PYTHON does not name the Python of an environment "
    "with krag 0.0.32 (tests/benchmarks/krag_peer.py says how to make one)"
)


def ask(workload: TextWorkload, method: str, tokenizer: str) -> dict[str, Any]:
    """K-RAG's seconds and values for a whole evaluation."""
    assert PYTHON, WHY_NOT
    given = {"gold": workload.gold, "docs": workload.docs, "method": method, "tokenizer": tokenizer}
    # The path may be relative to where the benchmarks were started.
    command = [str(Path(PYTHON).absolute()), str(Path(__file__).with_name("krag_peer.py"))]
    return json.loads(output_of(command, json.dumps(given)))


def recorded_workload() -> TextWorkload:
    """Small enough for K-RAG to answer in seconds."""
    return texts(20, 2)


def record() -> None:
    """Write what K-RAG says of `recorded_workload`, with the tokenizer that never changes."""
    said = {method: ask(recorded_workload(), method, "whitespace") for method in METHODS}
    data = {
        "version": said["rouge1"]["version"],
        "values": {method: answer["values"] for method, answer in said.items()},
    }
    RECORDED.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    record()
