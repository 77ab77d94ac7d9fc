"""The one form of a row: what a record says, by column, in cells of CSV and in lines of JSON.

Beside the uids of its question and person stand the question's text and the person's name, which
are enough where somebody writes a row; a row without ``uid`` is new.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kragx.data.documents import Doc
from kragx.data.formats.cells import unguarded
from kragx.ground.errors import DataError, nearest, shorten
from kragx.ground.printing import phrase
from kragx.workshop.state.records import (
    AS_JSON,
    MARKS,
    Judgement,
    Person,
    Question,
    StoredRecord,
    SuggestedDocument,
)
from kragx.workshop.state.state import State

KINDS: Mapping[str, type[StoredRecord]] = {
    "person": Person,
    "question": Question,
    "candidate": SuggestedDocument,
    "judgement": Judgement,
}
"""By the word of a row what record it is, those before that others refer to."""

WORDS: Mapping[str, str] = {
    "person": phrase("people"),
    "question": phrase("questions"),
    "judgement": phrase("judgements"),
    "candidate": phrase("candidates"),
}
"""What they are called where they are counted."""

SHEET = (
    *("record", "question", "passage", "grade", "why", "note", "person", "document", "evidence"),
    *("query_type", "difficulty", "answerable", "reference", "state", "decision"),
    *("uid", "question_uid", "person_uid", "number", "at", "seconds", "purpose", "origin", "role"),
    *("sources", "gold", "metadata", "forbidden", "history", "weight", "inclusion"),
)
"""The columns of a spreadsheet, which has no suggestions."""

COLUMNS = (*SHEET, "detail", "rank", "score")

_COLUMN_OF: Mapping[type[StoredRecord], Mapping[str, str]] = {
    Person: {"name": "person"},
    Question: {"text": "question", "person": "person_uid"},
    SuggestedDocument: {"question": "question_uid"},
    Judgement: {
        "question": "question_uid",
        "person": "person_uid",
        "spans": "evidence",
        "is_decision": "decision",
    },
}
"""By kind the fields whose columns have other names."""

_EMPTY: Mapping[str, Any] = {
    "note": "",
    "decision": False,
    "metadata": {},
    **dict.fromkeys(("sources", "gold", "history", "evidence"), ()),
    **dict.fromkeys(("query_type", "difficulty", "reference", "answerable", "forbidden")),
}
"""What an empty cell says; in other columns it says nothing."""

_WORDS = ("unusable", "later", "undone", *MARKS)
_EXPORTED = "leave it as it was exported"
_TEXTS = ("record", "uid", "question", "question_uid", "person", "person_uid", "document")


@dataclass(frozen=True)
class Row:
    """What a file says of one thing; what it does not say stays as it is, or is usual.

    Attributes:
        kind: of the record.
        place: where in the file it stands.
        values: fields of the record; without ``uid`` it is new.
        question: the text or uid of the question, where `values` does not say it.
        person: the name of the person, where `values` does not say it.
        number: the place among all judgements of the workshop it comes from, whatever a
            spreadsheet has sorted them by.
    """

    kind: type[StoredRecord]
    place: str
    values: Mapping[str, Any]
    question: str = ""
    person: str = ""
    number: float = float("inf")


@dataclass(frozen=True)
class ExportSource:
    """What there is to write.

    Attributes:
        state: of its workshop.
        documents: of its corpus, by id.
        grades: of the scale, with their words.
        person: the uid of whose judgements alone are wanted; None for all.
    """

    state: State
    documents: Mapping[str, Doc]
    grades: Mapping[int, str]
    person: str | None = None

    def name(self, uid: str) -> str:
        """The name of a person, else their uid."""
        person = self.state.people.get(uid)
        return person.name if person else uid

    def text(self, document: str) -> str | None:
        """The text of a document; None if there is none of this id."""
        doc = self.documents.get(document)
        return None if doc is None else doc.text or ""

    def row(self, record: StoredRecord) -> dict[str, Any]:
        """What a record says, by column."""
        kind = type(record)
        row: dict[str, Any] = {"record": next(word for word in KINDS if KINDS[word] is kind)}
        for name, column in _columns_of(kind).items():
            row[column] = getattr(record, name)
        if "person_uid" in row:
            row["person"] = self.name(row["person_uid"])
        if "question_uid" in row:
            row["question"] = self.state.questions[row["question_uid"]].text
        return row | ({"grade": grade_of(record)} if isinstance(record, Judgement) else {})


def grade_of(judgement: Judgement) -> str | int:
    """The word or number of a judgement."""
    return judgement.kind if judgement.grade is None else judgement.grade


def cell(column: str, value: object) -> object:
    """A value as a cell of a spreadsheet; empty where that says the same."""
    if value is None or (column in _EMPTY and value == _EMPTY[column]):
        return None
    if column == "evidence" and isinstance(value, tuple):
        # No spreadsheet takes 3..12 for a date, as it does 3-12.
        return "; ".join(f"{start}..{end}" for start, end in value)
    if column in AS_JSON:
        return json.dumps(value)  # in ASCII, which every encoding holds
    return str(value).lower() if isinstance(value, bool) else value


def of_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """The values of a row of cells, as far as they can be read."""
    columns: dict[str, Any] = {}
    for column, shown in cells.items():
        text = unguarded(shown)
        if text:
            columns[column] = text
        elif column in _EMPTY:
            columns[column] = _EMPTY[column]
        if text and column == "evidence":
            columns[column] = [part.split("..") for part in text.split(";") if part.strip()]
        if text and column in AS_JSON:
            with suppress(ValueError, RecursionError):  # what is no JSON is no list, as is said
                columns[column] = json.loads(text)
    return columns


def row_of(place: str, columns: Mapping[str, Any]) -> Row:
    """What a row says of a record.

    Raises:
        DataError: it is of no kind, or holds what it cannot.
    """
    if unknown := [column for column in columns if column not in COLUMNS]:
        needed = "a judgement needs question or question_uid, document and grade"
        raise mistake(unknown[0], "unknown column", f"{needed}; {nearest(unknown[0], COLUMNS)}")
    for column in _TEXTS:
        if not isinstance(columns.get(column, ""), str):
            raise mistake(column, f"{shorten(columns[column])} is no text", _EXPORTED)
    word = columns.get("record", "").strip().casefold() or "judgement"
    if word not in KINDS:
        raise mistake("record", f"{word!r} is no kind of row", f"write {', '.join(KINDS)}")
    kind = KINDS[word]
    names = _columns_of(kind).items()
    values = {name: columns[column] for name, column in names if column in columns}
    if kind is Judgement:
        values |= _grade(columns.get("grade", ""))
        if values["kind"] in MARKS and not values.get("why"):
            values["why"] = "forbidden"
    try:
        number = float(columns.get("number") or "inf")
    except (TypeError, ValueError, OverflowError):
        raise mistake("number", f"{shorten(columns['number'])} is no number", _EXPORTED) from None
    return Row(kind, place, values, columns.get("question", ""), columns.get("person", ""), number)


def _columns_of(kind: type[StoredRecord]) -> dict[str, str]:
    """By field the column; a judgement's kind and grade are one word or number."""
    names = _COLUMN_OF[kind]
    return {name: names.get(name, name) for name in kind.columns() if name not in ("kind", "grade")}


def _grade(value: object) -> dict[str, Any]:
    """The kind and grade that a word or number stands for."""
    word = str(value).strip().casefold()
    if word in _WORDS:
        return {"kind": word, "grade": None}
    number = word.removesuffix(".0")  # of a column with gaps that another program has read
    if number.isascii() and number.isdecimal() and len(number) < 4:
        return {"kind": "grade", "grade": int(number)}
    remedy = "write a number of the scale, unusable, later or forbidden, or remove the row"
    raise mistake("grade", f"{value!r} is no grade", remedy)


def mistake(column: str, problem: str, remedy: str) -> DataError:
    """What is wrong with a row, and what to do."""
    return DataError(problem, field=column, remedy=remedy)
