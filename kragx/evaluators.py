"""K-RAG's module of evaluators."""

from kragx.krag.embedding_evaluator import (
    EmbeddingRougeOfflineRetrievalEvaluators as EmbeddingRougeOfflineRetrievalEvaluators,
)
from kragx.krag.evaluators import AveragingMethod as AveragingMethod
from kragx.krag.evaluators import MatchingCriteria as MatchingCriteria
from kragx.krag.evaluators import OfflineRetrievalEvaluators as OfflineRetrievalEvaluators
from kragx.krag.evaluators import RougeOfflineRetrievalEvaluators as RougeOfflineRetrievalEvaluators
from kragx.krag.evaluators import TokenizerType as TokenizerType
from kragx.krag.rag_evaluator import RAGEvaluator as RAGEvaluator
