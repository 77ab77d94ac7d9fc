"""`read_dataset`: a gold set in any of the formats that kragx knows, recognised by its content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from kragx.data.formats import tabular, trec
from kragx.data.formats.jsonl import (
    doc_record,
    file_name,
    open_bytes,
    query_record,
    read_records,
    unique_keys,
    write_records,
)
from kragx.data.formats.llamaindex import is_llamaindex, read_whole
from kragx.data.formats.positions import Place, lines_of
from kragx.data.formats.problems import Level, Problem, Problems
from kragx.data.formats.records import GRADES, READERS, Fields, format_of
from kragx.data.gold import GoldDataset, Query
from kragx.data.runs import Retrieved, Run
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, nearest, shorten

FORMATS = (*READERS, "llamaindex", "qrels")
"""Every format of a gold set; CSV, Excel, Parquet and JSON hold rows of the first ones."""

_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".parquet")


@dataclass(frozen=True)
class Loaded:
    """What a file holds, mistakes and all.

    Attributes:
        name: the file's name.
        format: one of `FORMATS`; ``unknown`` where every row is broken.
        queries: each with its line; those that could be read.
        retrieved: what the file says was retrieved, by query id (results files and ragas rows).
        problems: what is wrong with the rest.
        n_replaced_surrogates: lone surrogates replaced by U+FFFD.
    """

    name: str
    format: str
    queries: tuple[tuple[int | None, Query], ...]
    retrieved: Mapping[str, Retrieved]
    problems: tuple[Problem, ...]
    n_replaced_surrogates: int = 0


def read_dataset(
    source: object,
    format: str | None = None,  # noqa: A002  # the word of the config and of people
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
    name: str | None = None,
    version: str | None = None,
) -> GoldDataset:
    """Read a gold set.

    Args:
        source: the path of a file (JSON Lines, JSON, CSV, TSV, Excel, Parquet, qrels); a DataFrame;
            or a list of mappings.
        format: one of `FORMATS`; None recognises it by its fields.
        columns: of tables, for each field the column that holds it:
            ``{"query_id": "번호", "relevant_chunk_ids": "정답"}``.
        encoding: of CSV; None tries UTF-8, then cp949.
        name: names the set in results; None for the file's name.
        version: the set's version, recorded in results.

    Raises:
        DataError: the file has mistakes; the first is named, and how many more there are.
        UsageError: an unknown format, field or encoding.
        MissingExtraError: the file needs a package that is not installed.
    """
    loaded = load(source, format, columns, encoding=encoding)
    dataset, _ = _usable(loaded)
    return replace(dataset, name=name or dataset.name, version=version)


def read_rows(
    source: object,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
) -> tuple[GoldDataset, Run]:
    """Read rows that hold both gold and what was retrieved: results files and ragas rows.

    Raises:
        DataError: as `read_dataset`; or no row says what was retrieved.
    """
    loaded = load(source, format, columns, encoding=encoding)
    dataset, run = _usable(loaded)
    if not len(run):
        raise DataError(f"{dataset.name}: no row says what was retrieved; this is a gold set alone")
    return dataset, run


def _usable(loaded: Loaded) -> tuple[GoldDataset, Run]:
    errors = [each for each in loaded.problems if each.level == "error"]
    if errors:
        rest = f" (and {len(errors) - 1} more; 'kragx gold validate' lists them)"
        more = rest if errors[1:] else ""
        raise DataError(f"{errors[0]}{more}")
    dataset = GoldDataset(
        tuple(query for _, query in loaded.queries),
        name=loaded.name,
        n_replaced_surrogates=loaded.n_replaced_surrogates,
    )
    return dataset, Run(loaded.retrieved, name=loaded.name)


def load(
    source: object,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    *,
    encoding: str | None = None,
) -> Loaded:
    """Read a gold set with everything that is wrong in it; arguments as of `read_dataset`.

    Raises:
        UsageError: an argument is wrong.
        DataError: the file cannot be taken apart at all (unreadable, not JSON, not CSV).
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"format: unknown value {format!r}; {nearest(format, FORMATS)}")
    mender = Mender()
    path = source if isinstance(source, (str, Path)) else None
    name = "gold" if path is None else file_name(str(path).removesuffix(".gz"))
    problems = Problems("gold" if path is None else str(path))
    if path is not None and (format == "qrels" or (format is None and _is_qrels(path))):
        if columns:
            raise UsageError("columns: qrels have none to map")
        judged = trec.qrels_queries(path, problems.broken)
        if not judged and not problems.found:
            raise DataError(f"{path}: the file holds no judgement; 4 columns a line are expected")
        return _loaded(name, "qrels", judged, {}, problems, mender)
    whole = None if path is None else _whole(path)
    value = None if whole is None else whole.value
    if format == "llamaindex" or (format is None and is_llamaindex(value)):
        if whole is None or not is_llamaindex(value):
            raise DataError(f"{path}: no JSON object with 'queries' and 'relevant_docs'")
        queries = read_whole(value, whole.lines, problems, mender)
        return _loaded(name, "llamaindex", queries, {}, problems, mender)
    rows = _rows(source, whole, encoding, mender, problems)
    table = path is None or str(path).lower().endswith(_TABLES)
    return _read_rows(rows, name, format, columns, problems, mender, table=table)


