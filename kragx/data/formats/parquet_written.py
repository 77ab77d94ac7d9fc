"""Gold sets and results written as Parquet: a row a question with nested lists.

Parquet holds each distinct text once in a row group, so chunks that many questions retrieve cost
next to nothing. Metadata, stages and history are JSON: their fields differ from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.jsonl import replacing, to_json
from kragx.data.formats.located import is_address, opened_to_write
from kragx.data.formats.records import RULES_KEY, question_record
from kragx.data.gold import Query
from kragx.data.runs import Retrieved
from kragx.data.search_records import SEARCHES
from kragx.data.text import Mender
from kragx.data.weights import INCLUSION, WEIGHT
from kragx.errors import UsageError, needing

if TYPE_CHECKING:
    import pyarrow as pa

_JSON = ("metadata", "history", "stages")

SAME = "same"
NUMBERED = ("retrieved", "read")
"""Lists whose entries may be numbers: in a struct, as all entries of a list are of one type."""

GROUP = 4096
"""Questions of a row group, which is the least that a worker takes."""

OPTIONS: Mapping[str, Any] = {
    "compression": "zstd",
    # Bytes; beyond it Parquet writes every text in full.
    "dictionary_pagesize_limit": 256 << 20,
    "store_schema": False,
}
"""How kragx writes Parquet."""


def write_questions(
    questions: Iterable[tuple[Query, Retrieved | None]],
    path: str | Path,
    *,
    results: bool = True,
    forbids: bool = False,
    searches: bool | None = False,
    weighs: bool = False,
    rules: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write questions, and what was retrieved for them, into a Parquet file.

    Args:
        questions: the questions, as a stream; a group of them is held at once.
        path: of the file, or its address; what stands there is replaced once all is written.
        results: whether to write what was retrieved.
        forbids: whether to write what is forbidden.
        searches: whether to write searches; None if the first group has any.
        weighs: whether to write weights, and chances of having been drawn.
        rules: of the gold set, by name.

    Raises:
        MissingExtraError: pyarrow is not installed.
        UsageError: the file cannot be written; or searches come behind a group that has none, and
            nobody said so.
    """
    with needing("parquet", "writing Parquet files"):
        import pyarrow as pa
        from pyarrow import parquet
    rows: Iterator[dict[str, Any]] = (_row(question_record(*pair)) for pair in questions)
    first = [*islice(rows, GROUP)] if searches is None else []
    has_searches = bool(searches) or any(SEARCHES in row for row in first)
    rows = chain(first, rows if has_searches else map(_without_searches, rows))
    schema = _schema(results, forbids, has_searches, weighs)
    with _sink(path) as sink, parquet.ParquetWriter(sink, schema, **OPTIONS) as file:
        while group := [*islice(rows, GROUP)]:
            file.write_batch(pa.RecordBatch.from_pylist(group, schema), row_group_size=GROUP)
        if rules:
            file.add_key_value_metadata({RULES_KEY: to_json(rules)})


def _without_searches(row: dict[str, Any]) -> dict[str, Any]:
    """A row, which must have no searches, as those before it have none."""
    if SEARCHES in row:
        raise UsageError(
            f"question {row['query_id']!r} has searches, and the first {GROUP} have none",
            remedy="read a file, in which what comes is known",
        )
    return row


@contextmanager
def _sink(path: str | Path) -> Iterator[Any]:
    if is_address(path):
        with opened_to_write(str(path)) as stream:
            yield stream
    else:
        with replacing(path) as place, place.open("wb") as file:
            yield file


def _schema(results: bool, forbids: bool, searches: bool, weighs: bool) -> pa.Schema:
    import pyarrow as pa

    text, number = pa.large_string(), pa.float64()
    document = {"id": text, "text": text, "score": number, "metadata": text}
    item = {
        "id": text,
        "text": text,
        "grade": number,
        "alternatives": pa.list_(pa.struct(document)),
        "metadata": text,
    }
    query = {
        "query_id": text,
        "query": text,
        "gold": pa.list_(pa.struct(item)),
        "query_type": text,
        "expected_doc_types": pa.list_(text),
        "answerable": pa.bool_(),
        "reference": text,
        "history": text,
        "metadata": text,
    }
    if forbids:
        item = dict.fromkeys(("id", "text", "source", "why", "superseded_by"), text)
        item |= dict.fromkeys(("start", "end"), pa.int64())
        query[FORBIDDEN] = pa.list_(pa.struct(item))
    if weighs:
        query |= {WEIGHT: number, INCLUSION: number}
    answer = {
        "retrieved": pa.list_(pa.struct(document)),
        "seconds": number,
        "error": text,
        "stages": text,
    }
    if searches:
        answer[SEARCHES] = pa.list_(pa.struct(_search(document)))
    return pa.schema(query | (answer if results else {}))


def _search(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a search; a document in it may be the number of another."""
    import pyarrow as pa

    text, whole = pa.large_string(), pa.int64()
    return {
        "query": text,
        "retrieved": pa.list_(pa.struct({SAME: whole, **document})),
        "tool": text,
        "step": whole,
        "seconds": pa.float64(),
        "tokens": whole,
        "error": text,
        "stages": text,
        "read": pa.list_(pa.struct({SAME: whole, "id": text, "text": text})),
    }


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of a results file, or one of its parts, as a row."""
    return {name: _cell(name, value) for name, value in record.items()}


def _cell(name: str, value: Any) -> Any:
    if name in _JSON:
        return Mender().mend(to_json(value))
    if name == "score":
        return None if value is None else float(value)  # in JSON infinity is a name
    if name in NUMBERED and isinstance(value, list):
        return [_row(_numbered(part)) for part in value]
    if isinstance(value, list):
        return [_row(part) if isinstance(part, dict) else _cell(name, part) for part in value]
    return Mender().mend(value) if isinstance(value, str) else value


def _numbered(entry: Any) -> dict[str, Any]:
    """A document, or its number or id, as a struct."""
    if isinstance(entry, dict):
        return entry
    return {SAME: entry} if isinstance(entry, int) else {"id": entry}
