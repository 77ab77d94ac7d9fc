"""kragx evaluates retrievers for RAG: which one finds the evidence, how sure are we, and why.

    from kragx import evaluate

    result = evaluate(gold_documents, retrieved_documents, match="overlap", metrics=["ndcg@10"])
    result.print()

Everything is loaded on first use, so that importing kragx costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kragx.agreement import Agreement, agree
    from kragx.calibration import Calibration, calibrate
    from kragx.comparison import Comparison, compare
    from kragx.dataset import Gold, GoldDataset, Query
    from kragx.document import Doc
    from kragx.errors import ConfigError, DataError, KragxError, MissingExtraError, UsageError
    from kragx.evaluating import aevaluate, evaluate, match_pairs
    from kragx.evaluation import Evaluation
    from kragx.evaluators import (
        AveragingMethod,
        EmbeddingRougeOfflineRetrievalEvaluators,
        MatchingCriteria,
        OfflineRetrievalEvaluators,
        RAGEvaluator,
        RougeOfflineRetrievalEvaluators,
        TokenizerType,
    )
    from kragx.explanations import Explanation, explain
    from kragx.formats.datasets import read_dataset, read_rows, write_goldset
    from kragx.formats.jsonl import read_gold, read_results, write_gold, write_results
    from kragx.formats.labels import read_labels
    from kragx.krag_document import KragDocument
    from kragx.matchers import Matcher, matcher
    from kragx.report.figures import write_figures
    from kragx.report.page.write import write_html
    from kragx.results import Retrieved, Run
    from kragx.retrieval import aretrieve, retrieve
    from kragx.sweeps import Sweep, sweep
    from kragx.tokenizers import Tokenizer, tokenizer
    from kragx.validation import validate

_WHERE = {
    "Agreement": "agreement",
    "AveragingMethod": "evaluators",
    "Calibration": "calibration",
    "Comparison": "comparison",
    "ConfigError": "errors",
    "DataError": "errors",
    "Doc": "document",
    "EmbeddingRougeOfflineRetrievalEvaluators": "evaluators",
    "Evaluation": "evaluation",
    "Explanation": "explanations",
    "Gold": "dataset",
    "GoldDataset": "dataset",
    "KragDocument": "krag_document",
    "KragxError": "errors",
    "Matcher": "matchers",
    "MatchingCriteria": "evaluators",
    "MissingExtraError": "errors",
    "OfflineRetrievalEvaluators": "evaluators",
    "Query": "dataset",
    "RAGEvaluator": "evaluators",
    "Retrieved": "results",
    "RougeOfflineRetrievalEvaluators": "evaluators",
    "Run": "results",
    "Sweep": "sweeps",
    "Tokenizer": "tokenizers",
    "TokenizerType": "evaluators",
    "UsageError": "errors",
    "aevaluate": "evaluating",
    "agree": "agreement",
    "aretrieve": "retrieval",
    "calibrate": "calibration",
    "compare": "comparison",
    "evaluate": "evaluating",
    "explain": "explanations",
    "flips": "flipping",
    "match_pairs": "evaluating",
    "matcher": "matchers",
    "read_dataset": "formats.datasets",
    "read_gold": "formats.jsonl",
    "read_labels": "formats.labels",
    "read_results": "formats.jsonl",
    "read_rows": "formats.datasets",
    "retrieve": "retrieval",
    "sweep": "sweeps",
    "tokenizer": "tokenizers",
    "validate": "validation",
    "write_figures": "report.figures",
    "write_gold": "formats.jsonl",
    "write_goldset": "formats.datasets",
    "write_html": "report.page.write",
    "write_results": "formats.jsonl",
}

__all__ = [
    "Agreement",
    "AveragingMethod",
    "Calibration",
    "Comparison",
    "ConfigError",
    "DataError",
    "Doc",
    "EmbeddingRougeOfflineRetrievalEvaluators",
    "Evaluation",
    "Explanation",
    "Gold",
    "GoldDataset",
    "KragDocument",
    "KragxError",
    "Matcher",
    "MatchingCriteria",
    "MissingExtraError",
    "OfflineRetrievalEvaluators",
    "Query",
    "RAGEvaluator",
    "Retrieved",
    "RougeOfflineRetrievalEvaluators",
    "Run",
    "Sweep",
    "Tokenizer",
    "TokenizerType",
    "UsageError",
    "aevaluate",
    "agree",
    "aretrieve",
    "calibrate",
    "compare",
    "evaluate",
    "explain",
    "flips",
    "match_pairs",
    "matcher",
    "read_dataset",
    "read_gold",
    "read_labels",
    "read_results",
    "read_rows",
    "retrieve",
    "sweep",
    "tokenizer",
    "validate",
    "write_figures",
    "write_gold",
    "write_goldset",
    "write_html",
    "write_results",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kragx")
    if name not in _WHERE:
        raise AttributeError(f"module 'kragx' has no attribute {name!r}")
    return getattr(importlib.import_module(f"kragx.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
