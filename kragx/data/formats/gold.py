"""Gold files and results files, kragx's own format.

A gold file's line:

    {"query_id", "query"?, "gold": [{"id"?, "text"?, "grade"?, "alternatives"?, "metadata"?}],
     "query_type"?, "expected_doc_types"?, "answerable"?, "reference"?, "metadata"?}

A results file's line is the same with ``"retrieved": [{"id"?, "text"?, "score"?, "metadata"?}]``
and optionally ``"seconds"`` and ``"error"``. Without ``retrieved`` the query is missing (or failed,
when there is an ``error``); ``[]`` says that the retriever found nothing. Where ids are enough,
``"retrieved_chunk_ids"`` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Kind, Read
from kragx.data.formats.jsonl import write_records
from kragx.data.gold import GoldDataset, Query
from kragx.data.runs import Retrieved, Run

QUERY_FIELDS = {
    "query_id": Kind.WORD,
    "query": Kind.TEXT,
    "query_type": Kind.WORD,
    "expected_doc_types": Kind.IDS,
    "answerable": Kind.FLAG,
    "reference": Kind.TEXT,
    "metadata": Kind.JSON,
    "gold": Kind.JSON,
}
RESULT_FIELDS = {
    "retrieved": Kind.JSON,
    "retrieved_chunk_ids": Kind.IDS,
    "seconds": Kind.NUMBER,
    "error": Kind.TEXT,
}


class GoldFormat(Format):
    """The format of gold and results files."""

    name = "gold"
    fields: ClassVar = QUERY_FIELDS | RESULT_FIELDS
    marks = ("gold", "retrieved")

    def read(self, fields: Fields) -> Read:
        """Its query, and what was retrieved for it."""
        fields.only(self.fields)
        query = Query(
            id=fields.id("query_id"),
            text=fields.text("query"),
            gold=tuple(fields.golds()),
            query_type=fields.text("query_type"),
            expected_doc_types=fields.names("expected_doc_types"),
            answerable=fields.flag("answerable"),
            reference=fields.text("reference"),
            metadata=fields.metadata(),
        )
        yield query, fields.retrieved()


def write_gold(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold file that `read_gold` reads back as the same queries."""
    write_records((query_record(query) for query in dataset), path)


def write_results(dataset: GoldDataset, run: Run, path: str | Path) -> None:
    """Write a results file: the gold set with what the run retrieved."""

    def records() -> Iterator[dict[str, Any]]:
        for query in dataset:
            answer = run.results.get(query.id)
            yield query_record(query) | ({} if answer is None else answer_record(answer))

    write_records(records(), path)


def query_record(query: Query) -> dict[str, Any]:
    """A query as a gold file holds it."""
    gold = [
        _present(
            id=item.id,
            text=item.text,
            grade=None if item.grade == 1.0 else item.grade,
            alternatives=[doc_record(other) for other in item.alternatives],
            metadata=dict(item.metadata),
        )
        for item in query.gold
    ]
    return {
        "query_id": query.id,
        **_present(query=query.text),
        "gold": gold,
        **_present(
            query_type=query.query_type,
            expected_doc_types=list(query.expected_doc_types),
            answerable=query.answerable,
            reference=query.reference,
            metadata=dict(query.metadata),
        ),
    }


def answer_record(answer: Retrieved) -> dict[str, Any]:
    """What was retrieved for a query, or why nothing was, as a results file holds it."""
    if answer.error is None:
        record: dict[str, Any] = {"retrieved": [doc_record(doc) for doc in answer.documents]}
    else:
        record = {"error": answer.error}
    return record | _present(seconds=answer.seconds)


def doc_record(doc: Doc) -> dict[str, Any]:
    """A document as a results file holds it."""
    return _present(id=doc.id, text=doc.text, score=doc.score, metadata=dict(doc.metadata))


def _present(**fields: Any) -> dict[str, Any]:
    """The fields that hold something; an empty text is something, an empty list is not."""
    return {
        name: value for name, value in fields.items() if value is not None and value not in ([], {})
    }
