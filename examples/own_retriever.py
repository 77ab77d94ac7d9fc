"""Evaluate your own LangChain retriever in a notebook or script.

    python examples/own_retriever.py

`ShopRetriever` stands for yours: anything with `invoke`, or a function from a question to
documents, sync or async, goes into the same place.
"""

from __future__ import annotations

from pathlib import Path

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kragx import Evaluation, evaluate, read_corpus

DATA = Path(__file__).parent / "data" / "shop_en"


class ShopRetriever(BaseRetriever):
    """Ranks paragraphs by how many of the question's words they hold."""

    documents: list[Document]
    k: int = 5

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        words = set(query.lower().split())
        return sorted(
            self.documents,
            key=lambda document: -len(words & set(document.page_content.lower().split())),
        )[: self.k]


def main() -> Evaluation:
    """Ask the retriever every question of the gold set and print the numbers."""
    documents = [
        Document(page_content=paragraph, metadata={"source": document.id})
        for document in read_corpus(DATA / "corpus.jsonl")
        for paragraph in (document.text or "").split("\n\n")
    ]
    result = evaluate(
        str(DATA / "gold.jsonl"),
        ShopRetriever(documents=documents),
        match="overlap",  # the chunks have no ids, so their texts decide
        metrics=["hit_rate@1", "hit_rate@5", "mrr@5", "recall@5", "ndcg@5"],
    )
    result.print()
    return result


if __name__ == "__main__":
    main()
