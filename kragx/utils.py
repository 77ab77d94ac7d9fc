"""K-RAG's module of helpers for notebooks."""

from kragx.adapters.krag.utils import (
    context_to_document,
    evaluate_retrieval_at_K,
    visualize_retrieval_at_K,
)

__all__ = ["context_to_document", "evaluate_retrieval_at_K", "visualize_retrieval_at_K"]
