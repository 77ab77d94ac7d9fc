"""Parquet as results are at scale: a row a question, gold and retrieved as nested lists.

A table of that form is read by columns: each distinct text of a batch becomes a Python
string once, and what is retrieved for many questions is one document. A batch in which anything
is not plain, and tables of other formats, are read as the records of a JSON Lines file are, which
says what is wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from kragx.data.batch import NO_TEXT, Batch, Entries, Row, batched
from kragx.data.documents import LONGEST
from kragx.data.formats.format import unique_names
from kragx.data.formats.gold import GOLD
from kragx.data.formats.jsonl import check_unpacked, unique_keys
from kragx.data.formats.located import opened, place_of, shown
from kragx.data.known import Ints, known_texts
from kragx.data.lists import Lists
from kragx.data.problems import Problems
from kragx.errors import DataError, inside

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

TABLE_KEY = b"kragx"
"""Under this key of a schema stands what kragx says of a table that it has written itself."""

_BATCH_BYTES = 32 << 20
_BATCH_ROWS = 4096
_DOCUMENT = ("id", "text", "score", "metadata")
_JSON = ("metadata", "stages", "history")
_NUMBERED = ("id", "text", "metadata")
_UNREADABLE = (ValueError, OverflowError, IndexError)
"""What pyarrow raises over values that a file does not hold as it says."""
_ITEM = ("id", "text", "grade", "alternatives", "metadata")


class _Other(Exception):  # noqa: N818  # no error: it says who reads on
    """A batch holds what is not plain: something else reads it."""


@dataclass(frozen=True)
class Table:
    """A Parquet file, or some of its row groups.

    Attributes:
        file: its name or address.
        groups: the row groups, in order; None for all.
        of_documents: the fields of retrieved documents that are read; None for all.
        folder: where a relative path starts.
    """

    file: str
    groups: tuple[int, ...] | None = None
    of_documents: tuple[str, ...] | None = None
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

    def questions(
        self,
        problems: Problems,
        of_record: Callable[[int, Mapping[str, Any]], Iterator[Row]],
        from_row: int = 1,
    ) -> Iterator[Batch]:
        """The questions of a nested table, each with its row in the file, from 1.

        Args:
            problems: is told of rows that cannot be read at all.
            of_record: what a row that is not plain says, as a record of the format `GOLD`.
            from_row: those before it are passed over.
        """
        for first, batch in self._batches(nested=True, from_row=from_row):
            try:
                block = _block(first, batch)
            except _Other:
                if self.of_documents is not None:  # perhaps as a text was not read
                    whole = replace(self, of_documents=None)
                    yield from whole.questions(problems, of_record, first)
                    return
                yield from batched(
                    own
                    for row, record in _records(first, batch, problems)
                    for own in of_record(row, record)
                )
            else:
                yield block

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
                    start = min(own for own in starts if own is not None)
                    digest.update(source.read_at(column.total_compressed_size, start))
        return digest.hexdigest()

    def rows(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of any table by column, numbered from 1."""
        for first, batch in self._batches(nested=False):
            yield from _records(first, batch, problems, nested=False)

    def _batches(self, *, nested: bool, from_row: int = 1) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Rows in batches, each with the number of its first row; none before `from_row`."""
        with opened(self.file, self.folder) as source:
            file = _checked(source, self.file, nested=nested)
            about = file.metadata
            sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
            starts = np.concatenate(([1], np.cumsum(sizes) + 1)).astype(int).tolist()
            columns = _columns(file, self.of_documents if nested else None)
            for group in range(len(sizes)) if self.groups is None else self.groups:
                n_bytes = max(about.row_group(group).total_byte_size // max(sizes[group], 1), 1)
                n_rows = min(max(_BATCH_BYTES // n_bytes, 1), _BATCH_ROWS)
                first = starts[group]
                for batch in file.iter_batches(n_rows, row_groups=[group], columns=columns):
                    passed = min(max(from_row - first, 0), batch.num_rows)
                    if passed < batch.num_rows:
                        yield first + passed, batch.slice(passed)
                    first += batch.num_rows


def tables_of(
    file: str, n_bytes: int, of_documents: tuple[str, ...] | None = None
) -> Iterator[Table]:
    """A file in stretches of neighbouring row groups of some bytes each."""
    with opened(file) as source:
        about = _checked(source, file).metadata
        groups: list[int] = []
        total = 0
        for group in range(about.num_row_groups):
            groups.append(group)
            total += about.row_group(group).total_byte_size
            if total >= n_bytes:
                yield Table(file, tuple(groups), of_documents)
                groups, total = [], 0
        if groups:
            yield Table(file, tuple(groups), of_documents)


# -- schemas ---------------------------------------------------------------------------------------


def _checked(source: Any, name: str, *, nested: bool = True) -> ParquetFile:
    """An opened file, unless it unpacks without end or has a column twice.

    Texts of a `nested` table come as numbers of distinct ones.
    """
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(source)
    about = file.metadata
    with inside(path=shown(name)):
        unique_names(file.schema_arrow.names)
    if nested and _is_nested(file.schema_arrow, name):
        texts = [
            path for path in _leaves(file) if path.split(".")[-1] in ("id", "text", "metadata")
        ]
        return ParquetFile(source, metadata=about, read_dictionary=texts)
    n_bytes = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
    n_cells = about.num_rows * about.num_columns  # equal ones take no place in the file
    check_unpacked(shown(name), max(n_bytes, 8 * n_cells), source.size())
    return file


def _leaves(file: ParquetFile) -> list[str]:
    """The paths of all columns: ``retrieved.list.element.text``."""
    return [file.schema.column(n).path for n in range(len(file.schema))]


def _columns(file: ParquetFile, of_documents: Collection[str] | None) -> list[str]:
    """The paths of the columns that are read."""
    paths = [path for path in _leaves(file) if not _is_index(path)]
    if of_documents is None:
        return paths
    dropped = {*_DOCUMENT} - {*of_documents}
    of_lists = [path for path in paths if path.split(".")[0] == "retrieved"]
    unread = [
        path
        for path in of_lists
        if next(filter(_DOCUMENT.__contains__, path.split(".")[1:]), "") in dropped
    ]
    if unread == of_lists:  # of documents with texts alone, say: the lists would be gone with them
        unread = []
    return [path for path in paths if path not in unread and path.split(".")[0] != "stages"]


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
    fields = {field.name: field.type for field in schema if not _is_index(field.name)}
    if "query_id" in fields and "rank" in fields and "gold" not in fields:
        raise DataError(
            "a row a document, as kragx run writes results for data frames; a row a question is "
            "expected, with nested lists",
            path=shown(name),
            remedy="name the results (.jsonl) beside it",
        )
    kinds = [_element(kind) for name in ("gold", "retrieved") if (kind := fields.get(name))]
    plain = all(kind is not None for kind in kinds) and fields.keys() <= GOLD.fields.keys()
    return plain and any(types.is_struct(kind) for kind in kinds)


def _element(kind: pa.DataType) -> pa.DataType | None:
    """What lists of a type hold: structs, or nothing known where all are empty; else None."""
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
        return kind if types.is_struct(kind) or types.is_null(kind) else None
    return kind if types.is_null(kind) else None


# -- by columns ------------------------------------------------------------------------------------


def _block(first: int, batch: pa.RecordBatch) -> Batch:
    """The questions of a batch in which all is plain.

    It checks nothing that the checks of records do not check as well.

    Raises:
        _Other: not all is.
    """
    n = batch.num_rows
    columns = dict(zip(batch.schema.names, batch.columns))
    column = columns.pop
    known_texts().make_room()
    docs, answered = _entries(column("retrieved", None), n, _DOCUMENT, "score")
    golds, _ = _entries(column("gold", None), n, _ITEM, "grade")
    errors = _texts(column("error", None), n)
    seconds = _numbers(column("seconds", None), n)
    if not all(own is None or 0 <= own <= LONGEST for own in seconds):
        raise _Other
    for error, n_docs in zip(errors, docs.texts.n_texts.tolist()):
        if error is not None and (n_docs or not error.strip()):
            raise _Other
    more: dict[str, Sequence[Any]] = {
        "query_type": _texts(column("query_type", None), n),
        "expected_doc_types": _text_lists(column("expected_doc_types", None), n),
        "answerable": _flags(column("answerable", None), n),
        "reference": _texts(column("reference", None), n),
        "metadata": _metadata(column("metadata", None), n),
    }
    block = Batch(
        range(first, first + n),
        _names(_texts(_ids(column("query_id", None)), n), needed=True),  # type: ignore[arg-type]
        _texts(column("query", None), n),
        golds,
        docs,
        [
            "failed" if error is not None else "answered" if is_there else "missing"
            for error, is_there in zip(errors, answered)
        ],
        seconds,
        {row: error for row, error in enumerate(errors) if error is not None},
        {name: values for name, values in more.items() if any(map(_says, values))},
    )
    if any(other.null_count < n for name, other in columns.items() if not _is_index(name)):
        raise _Other
    return block


def _says(value: object) -> bool:
    """Whether a field says anything."""
    return value is not None and value not in ((), {})


def _entries(
    array: pa.Array | None, n: int, known: Collection[str], number: str
) -> tuple[Entries, Sequence[bool]]:
    """The documents or gold items of all rows, and which rows have a list of them."""
    from pyarrow import types

    if array is None or types.is_null(array.type):
        no_numbers = np.empty(0, np.int64)
        nothing = Lists(known_texts().texts, no_numbers, np.zeros(n, np.int64))
        return Entries(nothing), [False] * n
    structs, lengths, is_there = _elements(array)
    fields = {name: own for name, own in _fields(structs, known).items() if _has_any(own)}
    size, no_text = len(structs), np.full(len(structs), NO_TEXT)
    ids = _names(_texts(_ids(fields["id"]), size)) if "id" in fields else None
    numbers = _known_numbers(fields["text"], of=number) if "text" in fields else no_text
    values = _numbers(fields.get(number), size, finite=number == "grade")
    others = None
    if "alternatives" in fields:
        of_each, _ = _entries(fields["alternatives"], size, _DOCUMENT, "score")
        others = of_each.documents() if of_each.texts.n_texts.any() else None
    is_something = numbers >= 0
    for own in (ids, others):
        if own is not None:
            is_something = is_something | np.fromiter(map(bool, own), bool, size)
    if not is_something.all():
        raise _Other  # it is no document, or its text is not read
    return Entries(
        Lists(known_texts().texts, numbers, lengths),
        ids,
        values if number in fields else None,
        _metadata(fields["metadata"], size) if "metadata" in fields else None,
        others,
    ), is_there


def _has_any(array: pa.Array) -> bool:
    return array.null_count < len(array)  # type: ignore[no-any-return]


def _known_numbers(array: pa.Array, of: str) -> Ints:
    """The numbers of texts among the known ones."""
    texts, of_row = _coded(array, len(array))
    own = [text for text in texts if text is not None]
    if not {*map(type, own)} <= {str}:
        raise _Other
    if of == "grade" and not all(map(str.strip, own)):
        raise _Other  # an empty gold text stands in every document, which is an error
    numbers = known_texts().numbers(own) + [NO_TEXT] * (len(texts) - len(own))  # None is last
    of_texts: Ints = np.array(numbers, np.int64)[of_row]
    return of_texts


def _elements(array: pa.Array) -> tuple[Any, Ints, list[bool]]:
    """The elements of the lists of all rows, how many each row has, and which rows have a list."""
    from pyarrow import compute, types

    if not (types.is_list(array.type) or types.is_large_list(array.type)):
        raise _Other
    lengths = compute.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return array.flatten(), lengths.astype(np.int64), array.is_valid().to_pylist()


def _text_lists(array: pa.Array | None, n: int) -> list[tuple[str, ...]]:
    """The texts of each row's list."""
    from pyarrow import types

    if array is None or types.is_null(array.type):
        return [()] * n
    elements, lengths, _ = _elements(array)
    texts = _texts(elements, len(elements))
    if None in texts:
        raise _Other
    stream = iter(texts)
    return [tuple(islice(stream, length)) for length in lengths.tolist()]  # type: ignore[arg-type]


