"""Parquet as results are at scale: a row a question, gold and retrieved as nested lists.

A row is a record as a line of JSON Lines is, without what is null. Tables of other formats have
a row of cells, as CSV has.

Parquet holds each distinct text once in a row group, so chunks that many questions retrieve cost
next to nothing. Metadata, stages, searches and history are JSON: their fields differ from one to
the next.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import (
    FORBIDDEN_IDS,
    QUESTION_FIELDS,
    RESULT_FIELDS,
    RULES_KEY,
    STANDS_FOR,
    question_record,
    unique_names,
)
from kragx.data.formats.jsonl import check_unpacked, json_value, replacing, to_json
from kragx.data.gold import Query
from kragx.data.runs import Retrieved
from kragx.data.search_records import SEARCHES
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, UsageError, inside, needing
from kragx.ground.printing import message

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem
    from pyarrow.parquet import FileMetaData, ParquetFile

ENDING = ".parquet"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_NAMED = re.compile(rf"^{_ADDRESS.pattern}|\{ENDING}(\?[^?/]*=[^?]*)?$", re.IGNORECASE)
_ROOT = re.compile(r"[^/]+//[^/]*/?")
_PATTERN = re.compile(r"[*\[]")
_QUERY = re.compile(r"\?[^?/]*=[^?]*$")
_LONGEST = 300  # characters of what a library says
_PATIENCE = "retry_limit_seconds"  # of gs://: a wrong name would be tried for 15 minutes
_NAME = message("name a file, a folder or a pattern of files")

TABLE_KEY = b"kragx"
"""Under this key of a schema stands what kragx says of a table that it has written itself."""

_BATCH_BYTES = 32 << 20
_BATCH_ROWS = 128
_LISTS = ("alternatives", "expected_doc_types", "metadata")  # a map without entries is a list
_JSON = ("metadata", "stages", "history", SEARCHES)
_IDS = ("retrieved_chunk_ids", FORBIDDEN_IDS)  # lists that others write, and kragx does not

SELDOM = (FORBIDDEN, *STANDS_FOR, SEARCHES)
"""Columns that kragx writes only where somebody says something in them."""

GROUP = 4096
"""Questions of a row group, which is the least that a worker takes."""

OPTIONS: Mapping[str, Any] = {
    "compression": "zstd",
    # Bytes; beyond it Parquet writes every text in full.
    "dictionary_pagesize_limit": 256 << 20,
    "store_schema": False,
    "write_page_checksum": True,  # else a byte that rots is another text, or number
}
"""How kragx writes Parquet."""


@dataclass(frozen=True)
class ParquetTable:
    """A Parquet file, or some of its row groups.

    Attributes:
        file: its name or address.
        groups: the row groups, neighbours in order; None for all.
        folder: where a relative path starts.
    """

    file: str
    groups: tuple[int, ...] | None = None
    folder: str = field(default_factory=os.getcwd)

    def schema(self) -> pa.Schema:
        """Its columns with their types."""
        with self._opened() as (_, file):
            return file.schema_arrow

    def is_nested(self) -> bool:
        """Whether it has a row a question with nested lists.

        Raises:
            DataError: it cannot be read, or is a table that kragx has written for people.
        """
        return _is_nested(self.schema(), self.file)

    def rules(self) -> dict[str, Any]:
        """The rules of the gold set, which its schema holds; empty where there are none."""
        about = self.schema().metadata or {}
        rules = json_value(about.get(RULES_KEY, b"{}"), SurrogateRepair())
        return rules if isinstance(rules, dict) else {}

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a nested table as records of the format `GOLD`, numbered from 1."""
        return ((number, _without_null(row)) for number, row in self.rows())

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of any table by column, numbered from 1."""
        with self._opened() as (_, file):
            about, groups = file.metadata, self._groups(file.metadata)
            first = 1 + sum(about.row_group(n).num_rows for n in range(min(groups, default=0)))
            columns = [name for name in file.schema_arrow.names if not _is_index(name)]
            # Rows that are long are few at once.
            size = min(
                max(_BATCH_BYTES * about.num_rows // max(_n_bytes(about), 1), 1), _BATCH_ROWS
            )
            for batch in file.iter_batches(size, row_groups=groups, columns=columns):
                yield from enumerate(batch.to_pylist(), first)
                first += batch.num_rows

    def content_hash(self) -> str:
        """The SHA-256 of the bytes of its rows, and of their schema."""
        with self._opened() as (source, file):
            about = file.metadata
            digest = hashlib.sha256(about.schema.to_arrow_schema().serialize())
            for group in map(about.row_group, self._groups(about)):
                for column in map(group.column, range(group.num_columns)):
                    start = column.dictionary_page_offset or column.data_page_offset
                    digest.update(source.read_at(column.total_compressed_size, start))
        return digest.hexdigest()

    def stretches(self, n_bytes: int) -> Iterator[ParquetTable]:
        """It in stretches of neighbouring row groups of some bytes each."""
        with self._opened() as (_, file):
            about = file.metadata
        first = total = 0
        for group in self._groups(about):
            total += about.row_group(group).total_byte_size
            if total >= n_bytes or group + 1 == about.num_row_groups:
                yield ParquetTable(self.file, tuple(range(first, group + 1)))
                first, total = group + 1, 0

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, ParquetFile]]:
        """The file, unless it unpacks without end or has a column twice."""
        with opened(self.file, self.folder) as source:
            from pyarrow.parquet import ParquetFile

            file = ParquetFile(source, page_checksum_verification=True)
            about = file.metadata
            with inside(path=shown(self.file)):
                unique_names(file.schema_arrow.names)
            if not _is_nested(file.schema_arrow, self.file):
                n_cells = about.num_rows * about.num_columns  # equal ones take no place in the file
                n_bytes = max(_n_bytes(about), 8 * n_cells)
                check_unpacked(shown(self.file), n_bytes, source.size())
            yield source, file

    def _groups(self, about: FileMetaData) -> list[int]:
        return [*range(about.num_row_groups)] if self.groups is None else [*self.groups]


def _n_bytes(about: FileMetaData) -> int:
    return sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))


def _is_index(name: str) -> bool:
    """Whether a column is the index of a DataFrame, which pandas writes beside."""
    return name.startswith("__index_level_")


def _is_nested(schema: pa.Schema, name: str) -> bool:
    """Whether a table has a row a question with nested lists, and nothing beside kragx's fields."""
    if TABLE_KEY in (schema.metadata or {}):
        raise DataError(
            "a table of values per question, which kragx score --out has written; it holds no "
            "gold and no documents",
            path=shown(name),
            remedy="name the results themselves",
        )
    fields = {column.name: column.type for column in schema if not _is_index(column.name)}
    lists = [fields[name] for name in ("gold", "retrieved") if name in fields]
    items = {str(getattr(kind, "value_type", "")).partition("<")[0] for kind in lists}
    # Where all lists are empty, nothing is known of what they hold, and their items are null.
    are_nested = "struct" in items and items <= {"struct", "null"}
    return are_nested and fields.keys() <= (QUESTION_FIELDS | RESULT_FIELDS).keys()


