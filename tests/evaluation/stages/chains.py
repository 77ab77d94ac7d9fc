"""Chains of retrievers whose steps return what a test tells them to."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from kragx import GoldDataset
from kragx.data import Retrieved

DOCS = {
    letter: Document(f"passage {letter}", id=letter, metadata={"n": n})
    for n, letter in enumerate("abcdefgh")
}


class Fixed(BaseRetriever):
    """Returns the documents whose letters it was given; to a question in `own`, those."""

    letters: str
    own: dict[str, str] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return of(self.own.get(query, self.letters))


class Broken(BaseRetriever):
    """Fails."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise ConnectionError("no index")


def of(letters: str) -> list[Document]:
    """The documents of some letters."""
    return [DOCS[letter] for letter in letters]


def questions(n: int) -> GoldDataset:
    """As many questions, each with one gold item."""
    return GoldDataset.from_documents(
        {f"q{i}": [{"id": "a"}] for i in range(n)}, queries=[f"question {i}" for i in range(n)]
    )


def letters(answer: Retrieved) -> dict[str, str]:
    """What each stage of an answer returned, by its name."""
    return {stage.name: "".join(doc.id or "" for doc in stage.documents) for stage in answer.stages}


def inputs(answer: Retrieved) -> dict[str, tuple[str, ...]]:
    """The inputs of each stage, by its name."""
    return {stage.name: stage.inputs for stage in answer.stages}
