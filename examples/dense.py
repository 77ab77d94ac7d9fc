"""Retrievers with real embeddings, for `configs/dense.yaml`, to read and to start from.

    python3 -m pip --python .venv install -e ".[bm25,dense]"
    kragx run configs/dense.yaml

Exact cosine over a corpus in memory, its fusion with BM25, and a reranking of what the fusion
found. The encoders stand in `examples/encoders.py`; any other langchain-core `Embeddings` that
gives vectors of length 1 goes into the same place. To see what each finds for one question:

    python examples/dense.py
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from kragx import read_corpus
from kragx.retrievers import BM25Retriever, ReciprocalRankFusion, chunked

CORPUS = Path(__file__).parent / "data" / "consumer_ko" / "corpus.jsonl"
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


def scored(doc: Document, score: float) -> Document:
    """The document with its score as ``metadata["score"]``."""
    return doc.model_copy(update={"metadata": {**doc.metadata, "score": score}})


class DenseRetriever(BaseRetriever):
    """The documents whose vectors have the greatest cosine with the question's, exactly.

    Attributes:
        documents: what is searched; their vectors are made at the first question.
        encoder: gives vectors of length 1.
        k: how many documents to return.
    """

    documents: list[Document]
    encoder: Embeddings
    k: int = 10

    @cached_property
    def _vectors(self) -> Any:
        return np.array(self.encoder.embed_documents([doc.page_content for doc in self.documents]))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        cosines = self._vectors @ np.array(self.encoder.embed_query(query))
        best = np.argsort(-cosines, kind="stable")[: self.k]
        return [scored(self.documents[place], float(cosines[place])) for place in best]


class Reranked(BaseRetriever):
    """What a retriever found, in the order of cosines of the whole document and its best sentence.

    Attributes:
        retriever: finds the candidates.
        encoder: gives vectors of length 1; a better one than the retriever's can be afforded, as
            it reads candidates only.
        k: how many documents to return.

    The score is the mean of the document's cosine and that of its most similar sentence. A text
    that was a candidate before keeps its vectors.
    """

    retriever: BaseRetriever
    encoder: Embeddings
    k: int = 10

    @cached_property
    def _known(self) -> dict[str, Any]:
        return {}

    def _read(self, texts: list[str]) -> None:
        """Keep the vectors of each text and, below it, of its sentences."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        parts = [[text, *_SENTENCE_END.split(text)] for text in new]
        vectors = iter(self.encoder.embed_documents(list(chain.from_iterable(parts))))
        for text, of_text in zip(new, parts, strict=True):
            self._known[text] = np.array([next(vectors) for _ in of_text])

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = self.retriever.invoke(query, config={"callbacks": run_manager.get_child()})
        self._read([doc.page_content for doc in found])
        asked = np.array(self.encoder.embed_query(query))
        scores = []
        for doc in found:
            whole, *sentences = self._known[doc.page_content] @ asked
            scores.append((whole + max(sentences)) / 2)
        best = np.argsort(-np.array(scores), kind="stable")[: self.k]
        return [scored(found[place], float(scores[place])) for place in best]


@cache
def embeddings(path: str) -> Embeddings:
    """What an import path ``package.module:name`` makes, once."""
    module, _, name = path.partition(":")
    made: Embeddings = getattr(import_module(module), name)()
    return made


def make(
    corpus: str,
    kind: str,
    *,
    encoder: str = "examples.encoders:UniversalSentenceEncoder",
    reranker: str = "examples.encoders:UniversalSentenceEncoder",
    candidates: int = 50,
    k: int = 10,
) -> BaseRetriever:
    """One of the retrievers of `configs/dense.yaml`, over the paragraphs of a corpus.

    Args:
        corpus: the corpus file.
        kind: ``bm25``; ``dense``; ``hybrid`` for both, merged by reciprocal rank fusion;
            ``reranked`` for the hybrid's `candidates` in a new order.
        encoder: the import path of the embeddings of dense retrieval.
        reranker: the same of those that rank the candidates anew.
        candidates: how many documents of each list are merged, and of those reranked.
        k: how many documents to return.
    """
    chunks = [chunk for doc in read_corpus(corpus) for chunk in chunked(doc, size=None)]

    def single(name: str, k: int) -> BaseRetriever:
        if name == "bm25":
            tokenizer = {"name": "char", "n": 2}
            return BM25Retriever(name=name, documents=chunks, k=k, tokenizer=tokenizer)
        return DenseRetriever(name=name, documents=chunks, k=k, encoder=embeddings(encoder))

    def hybrid(k: int) -> BaseRetriever:
        both = [single(name, candidates) for name in ("bm25", "dense")]
        return ReciprocalRankFusion(name="fusion", retrievers=both, k=k)

    if kind == "reranked":
        return Reranked(
            name="reranking", retriever=hybrid(candidates), encoder=embeddings(reranker), k=k
        )
    return hybrid(k) if kind == "hybrid" else single(kind, k)


def main() -> dict[str, list[str]]:
    """Print the ids of what each retriever finds for a question."""
    found = {}
    use = "encoders:UniversalSentenceEncoder"
    for kind in ("bm25", "dense", "hybrid", "reranked"):
        retriever = make(str(CORPUS), kind, encoder=use, reranker=use, k=3)
        found[kind] = [str(doc.id) for doc in retriever.invoke("헬스장 환불은 어떻게 하나요?")]
        print(f"{kind:<10}", *found[kind])
    return found


if __name__ == "__main__":
    main()
