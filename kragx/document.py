"""K-RAG's module of documents."""

from kragx.data.documents import Doc, as_doc, as_docs
from kragx.krag.document import KragDocument

__all__ = ["Doc", "KragDocument", "as_doc", "as_docs"]
