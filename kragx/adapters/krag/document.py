"""`KragDocument`: K-RAG's name for a LangChain `Document`."""

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document


class KragDocument(Document):
    """A LangChain `Document` whose arguments may be positional, as in K-RAG.

    Examples:
        >>> from kragx import KragDocument
        >>> KragDocument("the answer").page_content
        'the answer'
    """

    def __init__(
        self,
        page_content: str,
        metadata: Mapping[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002  # LangChain's name for it
        **kwargs: Any,
    ) -> None:
        super().__init__(page_content=page_content, metadata=dict(metadata or {}), id=id, **kwargs)

    def get_summary(self) -> str:
        """The first 100 characters, and three dots if there are more."""
        text = self.page_content
        return text if len(text) <= 100 else text[:100] + "..."