def _fields(structs: pa.StructArray, known: Collection[str]) -> dict[str, pa.Array]:
    """The fields of structs by name; none where all lists are empty."""
    from pyarrow import types

    if types.is_null(structs.type) and not len(structs):
        return {}
    if not types.is_struct(structs.type):
        raise _Other
    names = [field.name for field in structs.type]
    if structs.null_count or not set(names) <= {*known} or len(set(names)) < len(names):
        raise _Other
    return dict(zip(names, structs.flatten()))


def _coded(array: pa.Array | None, n: int) -> tuple[list[Any], np.ndarray[Any, np.dtype[np.int64]]]:
    """The distinct values of a column, None among them, and which of them stands in each row."""
    from pyarrow import types

    if array is None or types.is_null(array.type):
        return [None], np.zeros(n, np.int64)
    if types.is_struct(array.type) or types.is_map(array.type):
        return array.to_pylist(), np.arange(n)
    if not types.is_dictionary(array.type):
        if not (types.is_string(array.type) or types.is_large_string(array.type)):
            raise _Other
        array = array.dictionary_encode()
    of_row = array.indices.cast("int64").fill_null(len(array.dictionary)).to_numpy()
    if len(of_row) and not 0 <= of_row.min() <= of_row.max() <= len(array.dictionary):
        raise _Other  # of a broken file
    is_used = np.zeros(len(array.dictionary) + 1, bool)
    is_used[of_row] = True
    try:
        values = array.dictionary.filter(_bools(is_used[:-1])).to_pylist()
    except UnicodeDecodeError:
        raise _Other from None
    if not all(isinstance(value, str) for value in values):
        raise _Other
    if is_used[-1]:
        values.append(None)
    return values, (np.cumsum(is_used) - 1)[of_row]


