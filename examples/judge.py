"""Judge what a retriever found with an LLM, stored and priced.

    python examples/judge.py                    # offline, with the stand-in of judge_server.py
    python examples/judge.py gpt-4.1-mini       # a real model; OPENAI_API_KEY from the environment

Run it twice: the second time nothing is asked.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kragx import Evaluation, evaluate
from kragx.judging import Judge, OpenAIClient
from kragx.retrievers import BM25Retriever

DATA = Path(__file__).parent / "data" / "shop_en"


def main(model: str | None = None, store: str = ".kragx/judgements.sqlite") -> Evaluation:
    """Evaluate BM25 over paragraphs, the judge asked only where word overlap is unclear."""
    if model is None:
        from judge_server import local_client  # noqa: PLC0415  # it stands beside this file

        client = local_client()
    else:
        client = OpenAIClient(model)
    judge = Judge(client, store=store, max_missing=0.1, budget={"calls": 500})
    result = evaluate(
        str(DATA / "gold.jsonl"),
        BM25Retriever.from_corpus(str(DATA / "corpus.jsonl"), k=5),
        match={
            "cascade": [
                {"method": "overlap", "accept": 0.8, "reject": 0.05},
                {"method": "llm", "judge": judge},
            ]
        },
        metrics=["hit_rate@5", "mrr@5", "recall@5", "ndcg@5"],
    )
    result.print()
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
