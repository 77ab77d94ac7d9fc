"""K-RAG's BM25 retriever."""

from collections.abc import Iterable
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig

from kragx.adapters.krag.document import KragDocument
from kragx.data import FunctionTokenizer, WhitespaceTokenizer, tokenizer
from kragx.evaluation.retrievers import Bm25Index
from kragx.ground.errors import DataError, check_whole, shorten


class KiWiBM25RetrieverWithScore(Runnable[str, list[KragDocument]]):
    """K-RAG's BM25 retriever, which writes each document's score into its metadata.

    Args:
        documents: LangChain documents to search; not changed.
        kiwi_tokenizer: `kragx.tokenizers.KiwiTokenizer` (its forms are counted as they are, as
            K-RAG does), or any other tokenizer of `kragx.tokenizers`; None splits at white space.
        k: how many documents to return; None for 4.
        threshold: only documents with a higher score are returned.

    K-RAG's scores are those of rank_bm25's BM25Okapi, these are those of Lucene's variant by the
    package bm25s (extra `bm25`): use is the same, values differ, so a `threshold` found with K-RAG
    has to be found anew. Lucene's are never negative; rank_bm25's are for a word that more than
    half of the documents share, which K-RAG's default threshold then hides.

    Raises:
        UsageError: an argument is wrong.
        DataError: there are no documents, or one is no document.
        MissingExtraError: bm25s is not installed.
    """

    def __init__(
        self,
        documents: Iterable[Document],
        kiwi_tokenizer: Any = None,
        k: int | None = None,
        threshold: float = 0.0,
    ) -> None:
        self.k: int = 4 if k is None else k
        check_whole("k", self.k, 0)
        self.documents: list[Document] = list(documents)
        if not self.documents:
            raise DataError("documents: there are none; pass at least one document to search")
        for position, doc in enumerate(self.documents):
            if not isinstance(getattr(doc, "page_content", None), str):
                raise DataError(
                    "documents[{position}]: {doc} has no page_content; "
                    "pass LangChain documents or KragDocuments",
                    position=position,
                    doc=shorten(doc),
                )
        self.kiwi_tokenizer = kiwi_tokenizer
        self.threshold = threshold
        texts = [doc.page_content for doc in self.documents]
        words = WhitespaceTokenizer() if kiwi_tokenizer is None else kiwi_tokenizer
        # `tokenize` tells Kiwi, whose tokens carry a form; tokenizers of kragx have `tokens`.
        if hasattr(words, "tokenize"):
            words = FunctionTokenizer(
                lambda text: [token.form for token in kiwi_tokenizer.tokenize(text)]
            )
        self._index = Bm25Index(texts, tokenizer(words), type(self).__name__)

    def invoke(  # type: ignore[override]  # the question is `query` in K-RAG
        self, query: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[KragDocument]:
        """New documents, best first, each with its score as ``metadata["bm25_score"]``."""
        # LangChain's own way to call, by which callbacks and traces hear of the question.
        return self._call_with_config(self._scored_documents, query, config, **kwargs)

    def _scored_documents(self, query: str) -> list[KragDocument]:
        best = self._index.best(query, self.k, self.threshold)
        return [
            KragDocument(doc.page_content, {**doc.metadata, "bm25_score": score}, id=doc.id)
            for doc, score in ((self.documents[place], score) for place, score in best)
        ]
