"""Rows of tables: CSV, Excel, Parquet and DataFrames, as records like those of JSON Lines.

A cell holds text. Where a list is meant it is written as JSON (``["a", "b"]``; nested for
alternatives), as Python prints it, or separated by ``;``, ``|``, a line break or, for ids, a
comma. A column ``metadata.difficulty`` is a field of the metadata. An empty cell is no field, but
one that would list gold is an empty list: the column is there, and says that there is none.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import open_bytes
from kragx.data.formats.problems import Broken, refusing
from kragx.errors import DataError, MissingExtraError, UsageError, nearest

Row = tuple[int, dict[str, Any]]
"""A line and its cells by column, None for an empty one; a row without any cell is passed over."""

ENCODINGS = ("utf-8-sig", "cp949")
"""Tried in this order: UTF-8 with or without a mark (which other bytes hardly ever are), then the
code page in which Korean Windows saves CSV."""

_LISTS = {
    "expected_doc_types": ",",
    "relevant_chunk_ids": ",",
    "highly_relevant_chunk_ids": ",",
    "irrelevant_chunk_ids": ",",
    "retrieval_gt": ",",
    "refs": ",",
    "gold_texts": "",
    "generation_gt": "",
    "reference_contexts": "",
    "retrieved_contexts": "",
    "reference_context_ids": ",",
    "retrieved_context_ids": ",",
    "metadata.facts": "",
}
"""Fields that hold lists, each with the further separator that its cells may use."""

_GOLD_LISTS = frozenset(_LISTS) - {
    "expected_doc_types",
    "generation_gt",
    "retrieved_contexts",
    "retrieved_context_ids",
    "metadata.facts",
}
_STRUCTURED = ("gold", "retrieved", "metadata")
_TRUE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def read_csv(
    path: str | Path, encoding: str | None = None, broken: Broken | None = None
) -> Iterator[Row]:
    """The rows of a CSV file (tabs in ``.tsv``), each with the line on which it begins.

    A row with a misplaced quote or with other columns than the header is given to `broken`; reading
    goes on with the next line.

    Raises:
        DataError: the file cannot be read or decoded, or has no header; or, without `broken`, a row
            is broken.
    """
    wrong = broken or refusing(path)
    text = _decoded(path, encoding)
    separator = "\t" if str(path).lower().endswith(".tsv") else ","
    lines = io.StringIO(text, newline="").readlines()
    header: list[str] | None = None
    line = 1
    while line <= len(lines):
        reader = csv.reader(lines[line - 1 :], delimiter=separator, strict=True)
        begun = line - 1  # lines before this reader's first
        try:
            for cells in reader:
                if header is None:
                    header = _header(cells, path)
                elif any(cell.strip() for cell in cells):
                    if len(cells) == len(header):
                        yield line, _row(header, cells)
                    else:
                        wrong(
                            line,
                            f"{len(cells)} cells, the header has {len(header)}; a cell that holds "
                            "a comma or line break needs double quotes around it",
                        )
                line = begun + reader.line_num + 1
        except csv.Error as error:
            if header is None:
                raise DataError(f"{path}:{line}: not valid CSV: {error}") from None
            wrong(line, f"not valid CSV: {error}")
            line += 1
    if header is None:
        raise DataError(f"{path}: the file is empty; a header with the fields' names is expected")


def _header(cells: list[str], path: str | Path) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in names:
        if not name:
            raise DataError(f"{path}:1: a column has no name; the first line names the fields")
        if names.count(name) > 1:
            raise DataError(f"{path}:1: the column {name!r} stands twice")
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise DataError(
            f"{path}:1: the columns are not separated by commas; save it as CSV with commas, or "
            "as .tsv with tabs"
        )
    return names


def _decoded(path: str | Path, encoding: str | None) -> str:
    with open_bytes(path) as file:
        raw = file.read()
    for name in (encoding,) if encoding else ENCODINGS:
        try:
            return raw.decode(name)
        except UnicodeDecodeError:
            continue
        except LookupError:
            raise UsageError(
                f"encoding: {name!r} is unknown; {nearest(str(name), ('utf-8', *ENCODINGS))}"
            ) from None
    tried = encoding or ", ".join(("utf-8", *ENCODINGS))
    raise DataError(f"{path}: cannot be decoded as {tried}; name its encoding")


def read_excel(path: str | Path) -> Iterator[Row]:
    """The rows of the first sheet of an Excel file, numbered as Excel does."""
    pandas = _pandas("Excel files")
    try:
        frame = pandas.read_excel(path, dtype=str, keep_default_na=False)
    except ImportError:
        if find_spec("openpyxl") is None:
            raise MissingExtraError("reading Excel files", "pandas") from None
        raise DataError(
            f"{path}: a workbook of an old kind, or one with a password; save it as .xlsx without"
        ) from None
    except Exception as error:  # a damaged file makes its readers raise whatever they meet
        raise DataError(f"{path}: cannot be read as Excel: {error}") from None
    yield from rows_of_frame(frame)


def read_parquet(path: str | Path) -> Iterator[Row]:
    """The rows of a Parquet file, numbered from 1."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("reading Parquet files", "parquet") from None
    try:
        rows = parquet.read_table(path).to_pylist()
    except (OSError, ArrowException) as error:
        raise DataError(f"{path}: cannot be read as Parquet: {error}") from None
    for number, cells in enumerate(rows, start=1):
        row = _row(cells, cells.values())
        if not _empty(row):
            yield number, row


