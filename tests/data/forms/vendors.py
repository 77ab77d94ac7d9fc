"""The ten forms of databases, as their clients give them; none needs a server."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .content import FOUND, QUESTIONS, TEXTS, Form, Given
from .rag import STORED, _vector, asked, by_question, dataset

Found = Sequence[tuple[str, float]]


def _chroma(name: str, **options: Any) -> Any:
    """A collection in memory that holds the texts; equal vectors make a tie."""
    import chromadb

    client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
    collection = client.get_or_create_collection(name, **options)
    if not collection.count():
        vectors = [_vector(text) for text in TEXTS.values()]
        collection.add(ids=[*TEXTS], documents=[*TEXTS.values()], embeddings=vectors)
    return collection


def _chroma_answers(folder: Path) -> Given:
    """One query a question; what is not there for a filter is an empty list."""
    collection = _chroma("answers", embedding_function=None)
    answers = {
        q: collection.query(
            query_embeddings=[_vector(QUESTIONS[q])],
            n_results=4,
            where_document={"$contains": "nowhere"} if q == "q2" else None,
        )
        for q in ("q1", "q2", "q4")
    }
    lists = {q: answer["documents"][0] for q, answer in answers.items()}
    return Given(dataset(), answers, lists=lists)


def _chroma_batch(folder: Path) -> Given:
    collection = _chroma("batch", embedding_function=None)
    vectors = [_vector(text) for text in QUESTIONS.values()]
    answer = collection.query(query_embeddings=vectors, n_results=3)
    return Given(dataset(), answer, lists=dict(zip(QUESTIONS, answer["documents"])))


def _chroma_collection(folder: Path) -> Given:
    from chromadb import EmbeddingFunction

    class Letters(EmbeddingFunction[Any]):
        def __init__(self) -> None:
            pass

        def __call__(self, input: Any) -> Any:  # noqa: A002  # its name there
            return [_vector(text) for text in input]

    collection = _chroma("collection", embedding_function=Letters())
    lists = {
        q: (collection.query(query_texts=[text])["documents"] or [[]])[0]
        for q, text in QUESTIONS.items()
    }
    return Given(dataset(), collection, lists=lists)


def _qdrant_points(own: Found) -> list[Any]:
    """What a collection in memory answers: vectors are chosen for the scores."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:")
    params = models.VectorParams(size=2, distance=models.Distance.DOT)
    client.create_collection("texts", vectors_config=params)
    client.upsert(
        "texts",
        [
            models.PointStruct(id=int(name[1:]), vector=[score, 0.0], payload={"text": TEXTS[name]})
            for name, score in own
        ]
        or [models.PointStruct(id=99, vector=[-1.0, 0.0], payload={"text": ""})],
    )
    answer = client.query_points("texts", query=[1.0, 0.0], score_threshold=0.0)
    return [answer, *answer.points]


def _qdrant(only_points: bool) -> Any:
    def given(folder: Path) -> Given:
        answers = {q: _qdrant_points(own) for q, own in FOUND.items()}
        lists = {q: [p.payload["text"] for p in points] for q, (_, *points) in answers.items()}
        found = {q: points if only_points else answer for q, (answer, *points) in answers.items()}
        return Given(dataset(), found, lists=lists)

    return given


def _weaviate(own: Found) -> Any:
    from weaviate.collections.classes.internal import MetadataReturn, Object, QueryReturn

    return QueryReturn(
        objects=[
            Object(
                uuid=uuid.uuid5(uuid.NAMESPACE_OID, name),
                metadata=MetadataReturn(distance=1.0 - score),
                properties={"text": TEXTS[name], "page": 3},
                references=None,
                vector={},
                collection="Texts",
            )
            for name, score in own
        ]
    )


def _elasticsearch(own: Found) -> Any:
    from elastic_transport import ApiResponseMeta, HttpHeaders, NodeConfig, ObjectApiResponse

    node = NodeConfig("http", "localhost", 9200)
    meta = ApiResponseMeta(
        status=200, http_version="1.1", headers=HttpHeaders(), duration=0.01, node=node
    )
    hits = [
        {"_index": "texts", "_id": name, "_score": score, "_source": {"text": TEXTS[name]}}
        for name, score in own
    ]
    total = {"value": len(hits), "relation": "eq"}
    body = {"took": 1, "timed_out": False, "hits": {"total": total, "hits": hits}}
    return ObjectApiResponse(body=body, meta=meta)


def _elastic_client() -> Any:
    from elasticsearch import Elasticsearch

    return Elasticsearch("http://localhost:9200")


def _pinecone(own: Found) -> Any:
    from pinecone import QueryResponse, ScoredVector

    matches = [
        ScoredVector(id=name, score=score, metadata={"text": TEXTS[name]}) for name, score in own
    ]
    return QueryResponse(matches=matches)


def _pinecone_records(own: Found) -> Any:
    from pinecone.models.vectors.search import (
        Hit,
        SearchRecordsResponse,
        SearchResult,
        SearchUsage,
    )

    hits = [Hit(id_=name, score_=score, fields={"chunk_text": TEXTS[name]}) for name, score in own]
    return SearchRecordsResponse(result=SearchResult(hits=hits), usage=SearchUsage(read_units=1))


VENDORS = [
    Form("answers of Chroma", "chromadb", _chroma_answers),
    Form("an answer of Chroma to all questions", "chromadb", _chroma_batch, STORED),
    Form("a collection of Chroma", "chromadb", _chroma_collection, STORED),
    Form("answers of Qdrant", "qdrant_client", _qdrant(only_points=False)),
    Form("points of Qdrant", "qdrant_client", _qdrant(only_points=True)),
    Form("answers of Weaviate", "weaviate", by_question(_weaviate)),
    Form("answers of Elasticsearch", "elasticsearch", by_question(_elasticsearch)),
    Form(
        "a client of Elasticsearch",
        "elasticsearch",
        asked(_elastic_client),
        says="lambda question:",
    ),
    Form("matches of Pinecone", "pinecone", by_question(_pinecone)),
    Form("records of Pinecone", "pinecone", by_question(_pinecone_records)),
]