def _read_rows(
    rows: Iterator[tuple[int, dict[str, Any]]],
    name: str,
    format: str | None,  # noqa: A002
    columns: Mapping[str, str] | None,
    problems: Problems,
    mender: Mender,
    *,
    table: bool,
) -> Loaded:
    queries: list[tuple[int | None, Query]] = []
    retrieved: dict[str, Retrieved] = {}
    seen: dict[str, None] = {}

    def records() -> Iterator[_Numbered]:
        for number, (line, row) in enumerate(rows, start=1):
            seen.update(dict.fromkeys(name for name, cell in row.items() if cell is not None))
            record = row
            if table or columns:
                try:
                    record = tabular.renamed(row, columns, f"{problems.file}:{line}:")
                except DataError as error:
                    problems.at(line)(None, str(error).removeprefix(f"{problems.file}:{line}: "))
                    continue
            yield number, line, record

    _check_columns(columns or {})
    numbered: Iterable[_Numbered] = records()
    if format is None:
        format, numbered = _recognised(numbered, problems.file)  # noqa: A001
    for number, line, record in numbered:
        assert format is not None  # recognised, or there is no record
        query_id = next((str(record[key]) for key in _IDS if record.get(key) is not None), None)
        report = problems.at(line, query_id)
        read = READERS[format](Fields(record, report, mender, number))
        if read is not None:
            query, found = read
            queries.append((line, query))
            if found is not None:
                retrieved.setdefault(query.id, found)
    for field, column in (columns or {}).items():
        if seen and column not in seen:  # said first, for it is why all else is missing
            level: Level = "error" if field in ("query", *_IDS) else "warning"
            message = f"no row has anything in the column {column!r}; {nearest(column, seen)}"
            problems.found.insert(
                0, Problem(problems.file, None, f"columns.{field}", message, level)
            )
    if format is None:
        if not problems.found:
            raise DataError(f"{problems.file}: the file holds no query")
        format = "unknown"  # noqa: A001  # every row is broken, and each says how
    return _loaded(name, format, queries, retrieved, problems, mender)


_IDS = ("query_id", "qid", "eval_id")
_Numbered = tuple[int, int, dict[str, Any]]
"""A record with its number and its line."""


def _recognised(records: Iterable[_Numbered], file: str) -> tuple[str | None, Iterable[_Numbered]]:
    """The format of the first record that has a format's own fields, and all of the records.

    The first of all may have none: a question without gold may be no more than an id and a text.
    """
    records = iter(records)
    passed: list[_Numbered] = []
    for each in records:
        passed.append(each)
        found = format_of(each[2])
        if found is not None:
            return found, chain(passed, records)
    if not passed:
        return None, ()
    _, line, record = passed[0]
    if "query_id" not in record:
        raise DataError(
            f"{file}:{line}: not recognised as a gold set; its fields are "
            f"{', '.join(map(repr, record))}; name its format ({', '.join(FORMATS)}), or map its "
            "columns"
        )
    return "gold", passed


def _loaded(
    name: str,
    format: str,  # noqa: A002
    queries: Sequence[tuple[int | None, Query]],
    retrieved: Mapping[str, Retrieved],
    problems: Problems,
    mender: Mender,
) -> Loaded:
    """The queries with each id once; a second one is a problem."""
    first: dict[str, int | None] = {}
    kept = []
    for line, query in queries:
        if query.id in first:
            where = "" if first[query.id] is None else f" (first on line {first[query.id]})"
            problems.at(line, query.id)(
                "query_id", f"{query.id!r} stands twice{where}; each query needs its own id"
            )
            continue
        first[query.id] = line
        kept.append((line, query))
    return Loaded(name, format, tuple(kept), retrieved, tuple(problems.found), mender.surrogates)


def _check_columns(columns: Mapping[str, str]) -> None:
    known = {*_field_names()}
    for field, column in columns.items():
        if field not in known and not field.startswith("metadata."):
            raise UsageError(f"columns.{field}: unknown field; {nearest(field, sorted(known))}")
        if not isinstance(column, str):
            raise UsageError(f"columns.{field}: a column's name is expected, not {column!r}")


def _field_names() -> Iterable[str]:
    return (
        *GRADES,
        "query_id",
        "query",
        "query_type",
        "expected_doc_types",
        "gold",
        "gold_texts",
        "answerable",
        "reference",
        "metadata",
        "qid",
        "retrieval_gt",
        "generation_gt",
        "user_input",
        "reference_contexts",
        "reference_context_ids",
        "retrieved_contexts",
        "retrieved_context_ids",
        "eval_id",
        "refs",
    )


