"""A spreadsheet of a workshop's people, questions and judgements, to be read and filled in.

It has a row for each, with the question's text and the passage beside each judgement; a row without
``uid`` is new.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.cells import csv_line, unguarded
from kragx.data.formats.jsonl import open_text
from kragx.data.formats.tabular import read_csv
from kragx.ground.errors import DataError, nearest, shorten
from kragx.ground.printing import phrase
from kragx.workshop.exchange.rows import (
    WORDS,
    ExportSource,
    FileRows,
    Mistakes,
    Report,
    Row,
    grade_word,
    text_of,
)
from kragx.workshop.state.records import MARKS, Judgement, Person, Question, StoredRecord

MOST_CELL = 32_767
"""Characters that Excel keeps of a cell; of a passage no more are written."""

_COLUMNS = (
    *("record", "question", "passage", "grade", "why", "note", "person", "document", "evidence"),
    *("query_type", "difficulty", "answerable", "reference", "state", "decision"),
    *("uid", "question_uid", "person_uid", "number", "at", "seconds", "purpose", "origin", "role"),
    *("sources", "gold", "metadata", "forbidden"),
)
_KINDS: Mapping[str, type[StoredRecord]] = {
    "person": Person,
    "question": Question,
    "judgement": Judgement,
    "": Judgement,
}
_ROWS = {
    "person": phrase("person rows"),
    "question": phrase("question rows"),
    "judgement": phrase("judgement rows"),
}
_EMPTY: Mapping[str, Any] = {
    "note": "",
    **dict.fromkeys(("query_type", "difficulty", "reference", "answerable", "forbidden")),
    "sources": [],
    "gold": [],
    "metadata": {},
}
"""What an empty cell says of a question."""

_ELSEWHERE = {"person", "question", "grade", "kind", "name", "text", "spans", "is_decision"}
"""Fields that stand in columns of other names, or are written in a way of their own."""

_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def write_csv(source: ExportSource, path: Path) -> Report:
    """Write people, questions and judgements, in UTF-8 with a mark, as Excel wants it."""
    counts: Counter[str] = Counter()
    with open_text(path, "utf-8-sig") as file:
        file.write(csv_line(_COLUMNS))
        for row in _sheet(source):
            file.write(csv_line(row.get(name) for name in _COLUMNS))
            counts[_ROWS[str(row["record"])]] += 1
    n_suggested = sum(map(len, source.state.candidates.values()))
    left_out = phrase("{n} suggested pairs: --form jsonl has them", n=n_suggested)
    return counts, [left_out] if n_suggested else []


def _sheet(source: ExportSource) -> Iterator[dict[str, object]]:
    state = source.state
    for person in state.people.values():
        yield {"record": "person", "person": person.name, **_common(person)}
    for question in state.questions.values():
        values = {"record": "question", "question": question.text, "person_uid": question.person}
        yield values | {"person": source.name(question.person)} | _common(question)
    judgements = (record for record in state.store.after({}) if isinstance(record, Judgement))
    for number, judgement in enumerate(judgements, start=1):
        if source.person in (None, judgement.person):
            yield {
                "record": "judgement",
                "question": state.questions[judgement.question].text,
                "passage": (text_of(source.documents, judgement.document) or "")[:MOST_CELL],
                "grade": grade_word(judgement),
                "person": source.name(judgement.person),
                "evidence": "; ".join(f"{start}..{end}" for start, end in judgement.spans),
                "decision": _cell(judgement.is_decision or None),
                "question_uid": judgement.question,
                "person_uid": judgement.person,
                "number": number,
                **_common(judgement),
            }


def _common(record: StoredRecord) -> dict[str, object]:
    """The cells of the fields whose columns have their names."""
    names = [name for name in record.columns() if name not in _ELSEWHERE]
    cells = {name: _cell(getattr(record, name)) for name in names}
    # Of what is forbidden nothing is not the same as that nobody has looked.
    return cells | ({"forbidden": "[]"} if getattr(record, "forbidden", None) == () else {})


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, Mapping)):
        return json.dumps(value) if value else None  # in ASCII, which every encoding holds
    return value


def read_sheet(path: Path) -> FileRows:
    """Read what `write_csv` wrote, or a table with columns of these names.

    Raises:
        DataError: it is no such table, or cells hold what they cannot: all of these are listed.
    """
    mistakes, rows = Mistakes(str(path)), []
    # Rows as a spreadsheet counts them, since passages have many lines.
    for number, (_, cells) in enumerate(read_csv(path), start=2):
        if unknown := [name for name in cells if name not in _COLUMNS]:
            needed = "a judgement needs question or question_uid, document and grade"
            remedy = f"{needed}; {nearest(unknown[0], _COLUMNS)}"
            raise DataError("unknown column", path=f"{path}:1", field=unknown[0], remedy=remedy)
        try:
            rows.append(_row(f"row {number}", {name: unguarded(c) for name, c in cells.items()}))
        except DataError as error:
            mistakes.add(f"row {number}", error)
    mistakes.refuse()
    return FileRows(rows)


def _row(place: str, cells: Mapping[str, str]) -> Row:
    word = cells.get("record", "").strip().casefold()
    if word not in _KINDS:
        remedy = "write person, question or judgement"
        raise DataError(f"{word!r} is no kind of row", field="record", remedy=remedy)
    kind, text, person = _KINDS[word], cells.get("question"), cells.get("person")
    values: dict[str, Any] = {
        name: _value(name, cell)
        for name, cell in cells.items()
        if name in kind.columns() and name not in _ELSEWHERE and cell != ""
    }
    if uid := cells.get("person_uid", "").strip():
        values["person"] = uid
    if kind is Person:
        return Row(kind, place, values | {"name": person or ""})
    if kind is Question:
        empty = {name: value for name, value in _EMPTY.items() if name in cells}
        return Row(kind, place, empty | values | {"text": text or ""}, person=person)
    values |= _grade(cells.get("grade", ""))
    if values["kind"] in MARKS and not values.get("why"):
        values["why"] = "forbidden"
    if "note" in cells:
        values["note"] = cells["note"]
    if "evidence" in cells:
        values["spans"] = _spans(cells["evidence"])
    if "decision" in cells:
        values["is_decision"] = _value("answerable", cells["decision"] or "false")
    if uid := cells.get("question_uid", "").strip():
        values["question"] = uid
    return Row(kind, place, values, text, person, _value("number", cells.get("number") or "inf"))


def _grade(cell: str) -> dict[str, Any]:
    """The kind and grade that the word or number of a cell stands for."""
    word = cell.strip().casefold()
    if word in WORDS:
        return {"kind": word, "grade": None}
    number = word.removesuffix(".0")  # of a column with gaps that another program has read
    if number.isascii() and number.isdecimal() and len(number) < 4:
        return {"kind": "grade", "grade": int(number)}
    remedy = "write a number of the scale, unusable, later or forbidden, or remove the row"
    raise DataError(f"{cell!r} is no grade", field="grade", remedy=remedy)


def _value(name: str, cell: str) -> Any:
    """The value of a cell that is not empty."""
    try:
        match name:
            case "answerable":
                return _TRUTH[cell.strip().casefold()]
            case "seconds" | "number":
                return float(cell)
            case "sources" | "gold" | "metadata" | "forbidden":
                return json.loads(cell)
    except (KeyError, ValueError):
        remedy = "write true or false" if name == "answerable" else "leave it as it was exported"
        raise DataError(f"{shorten(cell)} cannot be read", field=name, remedy=remedy) from None
    return cell


def _spans(cell: str) -> list[list[int]]:
    """Stretches as ``3..12``, which no spreadsheet takes for a date, as it does ``3-12``."""
    spans = []
    for part in filter(None, map(str.strip, cell.split(";"))):
        ends = [end.strip() for end in part.split("..")]
        if len(ends) != 2 or not all(end.isascii() and end.isdecimal() for end in ends):
            remedy = "write from-to in characters of the passage, as 0..25; 40..61"
            raise DataError(f"{shorten(part)} is no stretch", field="evidence", remedy=remedy)
        spans.append([int(end) for end in ends])
    return spans