def _bools(flags: Any) -> pa.Array:
    import pyarrow

    return pyarrow.array(flags)


def _texts(array: pa.Array | None, n: int) -> list[str | None]:
    """The texts of a column."""
    values, of_row = _coded(array, n)
    if values and isinstance(values[0], (dict, list)):
        raise _Other
    return [values[own] for own in of_row.tolist()]


def _ids(array: pa.Array | None) -> pa.Array | None:
    """Ids as texts; a whole number is its digits."""
    from pyarrow import types

    if array is not None and types.is_integer(array.type):
        return array.cast("string")
    return array


def _names(ids: list[str | None], *, needed: bool = False) -> list[str | None]:
    """Ids of which none is empty; if they are `needed`, none is missing."""
    if any((own is None and needed) or (own is not None and not own.strip()) for own in ids):
        raise _Other
    return ids


def _numbers(array: pa.Array | None, n: int, *, finite: bool = True) -> list[float | None]:
    """The numbers of a column, none of them NaN."""
    from pyarrow import types

    if array is None or types.is_null(array.type):
        return [None] * n
    if not (types.is_integer(array.type) or types.is_floating(array.type)):
        raise _Other
    values: list[float | None] = array.cast("float64", safe=False).to_pylist()
    known = np.array([value for value in values if value is not None], np.float64)
    if np.isnan(known).any() or (finite and np.isinf(known).any()):
        raise _Other
    return values


