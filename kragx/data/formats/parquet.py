"""Parquet as results are at scale: a row a question, gold and retrieved as nested lists.

A row is a record as a line of JSON Lines is, without what is null. Tables of other formats have
a row of cells, as CSV has.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kragx.data.formats.format import unique_names
from kragx.data.formats.gold import GOLD
from kragx.data.formats.jsonl import check_unpacked, json_value
from kragx.data.formats.located import opened, place_of, shown
from kragx.data.formats.records import RULES_KEY
from kragx.data.problems import Problems
from kragx.data.search_records import SEARCHES
from kragx.data.text import Mender
from kragx.errors import DataError, inside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData, ParquetFile

TABLE_KEY = b"kragx"
"""Under this key of a schema stands what kragx says of a table that it has written itself."""

_BATCH_BYTES = 32 << 20
_BATCH_ROWS = 128
_LISTS = ("alternatives", "expected_doc_types")
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

    def is_nested(self) -> bool:
        """Whether it has a row a question with nested lists.

        Raises:
            DataError: it cannot be read, or is a table that kragx has written for people.
        """
        with opened(self.file, self.folder) as file:
            return _is_nested(_checked(file, self.file).schema_arrow, self.file)

    def columns(self) -> list[str]:
        """The names of its columns."""
        with opened(self.file, self.folder) as file:
            return list(_checked(file, self.file).schema_arrow.names)

    def rules(self) -> dict[str, Any]:
        """The rules of the gold set, which its schema holds; empty where there are none."""
        with opened(self.file, self.folder) as file:
            about = _checked(file, self.file).metadata.metadata or {}
        rules = json_value(about[RULES_KEY].decode(), Mender()) if RULES_KEY in about else {}
        return rules if isinstance(rules, dict) else {}

    def records(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a nested table as records of the format `GOLD`, numbered from 1.

        Args:
            problems: is told of rows that cannot be read at all.
        """
        return ((number, _without_null(row)) for number, row in self.rows(problems))

    def rows(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of any table by column, numbered from 1; those that cannot be read reported."""
        with opened(self.file, self.folder) as source:
            file = _checked(source, self.file)
            about, groups = file.metadata, self._groups(file.metadata)
            first = 1 + sum(about.row_group(n).num_rows for n in range(min(groups, default=0)))
            n_rows = _BATCH_BYTES * about.num_rows // max(_n_bytes(about), 1)
            columns = [name for name in file.schema_arrow.names if not _is_index(name)]
            for batch in file.iter_batches(
                min(max(n_rows, 1), _BATCH_ROWS), row_groups=groups, columns=columns
            ):
                yield from _readable(batch, first, problems)
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


# -- schemas ---------------------------------------------------------------------------------------


def _checked(source: Any, name: str) -> ParquetFile:
    """An opened file, unless it unpacks without end or has a column twice."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(source)
    about = file.metadata
    with inside(path=shown(name)):
        unique_names(file.schema_arrow.names)
    if not _is_nested(file.schema_arrow, name):
        n_cells = about.num_rows * about.num_columns  # equal ones take no place in the file
        check_unpacked(shown(name), max(_n_bytes(about), 8 * n_cells), source.size())
    return file


def _n_bytes(about: FileMetaData) -> int:
    return sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))


def _is_index(name: str) -> bool:
    """Whether a column is the index of a DataFrame, which pandas writes beside."""
    return name.startswith("__index_level_")


def _is_nested(schema: pa.Schema, name: str) -> bool:
    """Whether a table has a row a question with nested lists, and nothing beside kragx's fields."""
    from pyarrow import types

    if TABLE_KEY in (schema.metadata or {}):
        raise DataError(
            "a table of values per question, which kragx score --out has written; it holds no "
            "gold and no documents",
            path=shown(name),
            remedy="name the results themselves",
        )
    fields = {column.name: column.type for column in schema if not _is_index(column.name)}
    if "query_id" in fields and "rank" in fields and "gold" not in fields:
        raise DataError(
            "a row a document, as kragx run writes results for data frames; a row a question is "
            "expected, with nested lists",
            path=shown(name),
            remedy="name the results (.jsonl) beside it",
        )
    lists = [fields[name] for name in ("gold", "retrieved", SEARCHES) if name in fields]
    kinds = [kind.value_type if _is_list(kind) else kind for kind in lists]
    structs = [kind for kind, outer in zip(kinds, lists) if kind != outer and types.is_struct(kind)]
    # Where all lists are empty, nothing is known of what they hold.
    is_plain = len(structs) + sum(map(types.is_null, kinds)) == len(lists)
    return bool(structs) and is_plain and fields.keys() <= GOLD.fields.keys()


def _is_list(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind))


# -- rows ------------------------------------------------------------------------------------------


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


def _without_null(value: Any) -> Any:
    """A row, or a part of one, as a line of JSON Lines has it: without fields that hold nothing."""
    if isinstance(value, list):
        return [*map(_without_null, value)]
    if not isinstance(value, dict):
        return value
    return {
        name: _json(cell)
        if name in _JSON
        else _searches(cell)
        if name == SEARCHES
        else _without_null(cell)
        for name, cell in value.items()
        if cell is not None and not (name in _LISTS and cell == [])
    }


def _searches(values: Any) -> Any:
    """Searches, with numbers and ids where a struct holds nothing else."""
    searches = _without_null(values)
    for search in searches if isinstance(searches, list) else ():
        for name in ("retrieved", "read") if isinstance(search, dict) else ():
            if isinstance(entries := search.get(name), list):
                alone = ("same", "id") if name == "read" else ("same",)
                search[name] = [_alone(entry, alone) for entry in entries]
    return searches


def _alone(entry: Any, names: tuple[str, ...]) -> Any:
    """What a struct holds, where that is one of some fields alone; else the struct."""
    if isinstance(entry, dict) and len(entry) == 1 and (name := next(iter(entry))) in names:
        return entry[name]
    return entry


def _json(value: Any) -> Any:
    """What metadata and the like say: JSON as a text, or a map."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError, DataError):
            return json_value(value, Mender())
    if isinstance(value, list) and all(isinstance(pair, tuple) for pair in value):
        return dict(value)
    return _without_null(value)
