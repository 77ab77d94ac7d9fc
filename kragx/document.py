"""K-RAG's module of documents."""

from kragx.adapters.krag.document import KragDocument
from kragx.data.documents import Doc

__all__ = ["Doc", "KragDocument"]
