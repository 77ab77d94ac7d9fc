"""Runs one piece of work in this process and prints its seconds and peak memory as JSON.

Seconds are those of the processor: a run takes a minute, and others may want the machine meanwhile.

    python -m tests.benchmarks.child score FILE [MATCH]
    python -m tests.benchmarks.child table QUERIES
    python -m tests.benchmarks.child move FOLDER
    python -m tests.benchmarks.child answer CHUNKS

Peak memory of `score` and `move` is that of the process, with Python and all imports; that of
`table` is what came on top.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from time import process_time

from .memory import peak_megabytes


def score(path: str, match: str = "overlap") -> dict[str, object]:
    """`kragx score` on a results file, as the command runs it, less its start."""
    _scored(str(Path(__file__).with_name("one_question.jsonl")))  # imports are measured elsewhere
    if path.endswith(".parquet"):
        import pyarrow.compute
        import pyarrow.parquet  # noqa: F401
    start = process_time()
    printed = _scored(path, match)
    seconds = process_time() - start
    return {"seconds": seconds, "peak": peak_megabytes(), "mean": json.loads(printed)["mean"]}


def _scored(path: str, match: str = "overlap") -> str:
    from kragx.app.commands import main as command

    sys.argv = ["kragx", "score", path, "--format", "json", "--match", match]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        command.main()
    return printed.getvalue()


def read(path: str) -> dict[str, object]:
    """The floor of it: each line decoded as JSON and forgotten."""
    start = process_time()
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            json.loads(line)
    return {"seconds": process_time() - start}


def table(n_queries: str) -> dict[str, object]:
    """A match table of 100 documents x 10 gold items a query, every pair scored; then metrics."""
    from kragx.matchers import Diagnostics, adapted
    from kragx.matchers.matching import match
    from kragx.metrics.engine import compute

    from . import workloads

    items, matcher = workloads.scored_stream(int(n_queries))
    specs = workloads.specs()
    base = peak_megabytes()
    made = match(items, adapted(matcher), Diagnostics())
    building = peak_megabytes() - base
    columns = [value.nbytes for value in vars(made).values() if hasattr(value, "nbytes")]
    compute(made, specs)
    return {
        "table": sum(columns) / 1e6,
        "building": building,
        "metrics": peak_megabytes() - base,
    }


def move(folder: str) -> dict[str, object]:
    """`kragx gold move` on gold and corpora of a folder, without its files."""
    from kragx.workshop.moving import move as move_gold

    start = process_time()
    result = move_gold(*(f"{folder}/{name}.jsonl" for name in ("gold", "old", "new")))
    seconds = process_time() - start
    return {"seconds": seconds, "peak": peak_megabytes(), "counts": dict(result.counts)}


def read_corpora(folder: str) -> dict[str, object]:
    """The floor of it: each line of both corpora decoded as JSON and forgotten."""
    start = process_time()
    for name in ("old", "new"):
        read(f"{folder}/{name}.jsonl")
    return {"seconds": process_time() - start}


def answer(chunks: str) -> dict[str, float]:
    """20 people judge at once in the workshop's page; seconds are of one answer."""
    from .answering import answered

    return answered(chunks)


def bare_answer(chunks: str) -> dict[str, float]:
    """The floor of it."""
    from .answering import bare

    return bare(chunks)


if __name__ == "__main__":
    works = {"score": score, "read": read, "table": table, "move": move, "answer": answer}
    work = {**works, "read-corpora": read_corpora, "bare-answer": bare_answer}[sys.argv[1]]
    print(json.dumps(work(*sys.argv[2:])))
