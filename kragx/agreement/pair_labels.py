"""Labels of pairs: which retrieved document truly carries which gold item.

| format    | what                                                                              |
|-----------|-----------------------------------------------------------------------------------|
| `pairs`   | JSON Lines or CSV: query_id, doc_id or rank, gold_id or gold (optional), label      |
| `matrix`  | JSON Lines as ``kragx match`` writes them: query_id, matched (n x m)                |
| `offsets` | JSON Lines: query_id, chunk_chars (n), gold_chars (m), overlap_chars (n x m)        |
| `qrels`   | TREC qrels: query, document id, grade; of a document with any of the query's gold   |
| `store`   | a judgement store: a judge's grades and people's                                    |

`rank` and `gold` count from 1. A label is 0 or 1, true or false, or a grade.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from kragx.data.formats.jsonl import open_bytes, read_records
from kragx.data.formats.trec import read_qrels
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, nearest, shorten
from kragx.judging import Store
from kragx.judging.exchange import scale_of

LabelFormat = Literal["pairs", "matrix", "offsets", "qrels", "store"]
FORMATS: tuple[LabelFormat, ...] = get_args(LabelFormat)

_FIELDS = ("query_id", "doc_id", "rank", "gold_id", "gold", "label")
_SAID = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a document and a gold item, or all gold of a query.

    Attributes:
        grade: 0 and 1, or a grade.
        query_id: the query; None if texts alone say which pair it is (a store).
        rank, doc_id, doc_text: one of them says which document.
        gold, gold_id, gold_text: one of them says which gold item; none stands for any of them.
    """

    grade: float
    query_id: str | None = None
    rank: int | None = None
    doc_id: str | None = None
    doc_text: str | None = None
    gold: int | None = None
    gold_id: str | None = None
    gold_text: str | None = None


def read_labels(path: str | Path, format: str | None = None) -> tuple[list[Label], float]:  # noqa: A002
    """Read labels, and the least grade that is a match unless the user says otherwise.

    Args:
        path: the file.
        format: one of the table above; None to recognise it.

    Raises:
        UsageError: there is no such format.
        DataError: the file cannot be read or holds something else.
    """
    if format is None:
        format = _recognised(Path(path))  # noqa: A001
    if format not in FORMATS:
        raise UsageError(f"--labels-format: unknown value {format!r}; {nearest(format, FORMATS)}")
    match format:
        case "store":
            labels, positive = list(_of_store(Path(path))), 2.0
        case "qrels":
            labels = [
                Label(gold.grade, query.id, doc_id=gold.id)
                for query in read_qrels(path)
                for gold in query.gold
            ]
            positive = 1.0
        case "pairs":
            labels, positive = list(_of_pairs(Path(path))), 1.0
        case _:
            read = _of_matrix if format == "matrix" else _of_offsets
            labels = [
                label
                for number, record in read_records(path, Mender())
                for label in read(record, f"{path}:{number}")
            ]
            positive = 1.0
    if not labels:
        raise DataError(f"{path}: no label in it")
    return labels, positive


def _recognised(path: Path) -> LabelFormat:
    with open_bytes(path) as file:
        start = file.read(16)
    if start.startswith(b"SQLite format 3"):
        return "store"
    if path.suffix.lower() == ".csv":
        return "pairs"
    if not start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return "qrels"
    for number, record in read_records(path, Mender()):
        for name, found in (("matched", "matrix"), ("overlap_chars", "offsets")):
            if name in record:
                return found  # type: ignore[return-value]  # both are formats
        if "label" in record:
            return "pairs"
        raise DataError(
            f"{path}:{number}: not a line of labels: it has neither 'label' nor 'matched' nor "
            "'overlap_chars'"
        )
    raise DataError(f"{path}: no label in it")


