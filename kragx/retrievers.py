"""A small LangChain retriever for trials and baselines: BM25 over chunks of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, field_validator

from kragx import chunking
from kragx.document import Doc, as_doc
from kragx.errors import DataError, MissingExtraError
from kragx.formats.jsonl import read_records
from kragx.text import Mender
from kragx.tokenizers import Tokenizer, tokenizer


class BM25Retriever(BaseRetriever):
    """BM25 (Lucene's variant, by the package bm25s) over documents in memory.

    Attributes:
        documents: what is searched.
        k: how many documents to return.
        tokenizer: a name, mapping or `Tokenizer`; the default, character bigrams, works for
            Korean and English without a model.

    Documents that share no token with the question are not returned. Ties keep the order of
    `documents`. Each document returned carries its score as ``metadata["score"]``.
    """

    documents: list[Document]
    k: int = Field(default=10, ge=1)
    tokenizer: Any = "char"

    @field_validator("tokenizer")
    @classmethod
    def _resolve(cls, value: Any) -> Tokenizer:
        return tokenizer(value)

    @classmethod
    def from_corpus(
        cls,
        corpus: str,
        *,
        chunk_size: int | None = None,
        chunk_overlap: int = 0,
        k: int = 10,
        tokenizer: Any = "char",
    ) -> BM25Retriever:
        """Read a corpus (JSON Lines of ``{"id", "text", "metadata"?}``) and cut it into chunks.

        Args:
            corpus: the file's path.
            chunk_size: characters in a chunk; None cuts at blank lines, one chunk a paragraph.
            chunk_overlap: characters that neighbouring chunks share.
            k: how many chunks to return.
            tokenizer: what BM25 counts.
        """
        chunks = [
            chunk
            for doc in read_corpus(corpus)
            for chunk in chunked(doc, size=chunk_size, overlap=chunk_overlap)
        ]
        return cls(documents=chunks, k=k, tokenizer=tokenizer)

    @cached_property
    def _index(self) -> Any:
        try:
            import bm25s
        except ImportError:
            raise MissingExtraError("BM25Retriever", "bm25") from None
        index = bm25s.BM25(method="lucene")
        tokens = list(self.tokenizer.tokens(doc.page_content for doc in self.documents))
        index.index(tokens, show_progress=False)
        return index

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        (words,) = self.tokenizer.tokens([query])
        known = [word for word in words if word in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        ranked = np.argsort(-scores, kind="stable")[: self.k]
        return [
            Document(
                page_content=self.documents[at].page_content,
                id=self.documents[at].id,
                metadata={**self.documents[at].metadata, "score": float(scores[at])},
            )
            for at in ranked
            if scores[at] > 0
        ]


def read_corpus(path: str | Path) -> list[Doc]:
    """Read a corpus: JSON Lines of ``{"id", "text", "metadata"?}``.

    Raises:
        DataError: the file is empty, or a document in it has no id or no text.
    """
    mender = Mender()
    docs: list[Doc] = []
    for number, record in read_records(path, mender):
        try:
            doc = as_doc(record, mender)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        if doc.id is None or doc.text is None:
            raise DataError(f"{path}:{number}: a document of a corpus needs 'id' and 'text'")
        docs.append(doc)
    if not docs:
        raise DataError(f"{path}: the corpus is empty; one JSON object a line is expected")
    return docs


def chunked(doc: Doc, *, size: int | None, overlap: int = 0) -> Sequence[Document]:
    """Cut a document into chunks; each knows its source and its place there (in characters)."""
    text = doc.text or ""
    spans = chunking.paragraphs(text) if size is None else chunking.windows(text, size, overlap)
    return [
        Document(
            id=f"{doc.id}:{span.start}-{span.end}",
            page_content=text[span.start : span.end],
            metadata={**doc.metadata, "source": doc.id, "start": span.start, "end": span.end},
        )
        for span in spans
    ]
