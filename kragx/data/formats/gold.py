"""Gold files and results files, kragx's own format.

A gold file's line:

    {"query_id", "query"?, "gold": [{"id"?, "text"?, "grade"?, "alternatives"?, "metadata"?}],
     "query_type"?, "expected_doc_types"?, "answerable"?, "reference"?, "metadata"?}

A results file's line is the same with ``"retrieved": [{"id"?, "text"?, "score"?, "metadata"?}]``
and optionally ``"seconds"`` and ``"error"``. Without ``retrieved`` the query is missing (or failed,
when there is an ``error``); ``[]`` says that the retriever found nothing. Where ids are enough,
``"retrieved_chunk_ids"`` lists them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Kind, Read
from kragx.data.formats.jsonl import write_records
from kragx.data.gold import GoldDataset, Query
from kragx.data.runs import Retrieved, Run

QUERY_FIELDS: Mapping[str, Kind] = {
    "query_id": "word",
    "query": "text",
    "query_type": "word",
    "expected_doc_types": "ids",
    "answerable": "flag",
    "reference": "text",
    "metadata": "json",
    "gold": "json",
}
RESULT_FIELDS: Mapping[str, Kind] = {
    "retrieved": "json",
    "retrieved_chunk_ids": "ids",
    "seconds": "number",
    "error": "text",
}


def _read(fields: Fields) -> Read:
    """Its query, and what was retrieved for it."""
    fields.only()
    query = fields.query(fields.id("query_id"), fields.text("query"), fields.golds())
    yield query, fields.retrieved()


GOLD = Format(
    "gold",
    fields={**QUERY_FIELDS, **RESULT_FIELDS},
    marks=("gold", "retrieved"),
    read=_read,
)
"""The format of gold and results files."""


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
