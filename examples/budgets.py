"""Which chunk size is best? Five large chunks hold more; the same amount of text need not.

    python examples/budgets.py

The corpus is cut anew for each size. Five large chunks hold more text than five small ones, so they
hold more of the gold; a budget of characters compares what the same amount of text holds. Needs
the extra `bm25`.
"""

from __future__ import annotations

from pathlib import Path

from kragx import Evaluation, evaluate
from kragx.retrievers import BM25Retriever

DATA = Path(__file__).parent / "data" / "consumer_ko"
SIZES = (100, 200, 400, 800)
METRICS = [
    "coverage@5",
    "coverage@300chars",
    "coverage@1000chars",
    "density@5",
    "density@1000chars",
    "ndcg@5",
    "ndcg@1000chars",
]


def main() -> list[Evaluation]:
    """Retrieve with each chunk size and print one table, with the verdict above it."""
    sizes = {
        f"{size} characters": BM25Retriever.from_corpus(
            str(DATA / "corpus.jsonl"), chunk_size=size, chunk_overlap=0
        )
        for size in SIZES
    }
    result = evaluate(
        str(DATA / "gold.jsonl"),
        sizes,
        match="span",
        metrics=METRICS,
    )
    result.print()
    return list(result.evaluations.values())


if __name__ == "__main__":
    main()
