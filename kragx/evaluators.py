"""K-RAG's module of evaluators."""

from kragx.krag.evaluators import (
    AveragingMethod,
    EmbeddingRougeOfflineRetrievalEvaluators,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    RougeOfflineRetrievalEvaluators,
    TokenizerType,
)

__all__ = [
    "AveragingMethod",
    "EmbeddingRougeOfflineRetrievalEvaluators",
    "MatchingCriteria",
    "OfflineRetrievalEvaluators",
    "RAGEvaluator",
    "RougeOfflineRetrievalEvaluators",
    "TokenizerType",
]
