"""Parquet: a row a question, gold and retrieved as nested lists, or a row of cells as CSV has.

A row is a record as a line of JSON Lines is, without what is null.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kragx.data.formats.format import unique_names
from kragx.data.formats.jsonl import json_value
from kragx.data.formats.located import files_of, opened, place_of, shown
from kragx.data.problems import Problems
from kragx.data.text import Mender
from kragx.errors import DataError, inside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData, ParquetFile

TABLE_KEY = b"kragx"
"""Under this key of a schema stands what kragx says of a table that it has written itself."""

_BATCH_BYTES = 32 << 20
_BATCH_ROWS = 128
_JSON = ("metadata", "stages", "history")
_UNREADABLE = (ValueError, OverflowError, IndexError)
"""What pyarrow raises over values that a file does not hold as it says."""


@dataclass(frozen=True)
class Table:
    """A Parquet file, or some of its row groups.

    Attributes:
        file: its name or address.
        groups: the row groups, neighbours in order; None for all.
        folder: where a relative path starts.
    """

    file: str
    groups: tuple[int, ...] | None = None
    folder: str = field(default_factory=os.getcwd)

    @property
    def place(self) -> str:
        """The file as every process finds it."""
        return place_of(self.file, self.folder)

    def records(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows as records, numbered from 1; those that cannot be read are reported."""
        with opened(self.file, self.folder) as source:
            file = _checked(source, self.file)
            about, groups = file.metadata, self._groups(file.metadata)
            first = 1 + sum(about.row_group(n).num_rows for n in range(min(groups, default=0)))
            n_bytes = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
            size = min(max(_BATCH_BYTES * about.num_rows // max(n_bytes, 1), 1), _BATCH_ROWS)
            columns = [name for name in file.schema_arrow.names if not _is_index(name)]
            for batch in file.iter_batches(size, row_groups=groups, columns=columns):
                for number, row in _readable(batch, first, problems):
                    yield number, {name: _cell(name, cell) for name, cell in row.items()}
                first += batch.num_rows

    def content_hash(self) -> str:
        """The SHA-256 of the bytes of its rows, and of their schema."""
        with opened(self.file, self.folder) as source:
            about = _checked(source, self.file).metadata
            digest = hashlib.sha256(about.schema.to_arrow_schema().serialize())
            for group in map(about.row_group, self._groups(about)):
                for column in map(group.column, range(group.num_columns)):
                    starts = (column.dictionary_page_offset, column.data_page_offset)
                    start = min(page for page in starts if page is not None)
                    digest.update(source.read_at(column.total_compressed_size, start))
        return digest.hexdigest()

    def _groups(self, about: FileMetaData) -> list[int]:
        return [*range(about.num_row_groups)] if self.groups is None else [*self.groups]


def parquet_records(source: Any, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of all files that a source names, or of a part of one."""
    for table in [source] if isinstance(source, Table) else map(Table, files_of(source)):
        problems.file = shown(table.file)
        yield from table.records(problems)


def tables_of(file: str, n_bytes: int) -> Iterator[Table]:
    """A file in stretches of neighbouring row groups of some bytes each."""
    with opened(file) as source:
        about = _checked(source, file).metadata
        groups: list[int] = []
        total = 0
        for group in range(about.num_row_groups):
            groups.append(group)
            total += about.row_group(group).total_byte_size
            if total >= n_bytes:
                yield Table(file, tuple(groups))
                groups, total = [], 0
        if groups:
            yield Table(file, tuple(groups))


def _checked(source: Any, name: str) -> ParquetFile:
    """An opened file, unless it has a column twice, or kragx has written it for other uses."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(source)
    schema = file.schema_arrow
    with inside(path=shown(name)):
        names = unique_names(schema.names)
        if TABLE_KEY in (schema.metadata or {}):
            problem = (
                "a table of values per question, which kragx score --out has written; it holds no "
                "gold and no documents"
            )
            raise DataError(problem, remedy="name the results themselves")
        if "query_id" in names and "rank" in names and "gold" not in names:
            problem = (
                "a row a document, as kragx run writes results for data frames; a row a question "
                "is expected, with nested lists"
            )
            raise DataError(problem, remedy="name the results (.jsonl) beside it")
    return file


def _is_index(name: str) -> bool:
    """Whether a column is the index of a DataFrame, which pandas writes beside."""
    return name.startswith("__index_level_")


def _readable(
    batch: pa.RecordBatch, first: int, problems: Problems
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a batch with their numbers; those that cannot be read are reported."""
    try:
        yield from enumerate(batch.to_pylist(), first)
    except _UNREADABLE:
        for row in range(batch.num_rows):
            try:
                yield first + row, _cells(batch.slice(row, 1))
            except DataError as error:
                problems.add(first + row, None, error.problem)


def _cells(row: pa.RecordBatch) -> dict[str, Any]:
    """The cells of one row; a `DataError` says which cannot be read, and why."""
    cells = {}
    for name, column in zip(row.schema.names, row.columns):
        try:
            (cells[name],) = column.to_pylist()
        except _UNREADABLE as error:
            is_text = isinstance(error, UnicodeDecodeError)
            reason = "not UTF-8; write it as UTF-8" if is_text else str(error)
            raise DataError(f"the column {name!r} cannot be read: {reason}") from None
    return cells


def _cell(name: str, value: Any) -> Any:
    """What a field holds, as a line of JSON Lines has it: parts that are null are not there."""
    if name in _JSON:
        return _json(value)
    if isinstance(value, list):
        return [_cell("", part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _cell(key, part)
        for key, part in value.items()
        if part is not None and not (key == "alternatives" and part == [])
    }


def _json(value: Any) -> Any:
    """What metadata and the like say: JSON as a text, or a map."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError, DataError):
            return json_value(value, Mender())
    if isinstance(value, list) and all(isinstance(pair, tuple) for pair in value):
        return dict(value)
    return _cell("", value)