def rows_of_frame(frame: Any) -> Iterator[Row]:
    """The rows of a DataFrame, numbered as in a spreadsheet with one line of header."""
    names = [str(name).strip() for name in frame.columns]
    for number, cells in enumerate(frame.itertuples(index=False, name=None), start=2):
        row = _row(names, map(_plain, cells))
        if not _empty(row):
            yield number, row


def _row(names: Iterable[str], cells: Iterable[Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(cell, str) and not cell.strip() else cell
        for name, cell in zip(names, cells, strict=True)
    }


def _empty(row: Mapping[str, Any]) -> bool:
    return all(cell is None for cell in row.values())


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame, told without importing pandas."""
    return hasattr(value, "itertuples") and hasattr(value, "columns")


def _plain(cell: Any) -> Any:
    """A cell as plain Python: arrays as lists, missing values as None."""
    if hasattr(cell, "tolist"):  # numpy's arrays and numbers
        cell = cell.tolist()
    if isinstance(cell, (list, tuple)):
        return [_plain(each) for each in cell]
    # NaN, NaT and NA are what is not equal to itself, or cannot tell.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:  # noqa: PLR0124
        return None
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)  # a column of whole numbers with a gap becomes one of floats
    return cell


def _pandas(what: str) -> Any:
    try:
        import pandas
    except ImportError:
        raise MissingExtraError(f"reading {what}", "pandas") from None
    return pandas


def renamed(
    row: Mapping[str, Any], columns: Mapping[str, str] | None, where: str
) -> dict[str, Any]:
    """A row with its columns under the names of fields.

    Args:
        row: by column.
        columns: for each field the column that holds it; None where columns are named as fields.
        where: file and line, for errors.

    With `columns`, a column that is neither mapped nor named like a field goes to the metadata.
    """
    mapped = {column: field for field, column in (columns or {}).items()}
    record: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for column, value in row.items():
        name = mapped.get(column, column)
        if value is None:
            if name in _GOLD_LISTS:
                record[name] = []
            continue
        parsed = _cell(name, value, f"{where} {column}")
        if name == "metadata" and isinstance(parsed, dict):
            metadata = {**parsed, **metadata}
        elif name.startswith("metadata."):
            metadata[name.removeprefix("metadata.")] = parsed
        elif columns and column not in mapped and name not in _FIELDS:
            metadata[column] = parsed
        else:
            record[name] = parsed
    if metadata:
        record["metadata"] = metadata
    return record


_FIELDS = (
    *(name for name in _LISTS if "." not in name),
    *_STRUCTURED,
    "query_id",
    "query",
    "query_type",
    "answerable",
    "reference",
    "qid",
    "user_input",
    "eval_id",
)


def _cell(field: str, value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return value
    if field == "answerable":
        return _TRUE.get(value.strip().lower(), value)
    if field not in _LISTS and field not in _STRUCTURED:
        return value.strip() if field.endswith(("id", "type")) else value
    text = value.strip()
    if text.startswith(("[", "{")):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                continue
        raise DataError(f"{where}: looks like a list but is none: {text[:40]!r}")
    if field in _STRUCTURED:
        raise DataError(f"{where}: JSON is expected, not {text[:40]!r}")
    separators = "|;\n" + _LISTS[field] if _LISTS[field] else "\n"
    return [part.strip() for part in re.split(f"[{separators}]", text) if part.strip()]
