"""Small LangChain retrievers for `configs/consumer.yaml`, to read and to start from.

    kragx run configs/consumer.yaml

A vector retriever without a model (TF-IDF over character n-grams), the fusion of two retrievers,
and a wrapper that adds each chunk's neighbours to what was found. To see a vector for a text:

    python examples/retrievers.py
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from kragx import read_corpus
from kragx.data.text import normalise
from kragx.retrievers import BM25Retriever, ReciprocalRankFusion, chunked

CORPUS = Path(__file__).parent / "data" / "consumer_ko" / "corpus.jsonl"


def paragraphs(corpus: str) -> list[Document]:
    """The paragraphs of a corpus, in its order; ids like ``ko-001:0-312``."""
    return [chunk for doc in read_corpus(corpus) for chunk in chunked(doc, size=None)]


class TfidfRetriever(BaseRetriever):
    """Cosine similarity of TF-IDF vectors over character n-grams.

    Attributes:
        documents: what is searched.
        sizes: the lengths of the n-grams.
        k: how many documents to return.

    A weight is (1 + log tf) * (1 + log(N / df)); vectors have length 1.
    """

    documents: list[Document]
    sizes: tuple[int, ...] = (2, 3)
    k: int = 10

    _columns: dict[str, int] = PrivateAttr()
    _idf: Any = PrivateAttr()
    _matrix: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Make the index."""
        grams = [self._grams(doc.page_content) for doc in self.documents]
        self._columns = {
            gram: at for at, gram in enumerate(dict.fromkeys(g for c in grams for g in c))
        }
        frequency = np.zeros(len(self._columns))
        for each in grams:
            frequency[[self._columns[gram] for gram in each]] += 1
        self._idf = 1 + np.log(len(self.documents) / frequency)
        self._matrix = np.array([self._vector(each) for each in grams])

    @classmethod
    def from_corpus(cls, corpus: str, *, k: int = 10) -> TfidfRetriever:
        """Over the paragraphs of a corpus file."""
        return cls(documents=paragraphs(corpus), k=k)

    def _grams(self, text: str) -> Counter[str]:
        plain = normalise(text, casefold=True)
        return Counter(
            gram
            for size in self.sizes
            for gram in (plain[at : at + size] for at in range(len(plain) - size + 1))
            if not gram.isspace()
        )

    def _vector(self, grams: Counter[str]) -> Any:
        vector = np.zeros(len(self._columns))
        for gram, count in grams.items():
            if gram in self._columns:
                vector[self._columns[gram]] = 1 + np.log(count)
        vector *= self._idf
        length = np.linalg.norm(vector)
        return vector / length if length else vector

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        scores = self._matrix @ self._vector(self._grams(query))
        best = np.argsort(-scores, kind="stable")[: self.k]
        return [
            Document(
                id=self.documents[at].id,
                page_content=self.documents[at].page_content,
                metadata={**self.documents[at].metadata, "score": float(scores[at])},
            )
            for at in best
            if scores[at] > 0
        ]


class ExpandedRetriever(BaseRetriever):
    """Adds the chunks before and after each chunk that a retriever found, once each.

    Attributes:
        retriever: what is asked.
        documents: every chunk, in the order of its document.
        found: how many of its chunks are kept.

    A neighbour follows the chunk that it belongs to and is marked by ``expanded: true`` in its
    metadata, so that kragx can tell what expansion adds.
    """

    retriever: BaseRetriever
    documents: list[Document]
    found: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        place = {doc.id: at for at, doc in enumerate(self.documents)}
        callbacks = run_manager.get_child()
        hits = self.retriever.invoke(query, config={"callbacks": callbacks})[: self.found]
        taken = {doc.id for doc in hits}
        context: list[Document] = []
        for hit in hits:
            context.append(hit)
            for at in (place[hit.id] - 1, place[hit.id] + 1):
                if not 0 <= at < len(self.documents) or self.documents[at].id in taken:
                    continue
                neighbour = self.documents[at]
                if neighbour.metadata["source"] == hit.metadata["source"]:
                    taken.add(neighbour.id)
                    marked = {**neighbour.metadata, "expanded": True}
                    context.append(neighbour.model_copy(update={"metadata": marked}))
        return context


def make(corpus: str, kind: str, *, expand: bool = False, k: int = 10) -> BaseRetriever:
    """One of the retrievers of `configs/consumer.yaml`.

    Args:
        corpus: the corpus file.
        kind: ``bm25``, ``tfidf``, or ``hybrid`` for both, merged by reciprocal rank fusion.
        expand: whether the best five are given with their neighbouring chunks.
        k: how many chunks to return where nothing is expanded.
    """
    chunks = paragraphs(corpus)

    def single(name: str) -> BaseRetriever:
        if name == "bm25":
            return BM25Retriever(documents=chunks, k=k, tokenizer={"name": "char", "n": 2})
        return TfidfRetriever(documents=chunks, k=k)

    retriever = (
        ReciprocalRankFusion(retrievers=[single("bm25"), single("tfidf")], k=k)
        if kind == "hybrid"
        else single(kind)
    )
    return ExpandedRetriever(retriever=retriever, documents=chunks) if expand else retriever


def main() -> list[Document]:
    """Ask the vector retriever one question and print what it finds."""
    found = TfidfRetriever.from_corpus(str(CORPUS), k=3).invoke("헬스장 환불은 어떻게 하나요?")
    for doc in found:
        print(f"{doc.metadata['score']:.3f}  {doc.id}  {doc.page_content[:50]}")
    return found


if __name__ == "__main__":
    main()
