"""K-RAG's module of evaluators."""

from kragx.adapters.krag.evaluators import (
    AveragingMethod,
    EmbeddingRougeOfflineRetrievalEvaluators,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
    TokenizerType,
)
from kragx.adapters.krag.rag_evaluator import RAGEvaluator

__all__ = ["AveragingMethod", "EmbeddingRougeOfflineRetrievalEvaluators", "MatchingCriteria"]
__all__ += ["OfflineRetrievalEvaluators", "RAGEvaluator", "RougeOfflineRetrievalEvaluators"]
__all__ += ["TokenizerType"]
