"""K-RAG's module of evaluators."""

from kragx.krag.embedding_evaluator import (
    EmbeddingRougeOfflineRetrievalEvaluators as EmbeddingRougeOfflineRetrievalEvaluators,
)
from kragx.krag.evaluators import (
    AveragingMethod as AveragingMethod,
    MatchingCriteria as MatchingCriteria,
    OfflineRetrievalEvaluators as OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators as RougeOfflineRetrievalEvaluators,
    TokenizerType as TokenizerType,
)
from kragx.krag.rag_evaluator import RAGEvaluator as RAGEvaluator
