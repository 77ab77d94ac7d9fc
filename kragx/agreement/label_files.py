"""Labels in files, one reader for each format.

| format    | what                                                                              |
|-----------|-----------------------------------------------------------------------------------|
| `pairs`   | JSON Lines or CSV: query_id, doc_id or rank, gold_id or gold (optional), label      |
| `matrix`  | JSON Lines as ``kragx match`` writes them: query_id, matched (n x m)                |
| `offsets` | JSON Lines: query_id, chunk_chars (n), gold_chars (m), overlap_chars (n x m)        |
| `qrels`   | TREC qrels: query, document id, grade; of a document with any of the query's gold   |
| `store`   | a judgement store: a judge's grades and people's                                    |
| `gold`    | a gold or results file of any format: the grades of its gold                        |

`rank` and `gold` count from 1. A label is 0 or 1, true or false, or a grade.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kragx.data import Mender
from kragx.data.formats.jsonl import open_bytes, read_records
from kragx.data.formats.tabular import read_csv
from kragx.data.formats.trec import iter_qrels
from kragx.errors import DataError, nearest, shorten
from kragx.judging import Store
from kragx.judging.records import one_judge

_FIELDS = ("query_id", "doc_id", "rank", "gold_id", "gold", "label")
_WORDS = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_MARKS = {"matched": "matrix", "overlap_chars": "offsets", "label": "pairs"}
_SQLITE = b"SQLite format 3\x00"
_GOLD_SETS = (".json", ".json.gz", ".tsv", ".xlsx", ".xls", ".parquet")


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a document and a gold item, or all gold of a query.

    Attributes:
        grade: 0 and 1, or a grade.
        query_id: the query; None if texts alone say which pair it is (a store).
        rank, doc_id, doc_text: one of them says which document.
        gold, gold_id, gold_text: one of them says which gold item; none stands for any of them.
        place: where in the file it stands.
    """

    grade: float
    query_id: str | None = None
    rank: int | None = None
    doc_id: str | None = None
    doc_text: str | None = None
    gold: int | None = None
    gold_id: str | None = None
    gold_text: str | None = None
    place: str = ""


def recognised(path: Path) -> str:
    """The format of a file of labels; one that is no other is a gold set.

    Raises:
        DataError: the file cannot be read.
    """
    if str(path) == "-":
        return "qrels"
    with open_bytes(path) as file:
        start = file.read(16)
    if start == _SQLITE:
        return "store"
    name = path.name.lower()
    if name.endswith(_GOLD_SETS):
        return "gold"
    if not name.endswith(".csv") and not start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return "qrels" if start.strip() else "pairs"
    _, record = next(_records(path), (0, {}))
    return next((name for mark, name in _MARKS.items() if mark in record), "gold")


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return read_csv(path) if path.suffix.lower() == ".csv" else read_records(path, Mender())


def _of_qrels(path: Path) -> Iterator[Label]:
    for line, query, document, grade in iter_qrels(path):
        yield Label(grade, query, doc_id=document, place=f"line {line}")


def _by_record(
    read: Callable[[Mapping[str, Any], str], Iterator[Label]], path: Path
) -> Iterator[Label]:
    for line, record in _records(path):
        try:
            yield from read(record, f"line {line}")
        except DataError as error:
            raise error.within(path=f"{path}:{line}") from None


def _of_pair(row: Mapping[str, Any], place: str) -> Iterator[Label]:
    fields = {
        str(name): str(value)
        for name, value in row.items()
        if value is not None and str(value).strip() != ""
    }
    for name in fields:
        if name not in _FIELDS:
            raise DataError(f"unknown field {name!r}; {nearest(name, _FIELDS)}")
    for name in ("query_id", "label"):
        if name not in fields:
            raise DataError(f"{name!r} is missing")
    if ("rank" in fields) == ("doc_id" in fields):
        raise DataError("give either 'doc_id' or 'rank', which counts from 1")
    if "gold" in fields and "gold_id" in fields:
        raise DataError("give either 'gold_id' or 'gold', which counts from 1")
    yield Label(
        _grade(fields["label"]),
        fields["query_id"],
        rank=_position(fields, "rank"),
        doc_id=fields.get("doc_id"),
        gold=_position(fields, "gold"),
        gold_id=fields.get("gold_id"),
        place=place,
    )


