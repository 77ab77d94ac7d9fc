"""Tables with a row for each document that was retrieved, as people export them from a search."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from kragx.data.formats import FORMATS
from kragx.data.problems import Problems
from kragx.data.text import read_number
from kragx.errors import DataError, shorten
from kragx.printing import phrase

_NAMES: Mapping[str, tuple[str, ...]] = {
    "query_id": ("query_id", "qid", "question_id", "질문_id"),
    "query": ("query", "question", "질문"),
    "rank": ("rank", "position", "순위"),
    "score": ("score", "점수"),
    "id": ("doc_id", "docid", "docno", "document_id", "chunk_id", "id", "문서_id"),
    "text": ("text", "chunk", "document", "passage", "content", "텍스트", "본문", "내용"),
}
"""What a column may be called that holds it; spaces, hyphens and capitals make no difference."""

_Rows = Iterator[tuple[int | None, Mapping[str, Any]]]


@dataclass
class _Question:
    """What was retrieved for a question: its first line, its text, each document by its rank.

    Without a rank documents stand by their scores, the highest first; those of one score, or
    without any, as they stand in the table.
    """

    line: int | None
    text: object
    documents: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    ranks: set[float] = field(default_factory=set)


def by_question(
    rows: Iterable[tuple[int | None, Mapping[str, Any]]],
    columns: Mapping[str, str],
    problems: Problems,
) -> _Rows:
    """Rows of one document each as a record a question; any other rows as they are.

    Where no column has ids, a question is its own id, by which evaluations find it.

    A table is one of documents where it has a column of ranks, or of scores and texts, and none
    that only a format of questions has.

    Args:
        rows: by column.
        columns: for a field the column that holds it.
        problems: is told what is wrong.

    Raises:
        DataError: no column says which question it is.
    """
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    fields = _fields_of(first[1], columns)
    are_ranked = "rank" in fields and bool({"id", "text"} & fields.keys())
    fields_mapped = {name: field_name for field_name, name in columns.items()}
    names = {fields_mapped.get(str(name), str(name)) for name in first[1]}
    marks = {mark for form in FORMATS.values() for mark in form.marks}
    is_of_questions = not names.isdisjoint(marks.difference(*_NAMES.values()))
    if is_of_questions or not (are_ranked or {"score", "text"} <= fields.keys()):
        yield from chain([first], rows)
        return
    if not {"query_id", "query"} & fields.keys():
        raise DataError(
            phrase(
                "a row for each document, but no column says of which question: add a column "
                "query_id with the ids of the gold set, or question with its questions"
            ),
            path=problems.file,
        )
    questions: dict[str, _Question] = {}
    for line, row in chain([first], rows):
        _add(line, row, fields, questions, problems)
    for query_id, question in questions.items():
        question.documents.sort(key=lambda entry: entry[0])
        text = {} if question.text is None else {"query": question.text}
        documents = [document for _, document in question.documents]
        yield question.line, {"query_id": query_id, **text, "retrieved": documents}


def _fields_of(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """The column of each field that a table has."""
    called = {"_".join(re.split(r"[\s_-]+", str(name).strip().casefold())): name for name in row}
    fields = {
        field_name: called[name]
        for field_name, names in _NAMES.items()
        for name in [next((name for name in names if name in called), None)]
        if name is not None
    }
    return fields | {name: columns[name] for name in _NAMES if columns.get(name) in row}


def _add(
    line: int | None,
    row: Mapping[str, Any],
    fields: Mapping[str, str],
    questions: dict[str, _Question],
    problems: Problems,
) -> None:
    """Add what a row says, or report what is wrong with it."""
    cells = {name: row.get(column) for name, column in fields.items()}
    key = "query_id" if "query_id" in fields else "query"
    query_id = cells[key]
    if query_id is None:
        problems.add(line, fields[key], "missing; of which question is it?")
        return
    question = questions.setdefault(str(query_id).strip(), _Question(line, cells.get("query")))
    if cells.get("id") is None and cells.get("text") is None:
        name = fields.get("text", fields.get("id"))
        problems.add(
            line, name, "missing; a document needs a text or an id", query_id=str(query_id)
        )
        return
    numbers: dict[str, float] = {}
    for name in ("rank", "score"):
        if cells.get(name) is not None:
            number = read_number(str(cells[name]))
            if number is None:
                message = f"must be a number, not {shorten(cells[name])}"
                problems.add(line, fields[name], message, query_id=str(query_id))
                return
            numbers[name] = number
    if "rank" in fields and "rank" not in numbers:
        problems.add(line, fields["rank"], "missing", query_id=str(query_id))
        return
    place = numbers.get("rank", -numbers.get("score", 0.0))
    if "rank" in fields and place in question.ranks:
        message = f"{cells['rank']} stands twice for the question; each rank has one document"
        problems.add(line, fields["rank"], message, query_id=str(query_id))
        return
    beside = {
        str(name): cell
        for name, cell in row.items()
        if name not in fields.values() and cell is not None
    }
    document = {name: cells[name] for name in ("id", "text") if cells.get(name) is not None}
    if "score" in numbers:
        document["score"] = numbers["score"]
    if beside:
        document["metadata"] = beside
    question.documents.append((place, document))
    question.ranks.add(place)
