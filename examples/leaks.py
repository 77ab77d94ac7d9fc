"""Two shops search one index: what a search without a filter, and with filters, brings to whom.

    python examples/leaks.py FOLDER

Asks BM25 each question of examples/data/leaks three times: over all documents, over those of who
asks and those of nobody, and over those of them that are valid on the day. Writes the answers as
results files, as one's own service would record them with the rights of who asks: open.jsonl,
by-tenant.jsonl and careful.jsonl. docs/leaks.md says what they show.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.documents import Document

from kragx import Doc, Query, read_corpus, read_dataset
from kragx.data.formats.jsonl import write_records
from kragx.retrievers import BM25Retriever

DATA = Path(__file__).parent / "data" / "leaks"
DAY = "2026-03-02"


def is_own(doc: Doc, query: Query) -> bool:
    """Whether a document is of who asks, or of nobody."""
    return doc.metadata.get("tenant") in (None, query.metadata["tenant"])


def is_valid(doc: Doc, query: Query) -> bool:
    """The same of those that are valid on the day."""
    return is_own(doc, query) and doc.metadata.get("valid_until", DAY) >= DAY


SEARCHES: dict[str, Callable[[Doc, Query], bool]] = {
    "open": lambda doc, query: True,
    "by-tenant": is_own,
    "careful": is_valid,
}


def answers(may_see: Callable[[Doc, Query], bool], k: int = 5) -> list[dict[str, Any]]:
    """For each question the ids of what is found among the documents that it may see."""
    corpus = read_corpus(DATA / "corpus.jsonl")
    records = []
    for query in read_dataset(DATA / "gold.jsonl"):
        documents = [Document(doc.text or "", id=doc.id) for doc in corpus if may_see(doc, query)]
        retriever = BM25Retriever(documents=documents, k=k, tokenizer={"name": "char", "n": 4})
        ids = [document.id for document in retriever.invoke(query.text or "")]
        records.append({"query_id": query.id, "retrieved_chunk_ids": ids})
    return records


def main() -> None:
    """Write the three files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    folder.mkdir(parents=True, exist_ok=True)
    for name, may_see in SEARCHES.items():
        write_records(answers(may_see), folder / f"{name}.jsonl")


if __name__ == "__main__":
    main()
