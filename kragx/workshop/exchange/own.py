"""The forms that hold a workshop's questions and judgements as they are: JSON, and a spreadsheet.

Of JSON each record is an object with its fields. A spreadsheet has a row for each person, question
and judgement, with the question's text and the passage beside each judgement, so that it can be
read and filled in as it is; a row without ``uid`` is new.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.cells import csv_line, unguarded
from kragx.data.formats.jsonl import foreign_json, open_bytes, open_text, to_json
from kragx.data.formats.tabular import read_csv
from kragx.data.text import Mender
from kragx.errors import DataError, inside, nearest, shorten
from kragx.printing import phrase
from kragx.workshop.exchange.rows import (
    Mistakes,
    Row,
    Rows,
    Source,
    Written,
    grade_values,
    grade_word,
    named,
)
from kragx.workshop.state.records import Candidate, Judgement, Person, Question, Record, Release

VERSION = 1
_TABLES: tuple[type[Record], ...] = (Person, Question, Candidate, Judgement)

MOST_CELL = 32_767
"""Characters that Excel keeps of a cell."""

_COLUMNS = (
    *("record", "question", "passage", "grade", "note", "person", "document", "evidence"),
    *("query_type", "difficulty", "answerable", "reference", "state", "decision"),
    *("uid", "question_uid", "person_uid", "number", "at", "seconds", "purpose", "origin", "role"),
    *("sources", "gold", "metadata"),
)
_KINDS: Mapping[str, type[Record]] = {
    "person": Person,
    "question": Question,
    "judgement": Judgement,
    "": Judgement,
}
_EMPTY: Mapping[str, Any] = {
    "note": "",
    "query_type": None,
    "difficulty": None,
    "reference": None,
    "answerable": None,
    "sources": [],
    "gold": [],
    "metadata": {},
}
"""What an empty cell says of a question."""

_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def write_json(source: Source, path: Path) -> Written:
    """Write everything but releases, which are files of their own."""
    whole: dict[str, Any] = {"kragx_workshop": VERSION, "name": source.name}
    whole |= {kind.table: [] for kind in _TABLES}
    n_releases = 0
    for record in source.history():
        if isinstance(record, Release):
            n_releases += 1
        else:
            whole[record.table].append({name: getattr(record, name) for name in record.columns()})
    with open_text(path) as file:
        file.write(to_json(whole, indent=1) + "\n")
    left_out = phrase("{n} releases: they are files of the folder", n=n_releases)
    counts = {kind.table: len(whole[kind.table]) for kind in _TABLES}
    return Written(counts, [left_out] if n_releases else [])


def read_json(path: Path) -> Rows:
    """Read what `write_json` wrote.

    Raises:
        DataError: it is no such file.
    """
    whole = json_of(path)
    if not isinstance(whole, dict) or "kragx_workshop" not in whole:
        problem = "'kragx_workshop' is missing, which kragx gold export writes"
        raise DataError(problem, path=str(path), remedy="name another --form")
    if whole["kragx_workshop"] != VERSION:
        problem = f"{shorten(whole['kragx_workshop'])}: written by a later kragx"
        raise DataError(problem, path=str(path), field="kragx_workshop", remedy="update this one")
    rows = []
    for kind in _TABLES:
        records = whole.get(kind.table, [])
        if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
            raise DataError("a list of objects is expected", path=str(path), field=kind.table)
        for number, values in enumerate(records):
            place = f"{kind.table}[{number}]"
            if unknown := values.keys() - set(kind.columns()):
                name = min(unknown)
                hint = nearest(name, kind.columns())
                raise DataError("unknown field", path=f"{path}:{place}", field=name, remedy=hint)
            rows.append(Row(kind, place, values, number=number))
    return Rows(rows, is_whole=True)


def json_of(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        DataError: it is none.
    """
    with inside(path=str(path)), open_bytes(path) as file:
        try:
            return Mender().mend_within(foreign_json(file.read().decode("utf-8-sig"), strict=True))
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"not valid JSON: {error}") from None


def write_csv(source: Source, path: Path) -> Written:
    """Write people, questions and judgements, in UTF-8 with a mark, as Excel wants it."""
    state, n_long = source.state, 0
    counts: Counter[str] = Counter()
    with open_text(path, "utf-8-sig") as file:
        file.write(csv_line(_COLUMNS))
        for row in _sheet(source):
            cells = [row.get(name) for name in _COLUMNS]
            n_long += sum(isinstance(cell, str) and len(cell) > MOST_CELL for cell in cells)
            file.write(csv_line(cells))
            counts[f"{row['record']} rows"] += 1
    left_out = []
    if n_suggested := sum(map(len, state.candidates.values())):
        left_out.append(phrase("{n} suggested pairs: --form json has them", n=n_suggested))
    n_versions = sum(isinstance(record, (Person, Question)) for record in source.history())
    if n_versions > len(state.people) + len(state.questions):
        left_out.append(phrase("earlier wordings of questions and names: --form json has them"))
    if n_long:
        left_out.append(
            phrase(
                "Excel cuts {n} cells that are longer than {most:,} characters; other programs do "
                "not",
                n=n_long,
                most=MOST_CELL,
            )
        )
    return Written(counts, left_out)


