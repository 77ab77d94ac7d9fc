"""A whole evaluation by the real K-RAG, run by the Python of an environment of its own.

    python3.11 -m venv krag-env && krag-env/bin/pip install krag==0.0.32 nltk
    export KRAGX_BENCH_KRAG_PYTHON=krag-env/bin/python

K-RAG stays out of kragx's own environment: it pins an old LangChain, numpy and Kiwi. This file
imports nothing of kragx. It reads ``{"gold", "docs", "method", "tokenizer"}`` from standard input
and writes ``{"seconds", "values", "version"}``: the clock runs while K-RAG works, not while it is
imported and loads Kiwi's model.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from time import perf_counter

os.environ.setdefault("MPLBACKEND", "Agg")

import krag.evaluators as krag
from krag.document import KragDocument

NAMES = ("hit_rate", "mrr", "recall", "precision", "f1_score", "map", "ndcg")


def main() -> None:
    """Evaluate what standard input says: seven metrics at 10."""
    asked = json.load(sys.stdin)
    gold, docs = (
        [[KragDocument(page_content=text) for text in texts] for texts in asked[side]]
        for side in ("gold", "docs")
    )
    evaluator = krag.RougeOfflineRetrievalEvaluators(
        gold,
        docs,
        match_method=asked["method"],
        tokenizer=krag.TokenizerType(asked["tokenizer"]),
    )
    if asked["tokenizer"] == "kiwi":
        evaluator.kiwi.tokenize("안녕하세요")  # Kiwi loads its model on first use
    start = perf_counter()
    values = {name: getattr(evaluator, f"calculate_{name}")(10) for name in NAMES}
    seconds = perf_counter() - start
    print(json.dumps({"seconds": seconds, "values": values, "version": version("krag")}))


if __name__ == "__main__":
    main()
