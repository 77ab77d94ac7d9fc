"""Small LangChain retrievers for trials and baselines: BM25 and rank fusion."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from math import fsum, isfinite
from typing import Any

import numpy as np
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, field_validator, model_validator

from kragx.data import (
    Doc,
    SurrogateRepair,
    Tokenizer,
    as_docs,
    chunking,
    clean_number,
    read_corpus,
    tokenizer,
)
from kragx.evaluation.answers import collected, documents_of
from kragx.evaluation.retriever_adapters import adapted, is_retriever
from kragx.ground.errors import DataError, UsageError, inside, needing


class Bm25Index:
    """BM25 (Lucene's variant, by the package bm25s) over texts.

    Args:
        texts: what is searched.
        tokenizer: what is counted.
        feature: what needs the index, for the error.

    Raises:
        MissingExtraError: bm25s is not installed.
    """

    def __init__(self, texts: Sequence[str], tokenizer: Tokenizer, feature: str) -> None:
        with needing("bm25", feature), warnings.catch_warnings():
            # tqdm's, in a notebook without ipywidgets, of bars that bm25s is told not to show
            warnings.filterwarnings("ignore", message="IProgress not found")
            import bm25s
        self._tokenizer, self._count = tokenizer, len(texts)
        self._index = bm25s.BM25(method="lucene")
        tokens = list(tokenizer.tokens(texts))
        self._words = set(chain(*tokens))
        # bm25s divides by the mean length, which is 0 where no text has a token.
        if self._words:
            self._index.index(tokens, show_progress=False)

    def best(self, query: str, k: int, above: float = 0.0) -> list[tuple[int, float]]:
        """The places of the k best texts and their scores, best first; ties keep the texts' order.

        Those whose score is not greater than `above` are left out; one that shares no token with
        the query scores 0.
        """
        (words,) = self._tokenizer.tokens([query])
        terms = [word for word in words if word in self._words]
        scores = self._index.get_scores(terms) if terms else np.zeros(self._count)
        ranked = np.argsort(-scores, kind="stable")[:k]
        return [(int(place), float(scores[place])) for place in ranked if scores[place] > above]


class BM25Retriever(BaseRetriever):
    """BM25 (Lucene's variant, by the package bm25s) over documents in memory.

    Attributes:
        documents: what is searched: LangChain's documents, or whatever `evaluate` takes for some.
        k: how many documents to return.
        tokenizer: a name, mapping or `Tokenizer`; the default, character bigrams, works for
            Korean and English without a model.

    Documents that share no token with the question are not returned. Ties keep the order of
    `documents`. Each document returned carries its score as ``metadata["score"]``.
    """

    documents: list[Document]
    k: int = Field(default=10, ge=1)
    tokenizer: Any = Field(default="char", validate_default=True)

    @field_validator("documents", mode="before")
    @classmethod
    def _read(cls, values: Any) -> list[Document]:
        return [
            value
            if isinstance(value, Document)
            else Document(doc.text or "", id=doc.id, metadata=dict(doc.metadata))
            for value in values
            for doc in as_docs([value], SurrogateRepair())
        ]

    @field_validator("tokenizer")
    @classmethod
    def _resolve(cls, value: Any) -> Tokenizer:
        return tokenizer(value)

    @classmethod
    def from_documents(cls, documents: Iterable[Any], **options: Any) -> BM25Retriever:
        """As LangChain's own BM25Retriever is made; `options` are the attributes."""
        return cls(documents=documents, **options)

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
        chunks = (
            chunked(doc, size=chunk_size, overlap=chunk_overlap) for doc in read_corpus(corpus)
        )
        return cls(documents=list(chain.from_iterable(chunks)), k=k, tokenizer=tokenizer)

    @cached_property
    def _index(self) -> Bm25Index:
        texts = [doc.page_content for doc in self.documents]
        return Bm25Index(texts, self.tokenizer, "BM25Retriever")

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        best = ((self.documents[place], score) for place, score in self._index.best(query, self.k))
        return [
            doc.model_copy(update={"metadata": {**doc.metadata, "score": score}})
            for doc, score in best
        ]


class ReciprocalRankFusion(BaseRetriever):
    """Merge the lists of several retrievers: a document's score is the sum of weight / (c + rank).

    Attributes:
        retrievers: LangChain retrievers or runnables, or functions from a question to documents;
            synchronous.
        weights: one for each retriever; None for 1 each.
        c: the larger, the less the first ranks stand out.
        k: how many documents to return; None for all.

    Documents are the same if their ids are; a document without id is the one with its text. In one
    list only a document's best rank counts. Ties keep the order of first appearance, list by list.
    Each document returned is as the first list that has it gave it, its score as
    ``metadata["score"]``. An error of a retriever is the fusion's. (Cormack, Clarke and Buettcher,
    SIGIR 2009, where c is 60 and there are no weights.)
    """

    retrievers: list[Any]
    weights: list[float] | None = None
    c: float = 60
    k: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _check(self) -> ReciprocalRankFusion:
        for position, retriever in enumerate(self.retrievers):
            if not is_retriever(retriever) or adapted(retriever).invoke is None:
                raise UsageError(
                    "retrievers[{position}]: {kind} cannot be asked; pass a "
                    "LangChain retriever or runnable, or a synchronous function from a question "
                    "to a list of documents",
                    position=position,
                    kind=type(retriever).__name__,
                )
        fusion_weights(self.weights, len(self.retrievers))
        if not (isfinite(self.c) and self.c >= 0):
            raise UsageError("c: {c!r} is not a finite number of at least 0; 60 is usual", c=self.c)
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        repair = SurrogateRepair()
        lists = []
        for number, retriever in enumerate(self.retrievers, start=1):
            adapter = adapted(retriever)
            callbacks = run_manager.get_child(f"retriever_{number}")
            options = {"config": {"callbacks": callbacks}} if adapter.is_runnable else {}
            assert adapter.invoke is not None  # `_check` has seen to it
            answer = collected(adapter.invoke(query, **options))
            with inside(path=f"retriever {number}"):
                lists.append(documents_of(answer, repair))
        return [
            Document(
                page_content=doc.text or "", id=doc.id, metadata={**doc.metadata, "score": score}
            )
            for doc, score in fuse(lists, self.weights, c=self.c)[: self.k]
        ]


def fuse(
    lists: Sequence[Sequence[Doc]], weights: Sequence[float] | None = None, *, c: float = 60
) -> list[tuple[Doc, float]]:
    """Reciprocal rank fusion of ranked lists, best first, as `ReciprocalRankFusion` does it.

    Raises:
        UsageError: the weights do not fit.
    """
    # A text without id is the first document that has the text.
    of_text: dict[object, object] = {}
    for doc in chain(*lists):
        if doc.id is not None and doc.text is not None:
            of_text.setdefault(Doc(text=doc.text).identity, doc.identity)
    first: dict[object, Doc] = {}
    shares: defaultdict[object, list[float]] = defaultdict(list)
    for docs, weight in zip(lists, fusion_weights(weights, len(lists))):
        ranks: dict[object, int] = {}
        for rank, doc in enumerate(docs, start=1):
            identity = of_text.get(doc.identity, doc.identity)
            first.setdefault(identity, doc)
            ranks.setdefault(identity, rank)
        for identity, rank in ranks.items():
            shares[identity].append(weight / (c + rank))
    # An exact sum: equal shares tie in whatever order they were added.
    fused = [(doc, fsum(shares[identity])) for identity, doc in first.items()]
    return sorted(fused, key=lambda pair: -pair[1])


def fusion_weights(
    weights: Sequence[float] | None, count: int, field: str = "weights"
) -> list[float]:
    """The weights of `count` retrievers; 1 each if none are given. Errors name the `field`.

    Raises:
        UsageError: there are not `count` of them, or they are not usable.
    """
    if count == 0:
        raise UsageError("retrievers: there are none; pass at least one to merge")
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise UsageError(
            "{n_weights} weights for {count} retrievers",
            field=field,
            remedy="pass one for each",
            n_weights=len(weights),
            count=count,
        )
    try:
        numbers = [clean_number(weight, "a weight") or 0.0 for weight in weights]
    except DataError as error:
        raise UsageError(str(error), field=field) from None
    if min(numbers) < 0 or not any(numbers):
        raise UsageError(
            repr(list(weights)),
            field=field,
            remedy="weights must be at least 0, and one of them above",
        )
    return numbers


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