def _sheet(source: Source) -> Iterator[dict[str, object]]:
    state = source.state
    for person in state.people.values():
        yield {"record": "person", "person": person.name, **_common(person)}
    for question in state.questions.values():
        author = named(state.people.get(question.person), question.person)
        values = {"record": "question", "question": question.text, "person": author}
        yield values | {"person_uid": question.person} | _common(question)
    judgements = (record for record in source.history() if isinstance(record, Judgement))
    for number, judgement in enumerate(judgements, start=1):
        question = state.questions[judgement.question]
        yield {
            "record": "judgement",
            "question": question.text,
            "passage": (source.text(judgement.document) or "")[:MOST_CELL],
            "grade": grade_word(judgement),
            "person": named(state.people.get(judgement.person), judgement.person),
            "evidence": "; ".join(f"{start}..{end}" for start, end in judgement.spans),
            "decision": _cell(judgement.is_decision or None),
            "question_uid": judgement.question,
            "person_uid": judgement.person,
            "number": number,
            **_common(judgement),
        }


_OWN = {"person", "question", "grade", "kind", "name", "text", "spans", "is_decision"}


def _common(record: Record) -> dict[str, object]:
    """The cells of the fields whose columns have their names."""
    names = [name for name in record.columns() if name not in _OWN]
    return {name: _cell(getattr(record, name)) for name in names}


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, Mapping)):
        return json.dumps(value) if value else None  # in ASCII, which every encoding holds
    return value


def read_sheet(path: Path) -> Rows:
    """Read what `write_csv` wrote, or a table with columns of these names.

    Raises:
        DataError: it is no such table, or cells hold what they cannot: all of these are listed.
    """
    mistakes = Mistakes(str(path))
    rows = []
    # Rows as a spreadsheet counts them, since passages have many lines.
    for number, (_, cells) in enumerate(read_csv(path), start=2):
        if unknown := [name for name in cells if name not in _COLUMNS]:
            hint = nearest(unknown[0], _COLUMNS)
            raise DataError("unknown column", path=f"{path}:1", field=unknown[0], remedy=hint)
        values = {name: unguarded(cell) for name, cell in cells.items()}
        try:
            rows.append(_row(f"row {number}", values))
        except DataError as error:
            mistakes.add(f"row {number}", error.field, error.problem, error.remedy)
    mistakes.refuse()
    is_whole = any(row.kind is Person for row in rows)
    return Rows(rows, is_whole)


def _row(place: str, cells: Mapping[str, str]) -> Row:
    word = cells.get("record", "").strip().casefold()
    if word not in _KINDS:
        remedy = "write person, question or judgement"
        raise DataError(f"{word!r} is no kind of row", field="record", remedy=remedy)
    kind = _KINDS[word]
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        if name in kind.columns() and name not in _OWN and cell != "":
            values[name] = _read(name, cell)
    if uid := cells.get("person_uid", "").strip():
        values["person"] = uid
    own = {"number": _read("number", cells.get("number") or "inf"), "person": cells.get("person")}
    if kind is Person:
        return Row(kind, place, values | {"name": cells.get("person", "")}, **own)
    if kind is Question:
        stated = {name: value for name, value in _EMPTY.items() if name in cells}
        return Row(kind, place, stated | values | {"text": cells.get("question", "")}, **own)
    grade = grade_values(cells.get("grade", ""))
    if grade is None:
        raise DataError(
            f"{cells.get('grade', '')!r} is no grade",
            field="grade",
            remedy="write a number of the scale, unusable or later, or remove the row",
        )
    stated = {"note": ""} if "note" in cells else {}
    if "evidence" in cells:
        stated["spans"] = _spans(cells["evidence"])
    if "decision" in cells:
        stated["is_decision"] = bool(_read("answerable", cells["decision"] or "false"))
    if uid := cells.get("question_uid", "").strip():
        values["question"] = uid
    return Row(kind, place, grade | stated | values, question=cells.get("question"), **own)


def _read(name: str, cell: str) -> Any:
    """The value of a cell that is not empty."""
    try:
        match name:
            case "answerable" | "is_decision":
                return _TRUTH[cell.strip().casefold()]
            case "seconds" | "number":
                return float(cell)
            case "sources" | "gold" | "metadata":
                return json.loads(cell)
    except (KeyError, ValueError):
        remedy = {"answerable": "write true or false", "seconds": "write a number"}
        text = remedy.get(name, "leave it as it was exported")
        raise DataError(f"{shorten(cell)} cannot be read", field=name, remedy=text) from None
    return cell


def _spans(cell: str) -> list[list[int]]:
    """Stretches as ``3..12``, which no spreadsheet takes for a date, as it does ``3-12``."""
    spans = []
    for part in filter(None, map(str.strip, cell.split(";"))):
        start, _, end = (text.strip() for text in part.partition(".."))
        if not (start.isascii() and start.isdecimal() and end.isascii() and end.isdecimal()):
            remedy = "write from-to in characters of the passage, as 0..25; 40..61"
            raise DataError(f"{shorten(part)} is no stretch", field="evidence", remedy=remedy)
        spans.append([int(start), int(end)])
    return spans
