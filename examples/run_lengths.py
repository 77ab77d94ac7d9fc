"""How long must a run of tokens be to count as evidence? Coverage by text against offsets.

    python examples/run_lengths.py

The two corpora of the examples are cut into chunks of four sizes, with and without overlap. The
chunks and the gold passages know where they stand, so the truth is known as `coverage_accuracy.py`
has it for spans; the table has the mean absolute error of coverage without offsets, over all
queries, sizes and k = 1, 3, 5, 10. Needs the extra `bm25`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import coverage_accuracy
import numpy as np

from kragx import GoldDataset, evaluate, read_gold, retrieve
from kragx.retrievers import BM25Retriever

DATA = Path(__file__).parent / "data"
SIZES = (50, 100, 200, 400)
RUNS = (3, 4, 5, 6, 8, 10, 12, 16)
KS = (1, 3, 5, 10)


def placed(name: str) -> GoldDataset:
    """The gold set of a corpus, each passage with its place; those that stand nowhere left out."""
    lines = (DATA / name / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    corpus = [json.loads(line) for line in lines]
    gold = read_gold(DATA / name / "gold.jsonl")
    queries = []
    for query in gold:
        items = []
        for item in query.gold:
            for doc in corpus:
                start = doc["text"].find(item.text or "")
                if start >= 0:
                    where = {"source": doc["id"], "start": start}
                    items.append(replace(item, metadata=where, alternatives=()))
                    break
        if items:
            queries.append(replace(query, gold=tuple(items)))
    return GoldDataset(tuple(queries), name=name)


def span(item: Any) -> list[Any]:
    """Where a text stands."""
    metadata = item.metadata
    start = metadata["start_index"] if "start_index" in metadata else metadata["start"]
    return [metadata["source"], start, start + len(item.text)]


def errors(name: str) -> dict[int, float]:
    """For each least run the mean absolute error."""
    gold = placed(name)
    records = [{"gold": [{"text": item.text} for item in query.gold]} for query in gold]
    token = coverage_accuracy.counted(records, "auto")
    found: dict[int, list[np.ndarray]] = {run: [] for run in RUNS}
    for size in SIZES:
        for overlap in (0, size // 5):
            retriever = BM25Retriever.from_corpus(
                str(DATA / name / "corpus.jsonl"), chunk_size=size, chunk_overlap=overlap
            )
            answers = retrieve(retriever, gold, progress=False)
            truths = [
                {
                    "gold_spans": [*map(span, query.gold)],
                    "chunk_spans": [*map(span, answers[query.id].documents)],
                }
                for query in gold
            ]
            exact = [
                [
                    coverage_accuracy.coverage_of_spans(record, truth, k, False, token)
                    for record, truth in zip(records, truths, strict=True)
                ]
                for k in KS
            ]
            metrics = [f"coverage@{k}(offsets=off, run={run})" for run in RUNS for k in KS]
            result = evaluate(gold, answers, match="text", metrics=metrics)
            values = np.array([scores.values for scores in result.scores])
            for run, of_run in zip(RUNS, np.split(values, len(RUNS)), strict=True):
                found[run].append(np.abs(of_run - exact))
    return {run: float(np.mean(each)) for run, each in found.items()}


def main() -> dict[str, dict[int, float]]:
    """Print a row for each corpus."""
    table = {name: errors(name) for name in ("consumer_ko", "shop_en")}
    print(f"{'run':<14}" + "".join(f"{run:>8}" for run in RUNS))
    for name, row in table.items():
        print(f"{name:<14}" + "".join(f"{row[run]:8.4f}" for run in RUNS))
    return table


if __name__ == "__main__":
    main()
