"""The 45 forms: nine of information retrieval, 36 of RAG tools."""

from .ir import IR
from .rag import RAG
from .vendors import VENDORS

FORMS = [*IR, *RAG, *VENDORS]