def _without_null(value: Any, name: str = "") -> Any:
    """A row, or a part of one, as a line of JSON Lines has it: without fields that hold nothing."""
    if isinstance(value, list):
        is_map = bool(value) and isinstance(value[0], tuple)
        return dict(value) if is_map else [_without_null(part) for part in value]
    if isinstance(value, dict):
        return {
            key: _without_null(cell, key)
            for key, cell in value.items()
            if cell is not None and not (key in _LISTS and cell == [])
        }
    if name in _JSON and isinstance(value, str):
        with suppress(ValueError, RecursionError, DataError):
            return json_value(value, SurrogateRepair())
    return value


def write_questions(
    questions: Iterable[tuple[Query, Retrieved | None]],
    path: str | Path,
    *,
    results: bool = True,
    beside: Collection[str] = (),
    rules: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write questions, and what was retrieved for them, into a Parquet file.

    Args:
        questions: the questions, as a stream; a group of them is held at once.
        path: of the file, or its address; what stands there is replaced once all is written.
        results: whether to write what was retrieved.
        beside: which of `SELDOM` to write; the columns of a file are settled before its first row.
        rules: of the gold set, by name.

    Raises:
        MissingExtraError: pyarrow is not installed.
        UsageError: the file cannot be written.
    """
    with needing("parquet", "writing Parquet files"):
        import pyarrow as pa
        from pyarrow import parquet
    rows: Iterator[dict[str, Any]] = (_row(question_record(*pair)) for pair in questions)
    left_out = {*SELDOM}.difference(beside).union(() if results else RESULT_FIELDS)
    columns = {name: kind for name, kind in _columns().items() if name not in left_out}
    schema = pa.schema(columns)
    with written_at(path) as sink, parquet.ParquetWriter(sink, schema, **OPTIONS) as file:
        while group := [*islice(rows, GROUP)]:
            file.write_batch(pa.RecordBatch.from_pylist(group, schema), row_group_size=GROUP)
        if rules:
            file.add_key_value_metadata({RULES_KEY: to_json(rules)})


def _columns() -> dict[str, pa.DataType]:
    """All columns that a file may have."""
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
    forbidden = dict.fromkeys(("id", "text", "source", "why", "superseded_by"), text)
    forbidden |= dict.fromkeys(("start", "end"), pa.int64())
    lists = {"gold": item, "retrieved": document, FORBIDDEN: forbidden}
    kinds = {"ids": pa.list_(text), "flag": pa.bool_(), "number": number}
    return {
        name: pa.list_(pa.struct(lists[name])) if name in lists else kinds.get(kind, text)
        for name, kind in (QUESTION_FIELDS | RESULT_FIELDS).items()
        if name not in _IDS
    }


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of a results file, or one of its parts, as a row."""
    return {name: _cell(name, value) for name, value in record.items()}


def _cell(name: str, value: Any) -> Any:
    if name in _JSON:
        return SurrogateRepair().text(to_json(value))
    if name == "score":
        return None if value is None else float(value)  # in JSON infinity is a name
    if isinstance(value, list):
        return [_row(part) if isinstance(part, dict) else _cell(name, part) for part in value]
    return SurrogateRepair().text(value) if isinstance(value, str) else value


# -- where files are: one, several, a folder, a pattern, or an address such as s3:// --------------
# A file is known by its name alone, as it stands in messages, so that other processes can open it.


def is_address(path: object) -> bool:
    """Whether a path is an address: ``s3://bucket/results``."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def is_parquet(path: object) -> bool:
    """Whether a path's name says that it is a Parquet file."""
    return _QUERY.sub("", str(path)).lower().endswith(ENDING)


def is_located(source: object) -> bool:
    """Whether a source names Parquet files: by how it is written, or as it is a folder."""
    if isinstance(source, (list, tuple)):
        # The first is looked at alone, as lists of documents come by here, too.
        are_names = bool(source) and isinstance(source[0], (str, Path))
        return are_names and all(isinstance(p, (str, Path)) and is_located(p) for p in source)
    if not isinstance(source, (str, Path)):
        return False
    # A text may be too long for a file's name, which `isdir` forgives.
    return _NAMED.search(str(source)) is not None or os.path.isdir(source)  # noqa: PTH112


def located_name(source: object) -> str:
    """What names a data set that is read from there: the file, the folder, or what they share."""
    if isinstance(source, (list, tuple)):
        return located_name(source[0])
    path = Path(_QUERY.sub("", str(source)))
    names = (path.name.removesuffix(ENDING), *(folder.name for folder in path.parents))
    stems = (_PATTERN.split(name)[0].rstrip("-_. ") for name in names)
    return next(filter(None, stems), "results")


def files_of(source: object) -> list[str]:
    """The names of all files, sorted within a folder or pattern.

    Of a folder also those in folders within, but for what begins with ``.`` or ``_``: so tools
    call what is no data.

    Raises:
        DataError: there is none, or an address cannot be read.
    """
    if isinstance(source, (list, tuple)):
        return list(dict.fromkeys(name for part in source for name in files_of(part)))
    name = str(source)
    place, query = _parts(name)
    pattern = _PATTERN.search(place)
    base = f"{place}/" if pattern is None else place[: place.rfind("/", 0, pattern.start()) + 1]
    within = "*/" if pattern is None else place[len(base) :].replace("**/", "*")
    with readable(name):
        from pyarrow.fs import FileSelector, FileType

        system, path = _system(name)
        kind = system.get_file_info(path).type
        is_missing = kind == FileType.NotFound and pattern is None and not is_address(name)
        if kind == FileType.File or is_missing:  # which whoever opens it says
            return [name]
        folder = _system(f"{base}{query}")[1].rstrip("/") or ("/" if base else ".")
        selector = FileSelector(
            folder, allow_not_found=True, recursive=pattern is None or "/" in place[len(base) :]
        )
        infos = [info for info in system.get_file_info(selector) if info.type == FileType.File]
    ends = [info.path.removeprefix(folder).removeprefix("/") for info in infos]
    names = [
        base.removeprefix("./") + end + query
        for end in ends
        # What begins so is no data, whatever stands before the folder.
        if (fnmatchcase(end, within) if pattern else end.lower().endswith(ENDING))
        and not any(part.startswith((".", "_")) for part in end.split("/"))
    ]
    if not names:
        is_folder = not (pattern or is_address(name))
        reason = message("no {ending} file in it" if is_folder else "no such file", ending=ENDING)
        raise DataError(
            message("cannot be read: {reason}", reason=reason), path=shown(name), remedy=_NAME
        )
    return sorted(names)


def _parts(name: str) -> tuple[str, str]:
    """A name without what an address says of its file system, and that: ``?region=x``."""
    query = _QUERY.search(name) if is_address(name) else None
    place = name if query is None else name[: query.start()]
    return place.rstrip("/") or name, "" if query is None else query[0]


@contextmanager
def opened(name: str, folder: str = "") -> Iterator[Any]:
    """A file as pyarrow reads it; a `DataError` says why it, or what is in it, cannot be read.

    Args:
        name: of the file, also in messages.
        folder: where a relative path starts; empty for the working directory.
    """
    with readable(name):
        # As every process finds it, wherever that works.
        system, path = _system(name if is_address(name) else str(Path(folder, name)))
        with system.open_input_file(path) as file:
            yield file


@contextmanager
def written_at(path: str | Path) -> Iterator[Any]:
    """A stream whose content becomes a file, or one at an address, once the block has ended well.

    Raises:
        UsageError: it cannot be written.
    """
    if not is_address(path):
        with replacing(path) as place, place.open("wb") as file:
            yield file
        return
    import pyarrow

    address, sink = str(path), pyarrow.BufferOutputStream()
    yield sink  # what is uploaded as it comes is there in part
    try:
        system, key = _system(address)
        system.create_dir(key.rpartition("/")[0], recursive=True)
        with system.open_output_stream(key) as stream:
            stream.write(sink.getvalue())
    except (OSError, pyarrow.ArrowException) as error:
        raise UsageError(
            "cannot be written: {reason}",
            path=shown(address),
            reason=" ".join(str(error).split())[:_LONGEST],
        ) from None


def shown(name: str) -> str:
    """A name as messages have it: without what an address may hold of keys and passwords."""
    return re.sub(r"(?<=://)[^/@]*:[^/@]*@", "", _QUERY.sub("", name)) if is_address(name) else name


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Around the work with a file: a `DataError` says why it cannot be read."""
    with needing("parquet", "reading Parquet files"):
        from pyarrow import ArrowException
    try:
        yield
    except DataError:  # which is a ValueError, too
        raise
    except (OSError, ArrowException, ValueError, IndexError, OverflowError) as error:
        number = getattr(error, "errno", None)
        text = " ".join((os.strerror(number) if number else str(error)).split())
        raise DataError(
            "cannot be read: {reason}" if number else "cannot be read as Parquet: {reason}",
            path=shown(name),
            reason=text[:_LONGEST],
        ) from None


def _system(name: str) -> tuple[FileSystem, str]:
    """The file system that has a file, and what the file is called there."""
    if not is_address(name):
        from pyarrow.fs import LocalFileSystem

        return LocalFileSystem(), name
    place, query = _parts(name)
    root = _ROOT.match(place)[0]  # type: ignore[index]  # as of any address
    system, path = _folder_at(root, query)
    return system, f"{path.rstrip('/')}/{place[len(root) :]}"


@lru_cache(maxsize=64)  # to ask where a bucket is takes a request
def _folder_at(folder: str, query: str) -> tuple[FileSystem, str]:
    """The file system of an address, and what the folder is called there."""
    from pyarrow.fs import FileSystem

    if folder.startswith(("gs://", "gcs://")) and _PATIENCE not in query:
        query += f"{'&' if query else '?'}{_PATIENCE}=30"
    try:
        system, path = FileSystem.from_uri(f"{folder}{query}")
    except (ValueError, NotImplementedError, ImportError) as error:  # one of them Arrow's too
        raise DataError(
            "no address that pyarrow can read here: {reason}",
            path=shown(folder).rstrip("/"),
            remedy="write s3://bucket/path, gs://bucket/path, or a path of this machine",
            reason=" ".join(str(error).split()),
        ) from None
    return system, path
