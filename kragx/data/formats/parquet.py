"""Parquet as results are at scale: a row a question, gold and retrieved as nested lists.

A row is a record as a line of JSON Lines is, without what is null. Tables of other formats have
a row of cells, as CSV has.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from kragx.data.formats.format import unique_names
from kragx.data.formats.gold import GOLD
from kragx.data.formats.jsonl import check_unpacked, json_value
from kragx.data.formats.located import opened, place_of, shown
from kragx.data.problems import Problems
from kragx.data.text import Mender
from kragx.errors import DataError, inside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

TABLE_KEY = b"kragx"
"""Under this key of a schema stands what kragx says of a table that it has written itself."""

_BATCH_BYTES = 32 << 20
_BATCH_ROWS = 512
_LISTS = ("alternatives", "expected_doc_types")
_TEXTS = ("id", "text", "metadata")
_JSON = ("metadata", "stages", "history")
_UNREADABLE = (ValueError, OverflowError, IndexError)
"""What pyarrow raises over values that a file does not hold as it says."""


@dataclass(frozen=True)
class Table:
    """A Parquet file, or some of its row groups.

    Attributes:
        file: its name or address.
        groups: the row groups, in order; None for all.
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

    def records(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a nested table as records of the format `GOLD`, numbered from 1.

        Args:
            problems: is told of rows that cannot be read at all.
        """
        return self._rows(problems, _records, nested=True)

    def rows(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of any table by column, numbered from 1."""
        return self._rows(problems, lambda batch: batch.to_pylist(), nested=False)

    def content_hash(self) -> str:
        """The SHA-256 of the bytes of its rows, and of their schema."""
        with opened(self.file, self.folder) as source:
            about = _checked(source, self.file).metadata
            digest = hashlib.sha256(about.schema.to_arrow_schema().serialize())
            for group in range(about.num_row_groups) if self.groups is None else self.groups:
                columns = about.row_group(group)
                for number in range(columns.num_columns):
                    column = columns.column(number)
                    starts = (column.dictionary_page_offset, column.data_page_offset)
                    start = min(page for page in starts if page is not None)
                    digest.update(source.read_at(column.total_compressed_size, start))
        return digest.hexdigest()

    def _rows(
        self,
        problems: Problems,
        read: Callable[[pa.RecordBatch], list[dict[str, Any]]],
        *,
        nested: bool,
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """What `read` makes of the rows; those that it cannot read are reported."""
        with opened(self.file, self.folder) as source:
            file = _checked(source, self.file, nested=nested)
            about = file.metadata
            sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
            columns = _leaves(file)
            for group in range(len(sizes)) if self.groups is None else self.groups:
                n_bytes = max(about.row_group(group).total_byte_size // max(sizes[group], 1), 1)
                n_rows = min(max(_BATCH_BYTES // n_bytes, 1), _BATCH_ROWS)
                first = 1 + sum(sizes[:group])
                for batch in file.iter_batches(n_rows, row_groups=[group], columns=columns):
                    try:
                        yield from enumerate(read(batch), first)
                    except _UNREADABLE:
                        for row in range(batch.num_rows):
                            try:
                                (record,) = read(batch.slice(row, 1))
                            except _UNREADABLE as error:
                                message = _unreadable(batch.slice(row, 1), error)
                                problems.add(first + row, None, message)
                            else:
                                yield first + row, record
                    first += batch.num_rows


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


def _checked(source: Any, name: str, *, nested: bool = True) -> ParquetFile:
    """An opened file, unless it unpacks without end or has a column twice.

    Texts of a `nested` table come as numbers of distinct ones, each of which is decoded once.
    """
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(source)
    about = file.metadata
    with inside(path=shown(name)):
        unique_names(file.schema_arrow.names)
    if nested and _is_nested(file.schema_arrow, name):
        texts = [leaf for leaf in _leaves(file) if leaf.split(".")[-1] in _TEXTS]
        return ParquetFile(source, metadata=about, read_dictionary=texts)
    n_bytes = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
    n_cells = about.num_rows * about.num_columns  # equal ones take no place in the file
    check_unpacked(shown(name), max(n_bytes, 8 * n_cells), source.size())
    return file


def _leaves(file: ParquetFile) -> list[str]:
    """The paths of all columns: ``retrieved.list.element.text``; without a DataFrame's index."""
    paths = [file.schema.column(n).path for n in range(len(file.schema))]
    return [path for path in paths if not _is_index(path)]


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
    lists = [fields[name] for name in ("gold", "retrieved") if name in fields]
    kinds = [kind.value_type if _is_list(kind) else kind for kind in lists]
    structs = [kind for kind, of in zip(kinds, lists) if kind != of and types.is_struct(kind)]
    # Where all lists are empty, nothing is known of what they hold.
    is_plain = len(structs) + sum(map(types.is_null, kinds)) == len(lists)
    return bool(structs) and is_plain and fields.keys() <= GOLD.fields.keys()


def _is_list(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind))


# -- rows ------------------------------------------------------------------------------------------


def _records(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows of a batch as records of JSON Lines."""
    return _mappings(batch.schema.names, batch.columns)


def _mappings(names: list[str], arrays: list[pa.Array]) -> list[dict[str, Any]]:
    """The fields of each row that hold something."""
    columns = {
        name: values
        for name, array in zip(names, arrays)
        # Lists of which none holds anything say nothing, and a plain record has no such field.
        if any(values := _values(array, json=name in _JSON)) or name not in _LISTS
    }
    rows = zip(*columns.values()) if columns else [()] * len(arrays[0])
    return [{name: value for name, value in zip(columns, row) if value is not None} for row in rows]


def _values(array: pa.Array, *, json: bool = False) -> list[Any]:
    """The values of an array, as `to_pylist` gives them, in a fraction of its time.

    `json`: texts hold JSON, and maps are mappings.
    """
    from pyarrow import compute, types

    kind = array.type
    if types.is_dictionary(kind):
        rows = array.indices.cast("int64").fill_null(-1).to_numpy()
        used, rows = np.unique(rows, return_inverse=True)  # the dictionary may be of a whole group
        words = _values(array.dictionary.take(_array(used[used >= 0])), json=json)
        words = [None, *words] if len(words) < len(used) else words
        return [words[row] for row in rows.tolist()]
    if types.is_struct(kind):
        mappings = _mappings([part.name for part in kind], array.flatten())
        there = array.is_valid().to_pylist() if array.null_count else [True] * len(array)
        return [mapping if is_there else None for mapping, is_there in zip(mappings, there)]
    if _is_list(kind):
        stream = iter(_values(array.flatten()))
        lengths = compute.list_value_length(array).to_pylist()
        return [None if length is None else [*islice(stream, length)] for length in lengths]
    if not array.null_count and (types.is_integer(kind) or types.is_floating(kind)):
        return array.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    values: list[Any] = array.to_pylist()
    return [*map(_json, values)] if json else values


def _array(numbers: Any) -> pa.Array:
    import pyarrow

    return pyarrow.array(numbers)


def _json(value: Any) -> Any:
    """What a cell `metadata` says: JSON as a text, or a map."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError, DataError):
            return json_value(value, Mender())
    if isinstance(value, list) and all(isinstance(pair, tuple) for pair in value):
        return dict(value)
    return value


def _unreadable(row: pa.RecordBatch, error: Exception) -> str:
    """Which column of a row cannot be read, and why."""
    for name, column in zip(row.schema.names, row.columns):
        try:
            column.to_pylist()
        except _UNREADABLE as of_column:
            is_text = isinstance(of_column, UnicodeDecodeError)
            reason = "not UTF-8; write it as UTF-8" if is_text else str(of_column)
            return f"the column {name!r} cannot be read: {reason}"
    return f"the row cannot be read: {error}"
