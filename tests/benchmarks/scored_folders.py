"""Two folders as `kragx score --out` writes them, of any size, and what comparing them takes.

python -m tests.benchmarks.scored_folders write 10000000 folder/    # two retrievers x 30 metrics
python -m tests.benchmarks.scored_folders compare folder/           # seconds and peak memory
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from kragx import evaluate
from kragx.data.formats.jsonl import to_json
from kragx.metrics import Floats, Ints
from tests.benchmarks.memory import peak_megabytes

CUTS = (1, 3, 5, 10, 20)
METRICS = ("ndcg", "mrr", "recall", "precision", "map", "hit_rate")
PER_TABLE = 100_000
NAMES = ("earlier", "now")


def values(ranks: Ints) -> dict[str, Floats]:
    """The metrics of questions by the ranks of their two gold items, (q, 2) in order."""
    first, second = ranks.T
    columns: dict[str, Floats] = {}
    for k in CUTS:
        one, two = first <= k, second <= k
        found = one.astype(np.float64) + two
        ideal = sum(1 / np.log2(rank + 1) for rank in range(1, min(k, 2) + 1))
        gains = one / np.log2(first + 1) + two / np.log2(second + 1)
        columns |= {
            f"ndcg@{k}": gains / ideal,
            f"mrr@{k}": one / first,
            f"recall@{k}": found / 2,
            f"precision@{k}": found / k,
            f"map@{k}": (one / first + two * 2 / second) / 2,
            f"hit_rate@{k}": one.astype(np.float64),
        }
    return {f"{name}@{k}": columns[f"{name}@{k}"] for name in METRICS for k in CUTS}


def write(n: int, folder: Path) -> None:
    """Two retrievers on n questions of three types; the later one finds a little more."""
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(23)
    few = evaluate([["a"]], [["a"]], match="exact", metrics=[*values(np.array([[1, 2]]))])
    for name in NAMES:
        (folder / name / "tables").mkdir(parents=True, exist_ok=True)
    sums = {name: dict.fromkeys(few.mean, 0.0) for name in NAMES}
    tables: dict[str, list[str]] = {name: [] for name in NAMES}
    for number, start in enumerate(range(0, n, PER_TABLE)):
        size = min(PER_TABLE, n - start)
        ease = rng.beta(0.8, 2.0, (size, 1)) * 0.7 + 0.02
        about = {
            "query_id": [f"question-{row:09}" for row in range(start, start + size)],
            "query_type": np.array(["lookup", "list", "why"])[rng.integers(3, size=size)],
        }
        ranks = rng.geometric(ease, (size, 2))
        for name in NAMES:
            if name == "now":  # another answer to every fourth question, and better ones to some
                other = rng.geometric(np.minimum(ease * 1.02, 1), (size, 2))
                ranks = np.where(rng.random((size, 1)) < 0.25, other, ranks)
            ordered = np.sort(ranks, axis=1)
            ordered[:, 1] += ordered[:, 0] == ordered[:, 1]
            columns = values(ordered)
            for metric, own in columns.items():
                sums[name][metric] += float(own.sum())
            tables[name].append(f"tables/{number:05}.parquet")
            parquet.write_table(pyarrow.table(about | columns), folder / name / tables[name][-1])
    for name in NAMES:
        summary: dict[str, Any] = {"retriever": name, "match": "exact", **few.to_dict()}
        summary["mean"] = {metric: total / n for metric, total in sums[name].items()}
        summary["counts"] |= {"n_queries": n, "n_scored": n}
        summary |= {"nearby": None, "failures": {}, "tables": tables[name]}
        path = folder / name / "evaluation.json"
        path.write_text(to_json(summary, indent=1), encoding="utf-8")


def compare(folder: Path) -> dict[str, object]:
    """`kragx compare` of the two, with slices, as the command runs it."""
    from kragx.app.commands import main as command

    options = ["--retriever", *(NAMES[0], "--retriever", NAMES[1]), "--slice", "query_type"]
    sys.argv = ["kragx", "compare", *(str(folder / name) for name in NAMES), *options]
    printed, start, clock = io.StringIO(), process_time(), perf_counter()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        command.main()
    return {
        "processor_seconds": round(process_time() - start, 1),
        "seconds": round(perf_counter() - clock, 1),
        "peak_megabytes": round(peak_megabytes()),
        "printed": printed.getvalue().splitlines()[:12],
    }


def main() -> None:
    """What the command line says."""
    if sys.argv[1] == "write":
        write(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        print(json.dumps(compare(Path(sys.argv[2])), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