def _flags(array: pa.Array | None, n: int) -> list[bool | None]:
    from pyarrow import types

    if array is None or types.is_null(array.type):
        return [None] * n
    if not types.is_boolean(array.type):
        raise _Other
    flags: list[bool | None] = array.to_pylist()
    return flags


def _metadata(array: pa.Array | None, n: int) -> list[dict[str, Any]]:
    """The metadata of each row, a mapping of its own."""
    values, of_row = _coded(array, n)
    mappings = [_mapping(value) for value in values]
    return [dict(mappings[own]) for own in of_row.tolist()]


def _mapping(value: object) -> dict[str, Any]:
    mapping = _about(value)
    if mapping is None:
        return {}
    if not isinstance(mapping, dict):
        raise _Other
    return mapping


# -- by records ------------------------------------------------------------------------------------


def _records(
    first: int, batch: pa.RecordBatch, problems: Problems, *, nested: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a batch as the records of a JSON Lines file: without what is null."""
    for offset in range(batch.num_rows):
        try:
            (values,) = batch.slice(offset, 1).to_pylist()
        except _UNREADABLE as error:
            problems.add(first + offset, None, _unreadable(batch, offset, error))
            continue
        values = {name: value for name, value in values.items() if not _is_index(name)}
        yield first + offset, _present(values) if nested else values


def _unreadable(batch: pa.RecordBatch, offset: int, error: Exception) -> str:
    """Which column of a row cannot be read, and why."""
    for name, column in zip(batch.schema.names, batch.columns):
        try:
            column.slice(offset, 1).to_pylist()
        except _UNREADABLE as of_column:
            is_text = isinstance(of_column, UnicodeDecodeError)
            reason = "not UTF-8; write it as UTF-8" if is_text else str(of_column)
            return f"the column {name!r} cannot be read: {reason}"
    return f"the row cannot be read: {error}"


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that hold something, as JSON has them."""
    return {
        name: _about(value) if name in _JSON else _plain(value)
        for name, value in values.items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_present(own) if isinstance(own, dict) else own for own in value]
    return value


def _about(value: Any) -> Any:
    """What a column `metadata` says: JSON as a text, a struct, or a map."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError, DataError):
            return json.loads(value, object_pairs_hook=unique_keys)
        return value
    if isinstance(value, list) and all(isinstance(own, tuple) for own in value):
        return dict(value)
    if isinstance(value, dict):
        return {name: own for name, own in value.items() if own is not None}
    return value


def _is_index(name: str) -> bool:
    """Whether a column is the index of a DataFrame, which pandas writes beside."""
    return name.startswith("__index_level_")
