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
    from kragx.dataset import Gold, GoldDataset, Query
    from kragx.document import Doc
    from kragx.errors import (
        ConfigError,
        DataError,
        KragxError,
        MissingExtraError,
        UsageError,
    )
    from kragx.evaluation import Evaluation, aevaluate, evaluate, match_pairs
    from kragx.formats.jsonl import read_gold, read_results, write_gold, write_results
    from kragx.matchers import Matcher, matcher
    from kragx.results import Retrieved, Run
    from kragx.retrieval import aretrieve, retrieve
    from kragx.tokenizers import Tokenizer, tokenizer

_WHERE = {
    "ConfigError": "errors",
    "DataError": "errors",
    "Doc": "document",
    "Evaluation": "evaluation",
    "Gold": "dataset",
    "GoldDataset": "dataset",
    "KragxError": "errors",
    "Matcher": "matchers",
    "MissingExtraError": "errors",
    "Query": "dataset",
    "Retrieved": "results",
    "Run": "results",
    "Tokenizer": "tokenizers",
    "UsageError": "errors",
    "aevaluate": "evaluation",
    "aretrieve": "retrieval",
    "evaluate": "evaluation",
    "match_pairs": "evaluation",
    "matcher": "matchers",
    "read_gold": "formats.jsonl",
    "read_results": "formats.jsonl",
    "retrieve": "retrieval",
    "tokenizer": "tokenizers",
    "write_gold": "formats.jsonl",
    "write_results": "formats.jsonl",
}

__all__ = [
    "ConfigError",
    "DataError",
    "Doc",
    "Evaluation",
    "Gold",
    "GoldDataset",
    "KragxError",
    "Matcher",
    "MissingExtraError",
    "Query",
    "Retrieved",
    "Run",
    "Tokenizer",
    "UsageError",
    "aevaluate",
    "aretrieve",
    "evaluate",
    "match_pairs",
    "matcher",
    "read_gold",
    "read_results",
    "retrieve",
    "tokenizer",
    "write_gold",
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
