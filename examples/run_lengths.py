"""How long must a run of tokens be to count as evidence? Coverage by text against offsets.

    python examples/run_lengths.py

The two corpora of the examples are cut into chunks of four sizes, with and without overlap. The
chunks and the gold passages know where they stand, so exact coverage is known; the table has the
mean absolute error of coverage without offsets, over all queries, sizes and k = 1, 3, 5, 10. Needs
the extra `bm25`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

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


def errors(name: str) -> dict[int, float]:
    """For each least run the mean absolute error."""
    gold = placed(name)
    found: dict[int, list[np.ndarray]] = {run: [] for run in RUNS}
    for size in SIZES:
        for overlap in (0, size // 5):
            retriever = BM25Retriever.from_corpus(
                str(DATA / name / "corpus.jsonl"), chunk_size=size, chunk_overlap=overlap
            )
            answers = retrieve(retriever, gold, progress=False)
            exact, *others = (
                np.array([scores.values for scores in result.scores])
                for result in [
                    evaluate(
                        gold,
                        answers,
                        match="text",
                        metrics=[f"coverage@{k}({option})" for k in KS],
                    )
                    for option in ("offsets=only", *(f"offsets=off, run={run}" for run in RUNS))
                ]
            )
            for run, values in zip(RUNS, others, strict=True):
                found[run].append(np.abs(values - exact))
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