def _rows(
    source: object,
    whole: _Whole | None,
    encoding: str | None,
    mender: Mender,
    problems: Problems,
) -> Iterator[tuple[int, dict[str, Any]]]:
    if tabular.is_frame(source):
        yield from tabular.rows_of_frame(source)
        return
    if isinstance(source, Sequence) and not isinstance(source, str):
        yield from _listed(enumerate(source, start=1), problems)
        return
    if not isinstance(source, (str, Path)):
        raise UsageError(
            f"dataset: {type(source).__name__} is no gold set; pass a path, a DataFrame or a list "
            "of mappings"
        )
    match Path(source).suffix.lower():
        case ".csv" | ".tsv":
            yield from tabular.read_csv(source, encoding, problems.broken)
        case ".xlsx" | ".xls":
            yield from tabular.read_excel(source)
        case ".parquet":
            yield from tabular.read_parquet(source)
        case _ if whole is not None and isinstance(whole.value, list):
            rows = ((whole.lines[at,], each) for at, each in enumerate(whole.value))
            yield from _listed(rows, problems)
        case _ if whole is not None:  # the competition's other form: ids by eval_id
            for key, ids in whole.value.items():
                yield whole.lines[key,], {"eval_id": key, "refs": ids}
        case _:
            yield from read_records(source, mender, problems.broken, unique=True)


def _listed(
    rows: Iterable[tuple[int, Any]], problems: Problems
) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, each in rows:
        if isinstance(each, Mapping):
            yield line, dict(each)
        else:
            problems.broken(line, f"an object is expected, not {shorten(each)}")


@dataclass(frozen=True)
class _Whole:
    """A file that is one JSON value, a list or an object, and where its parts stand."""

    value: Any
    lines: Mapping[Place, int]


def _whole(path: str | Path) -> _Whole | None:
    """The file as one JSON value, if it is one and no single row; else None.

    Raises:
        DataError: it is neither one value nor JSON Lines.
    """
    suffix = Path(str(path).removesuffix(".gz")).suffix.lower()
    if str(path) == "-" or suffix not in (".json", ".jsonl", ".ndjson", ""):
        return None
    with open_bytes(path) as file:
        start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
        if not start.startswith(b"[") and suffix != ".json":
            return None  # JSON Lines, which are read as a stream
        file.seek(0)
        raw = file.read()
    text = raw.decode("utf-8-sig", "replace")
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=unique_keys)
    except UnicodeDecodeError:
        value = None  # reading line by line will name the line
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        if not _is_json(text.split("\n", 1)[0]):  # and so no JSON Lines
            line, reason = getattr(error, "lineno", 1), getattr(error, "msg", "nested too deeply")
            raise DataError(f"{path}:{line}: not valid JSON: {reason}") from None
        value = None
    row = isinstance(value, dict) and (format_of(value) or "query_id" in value)
    whole = isinstance(value, (list, dict)) and (not row or is_llamaindex(value))
    return _Whole(value, lines_of(text)) if whole else None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_qrels(path: str | Path) -> bool:
    """Whether a file that is neither JSON nor a table has qrels' four columns."""
    plain = str(path).lower().removesuffix(".gz")
    if plain.endswith(".qrels"):
        return True
    if str(path) == "-" or plain.endswith((*_TABLES, ".json", ".jsonl", ".ndjson")):
        return False
    with open_bytes(path) as file:
        first = next((line for line in file if line.strip() and line[:1] != b"#"), b"")
    return len(first.split()) == 4 and not first.lstrip().startswith((b"{", b"["))


def write_goldset(dataset: GoldDataset, path: str | Path) -> None:
    """Write the schema of managed gold sets; `read_dataset` reads it back as the same queries.

    Gold with an id and grade 2, 1 or 0 goes to the three lists, its text and any other gold to
    ``gold``.
    """
    lists = {grade: name for name, grade in GRADES.items()}

    def records() -> Iterator[dict[str, Any]]:
        for query in dataset:
            plain = query_record(query)
            record: dict[str, Any] = {
                "query_id": plain.pop("query_id"),
                "query": plain.pop("query", ""),
                "query_type": plain.pop("query_type", None),
                "expected_doc_types": plain.pop("expected_doc_types", []),
                **{name: [] for name in reversed(GRADES)},
            }
            items = plain.pop("gold")
            rest = []
            for gold, item in zip(query.gold, items):
                others = [other.id for other in gold.alternatives]
                if gold.id is None or None in others or gold.grade not in lists:
                    rest.append(item)
                    continue
                ids = record[lists[gold.grade]]
                ids.append([gold.id, *others] if others else gold.id)
                texts = [doc_record(each) for each in gold.alternatives if each.text is not None]
                if gold.text is not None or gold.metadata:
                    kept = {key: item[key] for key in ("id", "text", "metadata") if key in item}
                    rest.append(kept | ({"alternatives": texts} if texts else {}))
                elif texts:
                    rest.append({"id": gold.id, "alternatives": texts})
            yield {**record, **({"gold": rest} if rest else {}), **plain}

    write_records(records(), path)
