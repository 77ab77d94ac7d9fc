"""Gold files and results files: JSON Lines, one query a line, read as a stream.

A gold file's line:

    {"query_id", "query"?, "gold": [{"id"?, "text"?, "grade"?, "alternatives"?, "metadata"?}],
     "query_type"?, "expected_doc_types"?, "answerable"?, "reference"?, "metadata"?}

A results file's line is the same with ``"retrieved": [{"id"?, "text"?, "score"?, "metadata"?}]``
and optionally ``"seconds"`` and ``"error"``. Without ``retrieved`` the query is missing (or failed,
when there is an ``error``); ``[]`` says that the retriever found nothing.
A file whose name ends with .gz is unpacked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import IO, Any

from kragx.data.documents import (
    Doc,
    as_docs,
    check_fields,
    clean_id,
    clean_metadata,
    clean_number,
)
from kragx.data.formats.problems import Broken, refusing
from kragx.data.gold import Gold, GoldDataset, Query, as_golds
from kragx.data.runs import Retrieved, Run
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, shorten

QUERY_FIELDS = (
    "query_id",
    "query",
    "gold",
    "query_type",
    "expected_doc_types",
    "answerable",
    "reference",
    "metadata",
)
RESULT_FIELDS = (*QUERY_FIELDS, "retrieved", "seconds", "error")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: a JSON object whose keys differ; JSON itself silently keeps the last.

    Raises:
        DataError: a key stands twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the key {twice!r} stands twice in one object; keep one")
    return found


def read_gold(path: str | Path) -> GoldDataset:
    """Read a gold file; a results file serves too, its retrieved lists are passed over."""
    mender = Mender()
    queries = tuple(query for query, _ in iter_results(path, mender))
    return GoldDataset(queries, name=file_name(path), n_replaced_surrogates=mender.surrogates)


def read_results(path: str | Path) -> tuple[GoldDataset, Run]:
    """Read a results file: its gold and its retrieved lists."""
    mender = Mender()
    pairs = list(iter_results(path, mender))
    dataset = GoldDataset(
        tuple(query for query, _ in pairs),
        name=file_name(path),
        n_replaced_surrogates=mender.surrogates,
    )
    results = {query.id: found for query, found in pairs if found is not None}
    return dataset, Run(results, name=file_name(path))


def iter_results(path: str | Path, mender: Mender) -> Iterator[tuple[Query, Retrieved | None]]:
    """Read a results file query by query; None stands for a query that is missing in it.

    Raises:
        DataError: a broken line, an unknown or wrong field, a query id that stands twice, or an
            empty file. The message starts with the file and the line.
    """
    seen: dict[str, int] = {}
    for number, record in read_records(path, mender):
        try:
            query, retrieved = _parse(record, mender)
            if query.id in seen:
                raise DataError(
                    f"query_id {query.id!r} stands twice (first on line {seen[query.id]}); "
                    "queries are joined by id, so each needs its own"
                )
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None
        seen[query.id] = number
        yield query, retrieved
    if not seen:
        raise DataError(f"{path}: the file holds no query; one JSON object a line is expected")


def read_records(
    path: str | Path, mender: Mender, broken: Broken | None = None, *, unique: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each JSON object of a JSON Lines file with its line number (from 1); skip blank lines.

    Lone surrogates are replaced in every string of the object, keys and metadata included.

    A line that is not UTF-8 or not a JSON object is given to `broken`, and passed over; with
    `unique`, which takes longer, so is one in which a key stands twice.

    Raises:
        DataError: the file cannot be read; or, without `broken`, a line is broken.
    """
    wrong = broken or refusing(path)
    hook = unique_keys if unique else None
    with open_bytes(path) as lines:
        for number, raw in enumerate(lines, start=1):
            try:
                # Surrogates encoded as bytes are let through, to be replaced and counted.
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                place = f"byte {error.start + 1} of the line"
                wrong(number, f"not UTF-8 ({place}); save the file as UTF-8")
                continue
            if not line or line.isspace():
                continue
            try:
                record = json.loads(line, object_pairs_hook=hook)
            except DataError as error:
                wrong(number, str(error))
                continue
            except ValueError as error:
                wrong(
                    number,
                    f"not valid JSON: {error}; each line must hold one whole JSON object",
                )
                continue
            except RecursionError:
                wrong(number, "JSON nested too deeply")
                continue
            if not isinstance(record, dict):
                wrong(
                    number,
                    f"a JSON object is expected, not {shorten(record)}; each line must hold one "
                    "query",
                )
                continue
            # They come as \\udXXX escapes or as bytes that strict UTF-8 would refuse; rare, so the
            # whole record is walked only where one may be.
            if "\\ud" in line or "\\uD" in line or not _encodable(line):
                try:
                    record = _mended(record, mender)
                except RecursionError:
                    wrong(number, "JSON nested too deeply")
                    continue
            yield number, record