def _of_pairs(path: Path) -> Iterator[Label]:
    rows: Iterable[tuple[int, Mapping[str, Any]]]
    if path.suffix.lower() == ".csv":
        with open_bytes(path) as file:
            try:
                text = file.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                raise DataError(f"{path}: not UTF-8; save the file as UTF-8") from None
        rows = enumerate(csv.DictReader(io.StringIO(text)), start=2)
    else:
        rows = read_records(path, Mender())
    for number, row in rows:
        where = f"{path}:{number}"
        given = {
            str(key): value
            for key, value in row.items()
            if value is not None and str(value).strip() != ""
        }
        for name in given:
            if name not in _FIELDS:
                raise DataError(f"{where}: unknown field {name!r}; {nearest(name, _FIELDS)}")
        for name in ("query_id", "label"):
            if name not in given:
                raise DataError(f"{where}: {name!r} is missing")
        if ("rank" in given) == ("doc_id" in given):
            raise DataError(f"{where}: give either 'doc_id' or 'rank', which counts from 1")
        if "gold" in given and "gold_id" in given:
            raise DataError(f"{where}: give either 'gold_id' or 'gold', which counts from 1")
        yield Label(
            _grade(given["label"], where),
            str(given["query_id"]),
            rank=_position(given, "rank", where),
            doc_id=_text(given.get("doc_id")),
            gold=_position(given, "gold", where),
            gold_id=_text(given.get("gold_id")),
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _position(given: Mapping[str, Any], name: str, where: str) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise DataError(f"{where}: {name!r} must be a whole number from 1 on, not {value!r}")
    return number


def _grade(value: Any, where: str) -> float:
    said = _SAID.get(str(value).strip().lower())
    try:
        grade = float(value) if said is None else said
    except (TypeError, ValueError):
        grade = float("nan")
    if grade - grade != 0:
        raise DataError(
            f"{where}: 'label' must be 0 or 1, true or false, or a grade, not {value!r}"
        )
    return grade


def _of_matrix(record: Mapping[str, Any], where: str) -> Iterator[Label]:
    query_id = _query_id(record, where)
    for rank, row in enumerate(_rows(record, "matched", where), start=1):
        for gold, value in enumerate(row, start=1):
            if value is not None:  # null: not known
                yield Label(_grade(value, where), query_id, rank=rank, gold=gold)


def _of_offsets(record: Mapping[str, Any], where: str) -> Iterator[Label]:
    query_id = _query_id(record, where)
    chunks, golds = (_numbers(record, name, where) for name in ("chunk_chars", "gold_chars"))
    rows = _rows(record, "overlap_chars", where)
    if len(rows) != len(chunks) or any(len(row) != len(golds) for row in rows):
        raise DataError(
            f"{where}: 'overlap_chars' must be {len(chunks)} lists (as 'chunk_chars') of "
            f"{len(golds)} numbers (as 'gold_chars')"
        )
    for rank, (row, chunk) in enumerate(zip(rows, chunks), start=1):
        for gold, (shared, length) in enumerate(zip(row, golds), start=1):
            # A match by offsets: at least half of the characters of either one are shared.
            match = shared > 0 and (2 * shared >= chunk or 2 * shared >= length)
            yield Label(float(match), query_id, rank=rank, gold=gold)


def _query_id(record: Mapping[str, Any], where: str) -> str:
    if record.get("query_id") is None:
        raise DataError(f"{where}: 'query_id' is missing")
    return str(record["query_id"])


def _rows(record: Mapping[str, Any], name: str, where: str) -> list[list[Any]]:
    rows = record.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise DataError(f"{where}: {name!r} must be a list of lists, not {shorten(rows)}")
    return rows


def _numbers(record: Mapping[str, Any], name: str, where: str) -> list[float]:
    values = record.get(name)
    if not isinstance(values, list) or not all(isinstance(each, (int, float)) for each in values):
        raise DataError(f"{where}: {name!r} must be a list of numbers, not {shorten(values)}")
    return values


def _of_store(path: Path) -> Iterator[Label]:
    """Grades of support, which are of a document and a gold text; without any, of relevance."""
    if not path.exists():
        raise DataError(f"{path}: there is no judgement store")
    with Store(path) as store:
        graded = {
            record["key"]: record
            for record in store.records()
            # A probe asks of documents that were not retrieved.
            if record["question"] is not None and "grade" in record and record["pairs"]
        }
        support = any(each["question"]["asks"] == "support" for each in graded.values())
        records = _of_one_judge(path, graded, "support" if support else "relevance")
        settled = store.settled(list(records))
        people = {} if support else store.all_labels()
    for key, record in records.items():
        grade = settled[key].grade
        question = record["question"]
        if grade is None:
            continue
        if support:
            yield Label(grade, doc_text=question["document"], gold_text=question["gold"])
            continue
        for query_id, doc_id in record["pairs"]:
            if (query_id, doc_id) not in people:
                yield Label(grade, query_id, doc_text=question["document"])
    for (query_id, doc_id), grade in people.items():
        yield Label(grade, query_id, doc_id=doc_id)


def _of_one_judge(
    path: Path, records: Mapping[str, Mapping[str, Any]], asks: str
) -> dict[str, Mapping[str, Any]]:
    """The questions of this kind, by key; of those that were repeated the first time.

    Raises:
        DataError: several models or rubrics graded, which are not one set of labels.
    """
    kept = {key: record for key, record in records.items() if record["question"]["asks"] == asks}
    questions = [each["question"] for each in kept.values()]
    models = {str(each["client"].get("model")) for each in questions}
    rubrics = {scale_of(each["rubric"]["id"]) for each in questions}
    for option, found in (("model", models), ("rubric", rubrics)):
        if len(found) > 1:
            raise DataError(
                f"{path}: holds grades by several {option}s ({', '.join(sorted(found))}), which "
                "are not one set of labels; write those of one, for example with kragx judgements "
                f"export one.qrels --store {path} --asks {asks} --{option} "
                f"{min(found)}, and calibrate with --labels one.qrels --positive 2"
            )
    first: dict[str, str] = {}
    for key, record in sorted(kept.items(), key=lambda each: each[1]["question"]["repeat"]):
        question = record["question"]
        same = [question[name] for name in ("query", "document", "gold", "reference")]
        first.setdefault(json.dumps(same), key)
    return {key: kept[key] for key in first.values()}
