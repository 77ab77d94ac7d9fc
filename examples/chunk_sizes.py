"""Which chunk size finds the evidence? Compare several without any ids.

    python examples/chunk_sizes.py

The gold passages are sentences of the corpus; the chunks are cut anew for each size, so no id and
no whole text is common to both. Needs the extra `bm25`.
"""

from __future__ import annotations

from pathlib import Path

from kragx import Evaluation, evaluate
from kragx.retrievers import BM25Retriever

DATA = Path(__file__).parent / "data" / "consumer_ko"
SIZES = (100, 200, 400)


def main() -> list[Evaluation]:
    """Retrieve with each chunk size and print one table, with the verdict above it."""
    sizes = {
        f"{size} characters": BM25Retriever.from_corpus(
            str(DATA / "corpus.jsonl"), chunk_size=size, chunk_overlap=size // 5
        )
        for size in SIZES
    }
    result = evaluate(
        str(DATA / "gold.jsonl"),
        sizes,
        match="overlap",
        metrics=["hit_rate@1", "hit_rate@5", "recall@5", "ndcg@10", "redundancy@10"],
    )
    result.print()
    return list(result.evaluations.values())


if __name__ == "__main__":
    main()
