"""The retrievers of langchain-classic that are made of others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document

from kragx import aretrieve, retrieve
from kragx.data import Retrieved

from .chains import Fixed, inputs, letters, questions

pytestmark = pytest.mark.integration
retrievers = pytest.importorskip("langchain_classic.retrievers")


class First(BaseDocumentCompressor):
    """Keeps the first documents, in reverse."""

    n: int

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Any = None
    ) -> Sequence[Document]:
        """The first ones, the last of them first."""
        return list(reversed(documents[: self.n]))


def compressed() -> Any:
    """Two members, fused, then compressed."""
    members = [Fixed(letters="abcd", name="bm25"), Fixed(letters="cdef", name="dense")]
    fused = retrievers.EnsembleRetriever(retrievers=members, weights=[0.5, 0.5])
    return retrievers.ContextualCompressionRetriever(
        base_compressor=First(n=3), base_retriever=fused
    )


@pytest.mark.parametrize("is_async", [False, True])
def test_ensemble_and_compression(is_async: bool) -> None:
    """The members, the fused list and the compressed one, each made of the one before."""
    if is_async:
        run = asyncio.run(aretrieve(compressed(), questions(4), stages=True))
    else:
        run = retrieve(compressed(), questions(4), stages=True, concurrency=2)
    for answer in run.results.values():
        assert letters(answer) == {
            "bm25": "abcd",
            "dense": "cdef",
            "EnsembleRetriever": "cdabef",
            "ContextualCompressionRetriever": "adc",
        }
        assert inputs(answer) == {
            "bm25": (),
            "dense": (),
            "EnsembleRetriever": ("bm25", "dense"),
            "ContextualCompressionRetriever": ("EnsembleRetriever",),
        }


def test_several_wordings_of_a_question() -> None:
    """MultiQueryRetriever: a stage for each wording, and none for the model that wrote them."""
    from langchain_core.language_models import FakeListChatModel

    model = FakeListChatModel(responses=["one wording\nanother"])
    base = Fixed(letters="ab", own={"another": "bc"})
    chain = retrievers.MultiQueryRetriever.from_llm(base, llm=model)
    answer: Retrieved = retrieve(chain, questions(1), stages=True)["q0"]
    assert letters(answer) == {"Fixed": "ab", "Fixed 2": "bc", "MultiQueryRetriever": "abc"}
    assert inputs(answer)["MultiQueryRetriever"] == ("Fixed", "Fixed 2")