def _encodable(line: str) -> bool:
    if line.isascii():
        return True
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _mended(value: Any, mender: Mender) -> Any:
    match value:
        case str():
            return mender.mend(value)
        case list():
            return [_mended(item, mender) for item in value]
        case dict():
            return {mender.mend(key): _mended(item, mender) for key, item in value.items()}
    return value


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, or standard input for ``-``; what ends with .gz is unpacked.

    Raises:
        DataError: it cannot be opened, or not be unpacked.
    """
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115  # closed below; only opening may fail here
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    with file:
        if not str(path).endswith(".gz"):
            yield file
            return
        import gzip
        import zlib

        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]  # it is no IO by name, but has all of one
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{path}: not a whole gzip file: {error}") from None


def _parse(record: Mapping[str, Any], mender: Mender) -> tuple[Query, Retrieved | None]:
    check_fields(record, RESULT_FIELDS)
    query_id = clean_id(record.get("query_id"), mender)
    if query_id is None:
        raise DataError("'query_id' is missing; each query needs an id of its own")
    query = Query(
        id=query_id,
        text=_optional_text(record, "query", mender),
        gold=_golds(record, mender, f"query {query_id!r}"),
        query_type=_optional_text(record, "query_type", mender),
        expected_doc_types=_texts(record, "expected_doc_types"),
        answerable=_optional_bool(record, "answerable"),
        reference=_optional_text(record, "reference", mender),
        metadata=clean_metadata(record.get("metadata")),
    )
    error = _optional_text(record, "error", mender)
    seconds = clean_number(record.get("seconds"), "'seconds'")
    docs = _listed(record, "retrieved")
    if error is not None:
        return query, Retrieved(error=error, seconds=seconds)
    if docs is None:
        return query, None
    return query, Retrieved(_docs(docs, mender, f"query {query_id!r}"), seconds)


def _golds(record: Mapping[str, Any], mender: Mender, where: str) -> tuple[Gold, ...]:
    items = _listed(record, "gold") or []
    for position, item in enumerate(items, start=1):
        _refuse_string(item, f"{where}, gold {position}")
        if isinstance(item, dict):
            others = item.get("alternatives")
            for other in others if isinstance(others, list) else ():
                _refuse_string(other, f"{where}, gold {position}, alternatives")
    return as_golds(items, mender, where)


def _docs(items: list[Any], mender: Mender, where: str) -> tuple[Doc, ...]:
    for rank, item in enumerate(items, start=1):
        _refuse_string(item, f"{where}, rank {rank}")
    return as_docs(items, mender, where)


def _refuse_string(item: object, where: str) -> None:
    # In Python a string is a text; in a file it may as well be meant as an id, so it must say.
    if isinstance(item, str):
        raise DataError(
            f"{where}: an object is expected, not the string {shorten(item)}; "
            'write {"id": ...} or {"text": ...}'
        )


def _optional_text(record: Mapping[str, Any], name: str, mender: Mender) -> str | None:
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise DataError(f"{name!r} must be a string, not {shorten(value)}")
    return mender.mend(value)


def _texts(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = _listed(record, name) or []
    for value in values:
        if not isinstance(value, str):
            raise DataError(f"{name!r} must be a list of strings; {shorten(value)} is none")
    return tuple(values)


def _optional_bool(record: Mapping[str, Any], name: str) -> bool | None:
    value = record.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise DataError(f"{name!r} must be true or false, not {shorten(value)}")


def _listed(record: Mapping[str, Any], name: str) -> list[Any] | None:
    if name not in record:
        return None
    value = record[name]
    if isinstance(value, list):
        return value
    raise DataError(
        f"{name!r} must be a list, not {shorten(value)}; "
        "leave the field out if it is unknown, write [] if it is empty"
    )


def write_gold(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold file that `read_gold` reads back as the same queries."""
    write_records((query_record(query) for query in dataset), path)


def write_results(dataset: GoldDataset, run: Run, path: str | Path) -> None:
    """Write a results file: the gold set with what the run retrieved."""

    def records() -> Iterator[dict[str, Any]]:
        for query in dataset:
            record = query_record(query)
            if query.id in run:
                found = run[query.id]
                if found.error is None:
                    record["retrieved"] = [doc_record(doc) for doc in found.documents]
                else:
                    record["error"] = found.error
                if found.seconds is not None:
                    record["seconds"] = found.seconds
            yield record

    write_records(records(), path)


def write_records(records: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write JSON Lines in UTF-8 (``-`` is standard output).

    What JSON lacks becomes a string, a NaN or infinity null.

    Raises:
        UsageError: the file cannot be written.
    """
    if str(path) == "-":
        for record in records:
            sys.stdout.write(to_json(record) + "\n")
        return
    with open_text(path) as file:
        for record in records:
            file.write(Mender().mend(to_json(record)) + "\n")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON as kragx writes it: Korean as it is, no NaN."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    except ValueError:
        return to_json(_finite(value), indent)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value


def open_text(path: str | Path, encoding: str = "utf-8") -> IO[str]:
    """Open a file for writing; a `UsageError` says why it cannot."""
    try:
        return Path(path).open("w", encoding=encoding, errors="replace", newline="")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a file for writing bytes; a `UsageError` says why it cannot."""
    try:
        return Path(path).open("wb")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


def make_folder(path: Path) -> None:
    """Make a folder and those above it; a `UsageError` says why it cannot."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{path}: cannot be made: {error.strerror or error}") from None


def query_record(query: Query) -> dict[str, Any]:
    """A query as a gold file holds it."""
    gold = [
        _present(
            id=item.id,
            text=item.text,
            grade=None if item.grade == 1.0 else item.grade,
            alternatives=[doc_record(other) for other in item.alternatives],
            metadata=dict(item.metadata),
        )
        for item in query.gold
    ]
    return {
        "query_id": query.id,
        **_present(query=query.text),
        "gold": gold,
        **_present(
            query_type=query.query_type,
            expected_doc_types=list(query.expected_doc_types),
            answerable=query.answerable,
            reference=query.reference,
            metadata=dict(query.metadata),
        ),
    }


def doc_record(doc: Doc) -> dict[str, Any]:
    """A document as a results file holds it."""
    return _present(id=doc.id, text=doc.text, score=doc.score, metadata=dict(doc.metadata))


def _present(**fields: Any) -> dict[str, Any]:
    """The fields that hold something; an empty text is something, an empty list is not."""
    return {
        name: value for name, value in fields.items() if value is not None and value not in ([], {})
    }


def file_name(path: str | Path) -> str:
    """What names a data set or run that was read from this file."""
    return "stdin" if str(path) == "-" else Path(path).stem