def _position(fields: Mapping[str, str], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise DataError(f"{name!r} must be a whole number from 1 on, not {value!r}")
    return number


def _grade(value: Any) -> float:
    try:
        grade = _WORDS.get(str(value).strip().lower())
        grade = float(value) if grade is None else grade
    except (TypeError, ValueError):
        grade = float("nan")
    if grade - grade != 0:
        raise DataError(f"'label' must be 0 or 1, true or false, or a grade, not {value!r}")
    return grade


def _of_matrix(record: Mapping[str, Any], place: str) -> Iterator[Label]:
    query_id = _query_id(record)
    for rank, row in enumerate(_list(record, "matched", list, "lists"), start=1):
        for gold, value in enumerate(row, start=1):
            if value is not None:  # null: not known
                yield Label(_grade(value), query_id, rank=rank, gold=gold, place=place)


def _of_offsets(record: Mapping[str, Any], place: str) -> Iterator[Label]:
    query_id = _query_id(record)
    chunks, golds = (
        _list(record, name, (int, float), "numbers") for name in ("chunk_chars", "gold_chars")
    )
    rows = _list(record, "overlap_chars", list, "lists")
    if len(rows) != len(chunks) or any(len(row) != len(golds) for row in rows):
        raise DataError(
            f"'overlap_chars' must be {len(chunks)} lists (as 'chunk_chars') of {len(golds)} "
            "numbers (as 'gold_chars')"
        )
    for rank, (row, chunk) in enumerate(zip(rows, chunks), start=1):
        for gold, (shared, length) in enumerate(zip(row, golds), start=1):
            match = shares_half(shared, chunk, length)
            yield Label(float(match), query_id, rank=rank, gold=gold, place=place)


def shares_half(shared: float, chunk: float, gold: float) -> bool:
    """A match by offsets: at least half of the characters of either one are shared."""
    return shared > 0 and 2 * shared >= min(chunk, gold)


def _query_id(record: Mapping[str, Any]) -> str:
    if record.get("query_id") is None:
        raise DataError("'query_id' is missing")
    return str(record["query_id"])


def _list(record: Mapping[str, Any], name: str, kinds: type | tuple[type, ...], what: str) -> Any:
    entries = record.get(name)
    if not isinstance(entries, list) or not all(isinstance(entry, kinds) for entry in entries):
        raise DataError(f"{name!r} must be a list of {what}, not {shorten(entries)}")
    return entries


READERS: Mapping[str, Callable[[Path], Iterator[Label]]] = {
    "pairs": partial(_by_record, _of_pair),
    "matrix": partial(_by_record, _of_matrix),
    "offsets": partial(_by_record, _of_offsets),
    "qrels": _of_qrels,
}
"""The reader of each format; gold sets have their own, a store needs to be told what is meant."""

FORMATS = (*READERS, "store", "gold")


def of_store(
    path: Path, asks: str | None, model: str | None, rubric: str | None
) -> Iterator[Label]:
    """Grades of support, which are of a document and a gold text; without any, of relevance.

    Raises:
        DataError: there is no such store.
        UsageError: several models or rubrics graded, which are not one set of labels.
    """
    if not path.exists():
        raise DataError(f"{path}: there is no judgement store")
    kinds = ("support", "relevance") if asks is None else (asks,)
    with Store(path) as store:
        judged = (one_judge(store, kind, model, rubric) for kind in kinds)
        records = _once(next(filter(None, judged), {}))
        support = any(record["question"]["asks"] == "support" for record in records.values())
        settled = store.settled(list(records))
        people = {} if support else store.labels()
    for key, record in records.items():
        grade, question = settled[key].grade, record["question"]
        if grade is not None and support:
            yield Label(grade, doc_text=question["document"], gold_text=question["gold"])
        elif grade is not None:
            for query_id, doc_id in record["pairs"]:
                if (query_id, doc_id) not in people:
                    yield Label(grade, query_id, doc_text=question["document"])
    for (query_id, doc_id), grade in people.items():
        yield Label(grade, query_id, doc_id=doc_id)


def _once(records: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Of questions that were repeated the first time."""
    first: dict[str, str] = {}
    for key in sorted(records, key=lambda key: records[key]["question"]["repeat"]):
        question = records[key]["question"]
        texts = [question[name] for name in ("query", "document", "gold", "reference")]
        first.setdefault(json.dumps(texts), key)
    return {key: records[key] for key in first.values()}
