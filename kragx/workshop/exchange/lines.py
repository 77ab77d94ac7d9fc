"""JSON Lines: every record of a workshop but releases, and what `kragx gold move` leaves open."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import read_records, write_records
from kragx.ground.errors import DataError, nearest, shorten
from kragx.ground.printing import phrase
from kragx.workshop.exchange.rows import ExportSource, FileRows, Mistakes, Report, Row
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.state.records import (
    Judgement,
    Person,
    Question,
    Release,
    StoredRecord,
    SuggestedDocument,
)

_KINDS: Mapping[str, type[StoredRecord]] = {
    "person": Person,
    "question": Question,
    "candidate": SuggestedDocument,
    "judgement": Judgement,
}


def write_jsonl(source: ExportSource, path: Path) -> Report:
    """Write every record with its fields; of one person, without what others judged."""
    names = {kind: name for name, kind in _KINDS.items()}
    counts: Counter[type[StoredRecord]] = Counter()
    records = []
    for record in source.state.store.after({}):
        if isinstance(record, Judgement) and source.person not in (None, record.person):
            continue
        counts[type(record)] += 1
        if name := names.get(type(record)):
            fields = {column: getattr(record, column) for column in record.columns()}
            records.append({"record": name, **fields})
    write_records(records, path)
    left_out = phrase("{n} releases: they are files of the folder", n=counts[Release])
    words = (phrase("people"), phrase("questions"), phrase("candidates"), phrase("judgements"))
    n_written: dict[str, int] = {what: counts[kind] for what, kind in zip(words, _KINDS.values())}
    return n_written, [left_out] if counts[Release] else []


def read_jsonl(path: Path) -> FileRows:
    """Read what `write_jsonl` wrote.

    Raises:
        DataError: lines are of another kind; all are listed.
    """
    mistakes, rows = Mistakes(str(path)), []
    for number, line in read_records(path):
        try:
            rows.append(_row(number, line))
        except DataError as error:
            mistakes.add(f"line {number}", error)
    mistakes.refuse()
    return FileRows(rows, is_history=True)


def _row(number: int, line: dict[str, Any]) -> Row:
    name = line.pop("record", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        remedy = f"write {', '.join(_KINDS)}"
        raise DataError(f"{shorten(name)} is no kind of record", field="record", remedy=remedy)
    if unknown := line.keys() - set(kind.columns()):
        remedy = nearest(min(unknown), kind.columns())
        raise DataError("unknown field", field=min(unknown), remedy=remedy)
    return Row(kind, f"line {number}", line, number=number)


def read_doubts(path: Path) -> FileRows:
    """Read gold that nobody could place: a question each, a candidate for each chunk it may be in.

    Raises:
        DataError: lines are of another kind; all are listed.
    """
    mistakes = Mistakes(str(path))
    questions: dict[str, dict[str, Any]] = {}
    candidates: list[Row] = []
    n_without = 0
    for number, line in read_records(path):
        place = f"line {number}"
        if not _is_doubt(line):
            problem = f"{shorten(line)} is no gold that is left"
            remedy = "name the file that kragx gold move wrote"
            mistakes.add(place, DataError(problem, remedy=remedy))
            continue
        uid, gold, places = line["query_id"], line["gold"], line["candidates"]
        values = {"uid": uid, "text": line["query"], "origin": "file", "gold": []}
        question = questions.setdefault(uid, values)
        if "." not in line["field"]:  # an alternative is no item of its own
            marks = {"moved": line["verdict"]} | ({"old_id": gold["id"]} if "id" in gold else {})
            item = {"text": gold["text"], "grade": gold.get("grade", 1), "metadata": marks}
            question["gold"].append(item)
        n_without += not places
        for chunk in places:
            values = {"question": uid, "document": chunk["id"], "origin": ORIGIN}
            values |= {"detail": gold["text"], "score": float(chunk["share"])}
            row = Row(SuggestedDocument, place, values, question=line["query"], number=number)
            candidates.append(row)
    mistakes.refuse()
    rows = [Row(Question, f"query {uid}", values) for uid, values in questions.items()]
    remark = phrase(
        "{n} gold texts are in no chunk: search for what answers the question now, or leave them "
        "as they are",
        n=n_without,
    )
    return FileRows([*rows, *candidates], adds_only=True, remarks=(remark,) if n_without else ())


def _is_doubt(line: object) -> bool:
    match line:
        case {
            "query_id": str(),
            "query": str(),
            "field": str(),
            "verdict": "unsure" | "lost",
            "gold": {"text": str()},
            "candidates": list() as places,
        }:
            return all(
                isinstance(chunk, dict)
                and isinstance(chunk.get("id"), str)
                and isinstance(chunk.get("share"), (int, float))
                for chunk in places
            )
    return False
