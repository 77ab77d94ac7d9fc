"""A slow second reading of results files and TREC files, and the numbers of equal ids by hand."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

METRICS = ("hit_rate@3", "recall@3", "mrr@3")


class RefusedError(Exception):
    """The file is not what it should be."""


@dataclass
class Row:
    """A query: (grade, ids that serve) of each gold item, and ids by rank; None: not answered."""

    id: str
    gold: list[tuple[float, set[str]]]
    docs: list[str] | None
    failed: bool = False


def check(holds: object, what: str = "") -> None:
    """Refuse what does not hold."""
    if not holds:
        raise RefusedError(what)


def numbers(rows: Sequence[Row]) -> dict[str, float]:
    """The means over queries with gold, and how many queries there are of each sort."""
    sums = dict.fromkeys(METRICS, 0.0)
    with_gold = 0
    for row in rows:
        golds = [ids for grade, ids in row.gold if grade > 0]
        if not golds:
            continue
        with_gold += 1
        top = (row.docs or [])[:3]
        ranks = [rank for rank, doc in enumerate(top, 1) if any(doc in ids for ids in golds)]
        sums["hit_rate@3"] += bool(ranks)
        sums["recall@3"] += sum(any(doc in ids for doc in top) for ids in golds) / len(golds)
        sums["mrr@3"] += 1 / ranks[0] if ranks else 0
    check(with_gold, "no query with gold")
    return {
        **{name: value / with_gold for name, value in sums.items()},
        "n_queries": len(rows),
        "n_no_gold": len(rows) - with_gold,
        "n_missing": sum(row.docs is None and not row.failed for row in rows),
        "n_failed": sum(row.failed for row in rows),
    }


def read_results(raw: bytes) -> list[Row]:
    """A results file of the format `gold`, as `match: id` reads it."""
    try:
        text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass")
        values = _values(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError(str(error)) from None
    check(values and all(isinstance(value, dict) for value in values), "no objects")
    rows = [_row(_mended(value)) for value in values]
    check(len({row.id for row in rows}) == len(rows), "an id stands twice")
    return rows


def _values(text: str) -> list[Any]:
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    check(lines, "nothing")
    if not lines[0].lstrip().startswith("["):
        try:
            _loads(lines[0])
        except ValueError:
            return [_loads(text)]  # one object over several lines
        return [_loads(line) for line in lines]
    value = _loads(text)
    return value if isinstance(value, list) else [value]


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    check(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def _mended(value: Any) -> Any:
    """Without lone surrogates."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, list):
        return [_mended(part) for part in value]
    if isinstance(value, dict):
        return _unique([(_mended(key), _mended(part)) for key, part in value.items()])
    return value


_QUERY = {"query_id", "query", "query_type", "expected_doc_types", "answerable", "reference"}
_QUERY |= {"metadata", "gold", "retrieved", "retrieved_chunk_ids", "seconds", "error"}


def _row(record: dict[str, Any]) -> Row:
    check(record.keys() <= _QUERY, "unknown field")
    for name in ("query", "query_type", "reference", "error"):
        check(record.get(name) is None or isinstance(record[name], str), name)
    check(record.get("answerable") in (None, True, False), "answerable")
    check(
        not isinstance(record.get("answerable"), (int, float))
        or record["answerable"] is bool(record["answerable"]),
        "answerable",
    )
    _texts(record.get("expected_doc_types"))
    check(isinstance(record.get("metadata") or {}, dict), "metadata")
    check(record.get("metadata") is None or isinstance(record["metadata"], dict), "metadata")
    seconds = record.get("seconds")
    check(seconds is None or (_finite(seconds) and seconds >= 0), "seconds")
    for name in ("gold", "retrieved"):
        check(isinstance(record.get(name, []), list), name)
    gold = [_gold(item) for item in record.get("gold", [])]
    _check_contradictions(record, gold)
    query_id = _id(record.get("query_id"))
    lists = [name for name in ("retrieved", "retrieved_chunk_ids") if record.get(name)]
    error = record.get("error")
    if error is not None and (error.strip() or not lists):
        check(not lists, "an answer and an error")
        return Row(query_id, gold, None, failed=True)
    docs: list[str] | None = None
    if "retrieved" in record:
        docs = [_document(item, needed=bool(gold)) for item in record["retrieved"]]
        if record.get("retrieved_chunk_ids"):
            own = [item.get("id") for item in record["retrieved"]]
            check(own == record["retrieved_chunk_ids"], "two lists")
    elif record.get("retrieved_chunk_ids") is not None:
        check(isinstance(record["retrieved_chunk_ids"], list), "retrieved_chunk_ids")
        docs = [_id(item) for item in record["retrieved_chunk_ids"]]
    check(not docs or all(ids for _, ids in gold), "gold without an id")
    return Row(query_id, gold, docs)


