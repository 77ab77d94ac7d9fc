"""K-RAG's module of documents."""

from kragx.data.documents import Doc
from kragx.krag.document import KragDocument

__all__ = ["Doc", "KragDocument"]
