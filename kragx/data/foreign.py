"""Documents of other tools and the lists of their answers, by shape: none of these is imported.

An answer keeps the order in which its tool gave it. Where that is by distance, smaller being
nearer, a document has no score, and the distance in its metadata.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kragx.ground.errors import DataError

TEXTS = ("text", "page_content", "content", "chunk_text", "chunk", "passage", "document", "body")
"""What the text is called among the stored fields of a database's document, the likeliest first."""

DISTANCE = "distance"
"""In the metadata of a document: how far it is from the question."""


@dataclass(frozen=True)
class DocumentShape:
    """Documents of one tool: how they are told, and where their fields are, as paths (`at`).

    Attributes:
        marks: what all of them have, and no others.
        id, text, score, metadata: paths.
        distance: the path of what is smaller for a nearer document.
        stored: the path of a mapping with the text under one of the `TEXTS`; the rest is metadata.
    """

    marks: tuple[str, ...]
    id: str = "id"
    text: str = ""
    score: str = "score"
    metadata: str = ""
    distance: str = ""
    stored: str = ""

    def fields(self, value: object) -> dict[str, Any]:
        """The fields of a document: id, text, score and metadata."""
        text, metadata = at(value, self.text), at(value, self.metadata)
        if self.stored:
            metadata = dict(at(value, self.stored) or {})
            name = next((name for name in TEXTS if isinstance(metadata.get(name), str)), "")
            text = metadata.pop(name, None)
            inner = metadata.get("metadata")
            if isinstance(inner, Mapping) and len(metadata) == 1:  # as LangChain stores it
                metadata = dict(inner)
        if (distance := at(value, self.distance)) is not None:
            metadata = {**(metadata or {}), DISTANCE: distance}
        return {
            "id": at(value, self.id),
            "text": text() if callable(text) else text,
            "score": at(value, self.score),
            "metadata": metadata,
        }


DOCUMENTS = (
    DocumentShape(
        ("node.node_id", "node.get_content"),
        id="node.node_id",
        text="node.get_content",
        metadata="node.metadata",
    ),
    DocumentShape(
        ("node_id", "get_content"), id="node_id", text="get_content", metadata="metadata"
    ),
    DocumentShape(("content", "meta"), text="content", metadata="meta"),
    DocumentShape(("id", "score", "payload"), stored="payload"),
    DocumentShape(
        ("uuid", "properties"),
        id="uuid",
        score="metadata.score",
        distance="metadata.distance",
        stored="properties",
    ),
    DocumentShape(("_id", "_source"), id="_id", score="_score", stored="_source"),
    DocumentShape(("_id", "_score", "fields"), id="_id", score="_score", stored="fields"),
    DocumentShape(("id", "score", "fields"), stored="fields"),
    DocumentShape(("id", "score", "values"), stored="metadata"),
)
"""Of LlamaIndex, with a score and without; Haystack; Qdrant; Weaviate; Elasticsearch; Pinecone,
whose records come as mappings or objects, and whose vectors in a form of their own."""

_STORED = tuple(shape for shape in DOCUMENTS if shape.stored)

_LISTS = (
    *("points", "objects", "body.hits.hits", "hits.hits", "matches", "result.hits"),
    "source_nodes",
)
"""Where answers of Qdrant, Weaviate, Elasticsearch, Pinecone and LlamaIndex have documents."""

_ABSENT = object()


def at(value: Any, path: str, absent: Any = None) -> Any:
    """What stands at names separated by dots, keys or attributes; `absent` where nothing does."""
    if not path:  # lest a pydantic model look for an attribute "", which takes long
        return absent
    for name in path.split("."):
        if type(value) is not dict and not isinstance(value, Mapping):
            value = getattr(value, name, absent)
        else:
            value = value.get(name, absent)
    return value


def foreign_fields(value: object) -> dict[str, Any] | None:
    """The fields (`id`, `text`, `score`, `metadata`) of another tool's document, if it is one.

    A mapping is one where it is a database's; any other has these fields by their own names.
    """
    if type(value) in (str, list):
        return None
    if hasattr(value, "page_content"):
        # LangChain's, as most documents in Python are: read without a look at the table.
        about = getattr(value, "metadata", None)
        doc_id = getattr(value, "id", None)
        return {"id": doc_id, "text": value.page_content, "metadata": about}
    for shape in _STORED if isinstance(value, Mapping) else DOCUMENTS:
        if all(at(value, mark, _ABSENT) is not _ABSENT for mark in shape.marks):
            return shape.fields(value)
    return None


def answer_list(answer: object) -> Sequence[Any] | None:
    """The documents in a database's answer to one question; None of whatever is no such answer.

    Raises:
        DataError: it answers several questions.
    """
    if isinstance(answer, (str, list, tuple)):
        return None
    if (lists := chroma_lists(answer)) is not None:
        if len(lists) != 1:
            raise DataError(
                "an answer to {n_lists} questions; one is expected for each", n_lists=len(lists)
            )
        return lists[0]
    lists_at = (at(answer, path) for path in _LISTS)
    return next((entries for entries in lists_at if isinstance(entries, (list, tuple))), None)


def chroma_lists(answer: object) -> list[list[dict[str, Any]]] | None:
    """The documents for each question that a query of Chroma had; None of any other answer."""
    if not isinstance(answer, Mapping) or not {"ids", "distances"} <= answer.keys():
        return None
    ids = answer["ids"]
    names = ("documents", "metadatas", "distances")
    parts = [answer.get(name) or [[None] * len(own) for own in ids] for name in names]
    return [
        [
            {
                "id": doc_id,
                "text": text,
                "metadata": {**(about or {}), **({} if far is None else {DISTANCE: far})},
            }
            for doc_id, text, about, far in zip(*columns)
        ]
        for columns in zip(ids, *parts)
    ]