def _check_contradictions(record: dict[str, Any], gold: list[tuple[float, set[str]]]) -> None:
    wanted = any(grade > 0 for grade, _ in gold)
    check(record.get("answerable") is not False or not wanted, "gold of what has no answer")
    grades: dict[tuple[Any, str, str], float] = {}
    for item, (grade, _) in zip(record.get("gold", []), gold):
        for one in (item, *(item.get("alternatives") or ())):
            text = one["text"] if "text" in one else one.get("page_content")
            check(text is None or text.strip(), "an empty text of gold")
        own, text = item.get("id"), item["text"] if "text" in item else item.get("page_content")
        if own is not None or text is not None:
            key = (
                None if own is None else str(own),
                _normal(text or ""),
                str(item.get("metadata") or {}),
            )
            check(grades.setdefault(key, grade) == grade, "two grades")


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _texts(value: Any) -> None:
    check(value is None or isinstance(value, list), "a list")
    check(all(isinstance(text, str) for text in value or ()), "texts")


def _id(value: Any) -> str:
    check(isinstance(value, (str, int)) and not isinstance(value, bool), "an id")
    check(str(value).strip(), "an empty id")
    return str(value)


def _finite(value: Any) -> bool:
    try:
        return (
            isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        )
    except OverflowError:
        return False


def _own_id(item: Any, fields: set[str]) -> str | None:
    """The id of a document, its own or that of its metadata."""
    check(
        isinstance(item, dict)
        and item.keys() <= {"id", "text", "page_content", "metadata"} | fields
    )
    text = item["text"] if "text" in item else item.get("page_content")
    check(text is None or isinstance(text, str), "text")
    metadata = item.get("metadata")
    check(metadata is None or isinstance(metadata, dict), "metadata")
    if item.get("id") is not None:
        return _id(item["id"])
    other = (metadata or {}).get("id")
    if other is None:
        return None
    return _id(other)


def _gold(item: Any) -> tuple[float, set[str]]:
    own = _own_id(item, {"grade", "alternatives"})
    grade, others = item.get("grade"), item.get("alternatives")
    check(grade is None or _finite(grade), "grade")
    check(others is None or isinstance(others, list), "alternatives")
    ids = {own, *(_own_id(other, {"score"}) for other in others or ())} - {None}
    for other in others or ():
        check(
            other.get("id") is not None or other.get("text", other.get("page_content")) is not None
        )
        _score(other.get("score"))
    check(ids or item.get("text", item.get("page_content")) is not None or others, "no gold")
    return (1.0 if grade is None else float(grade)), ids  # type: ignore[return-value]


def _document(item: Any, *, needed: bool) -> str:
    own = _own_id(item, {"score"})
    _score(item.get("score"))
    text = item["text"] if "text" in item else item.get("page_content")
    check(item.get("id") is not None or text is not None, "neither id nor text")
    check(own is not None or not needed, "a document without an id")
    return own or ""


def _score(value: Any) -> None:
    if value in ("Infinity", "-Infinity"):
        return
    check(value is None or _finite(value) or value in (math.inf, -math.inf), "score")


_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


def read_trec(qrels: bytes, run: bytes) -> list[Row]:
    """Qrels and a run."""
    gold: dict[str, dict[str, float]] = {}
    names = 0
    for columns in _columns(qrels):
        if not names:
            header = [name.lower().replace("_", "-") for name in columns]
            names = 3 if header == ["query-id", "corpus-id", "score"] else 4
            if names == 3:
                continue
        check(len(columns) == names and _NUMBER.fullmatch(columns[-1]), "a line of qrels")
        check(columns[0].strip() and columns[-2].strip(), "an id")
        grade, of_query = float(columns[-1]), gold.setdefault(columns[0], {})
        check(math.isfinite(grade) and of_query.setdefault(columns[-2], grade) == grade, "grade")
    ranked: dict[str, list[tuple[float, bytes]]] = {}
    for columns in _columns(run):
        check(len(columns) >= 6, "a line of a run")
        check(_NUMBER.fullmatch(columns[4]) or _INFINITE.fullmatch(columns[4]), "score")
        check(columns[0].strip() and columns[2].strip(), "an id")
        ranked.setdefault(columns[0], []).append((float(columns[4]), columns[2].encode()))
    check(gold and ranked, "empty")
    return [
        Row(
            query,
            [(grade, {document}) for document, grade in grades.items()],
            [name.decode() for _, name in sorted(ranked[query], reverse=True)]
            if query in ranked
            else None,
        )
        for query, grades in gold.items()
    ]


def _columns(raw: bytes) -> Iterable[list[str]]:
    try:
        lines = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise RefusedError(str(error)) from None
    for line in lines:
        columns = [part for part in re.split("[ \t]", line.strip(" \t\r\n")) if part]
        if columns and not columns[0].startswith("#"):
            yield columns
