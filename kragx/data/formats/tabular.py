"""Rows of tables: CSV, Excel, Parquet and DataFrames, as records like those of JSON Lines.

A cell holds text. Where a list is meant it is written as JSON (``["a", "b"]``; nested for
alternatives), as Python prints it, or separated by ``;``, ``|``, a line break or, for ids, a
comma. A column ``metadata.difficulty`` is a field of the metadata. An empty cell is no field, but
one that would list gold is an empty list: the column is there, and says that there is none.
"""

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats import FORMATS
from kragx.data.formats.cells import cell_value
from kragx.data.formats.document_rows import NAMES, plain_name
from kragx.data.formats.format import Kind, unique_names
from kragx.data.formats.jsonl import check_unpacked, ending, open_bytes
from kragx.data.formats.parquet import ParquetTable
from kragx.data.formats.text_files import GUESSED, decoded
from kragx.data.problems import DataWarning, Level, Problems
from kragx.data.rules import plain_value
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, UsageError, inside, nearest, needing
from kragx.ground.printing import message

Row = tuple[int, dict[str, Any]]
"""A line and its cells by column; see `filled`."""

FIELDS: Mapping[str, Kind] = {
    "metadata.facts": "texts",
    **{name: kind for reader in FORMATS.values() for name, kind in reader.fields.items()},
}
"""Every field of every format, and what it holds."""

_COMMON = frozenset(name for reader in FORMATS.values() for name in reader.common)

_QUEPID = ["query", "docid", "rating"]  # a question that nobody has rated is a row of one cell
_IN_QUOTES = re.compile('"[^"]*"')
_SEPARATES = {",": message("a comma"), ";": message("a semicolon"), "\t": message("a tab")}
_QUESTIONS = ("query", "question", "user_input")  # what formats call the question's text
_BESIDE_QUERY = {
    mark for reader in FORMATS.values() if "query" in reader.fields for mark in reader.marks
}
# What else a format calls its own may as well be the name of a column of the user's.
_NEARLY = {"query_id", *_QUESTIONS, *(mark for reader in FORMATS.values() for mark in reader.marks)}


def read_csv(
    path: str | Path, problems: Problems | None = None, encoding: str | None = None
) -> Iterator[Row]:
    """The rows of a CSV file (tabs in ``.tsv``), each with the line on which it begins.

    Cells are separated by ``;`` or tabs where the header has no comma outside of quotes: so do
    spreadsheets write it where a comma stands in numbers.

    A row with a misplaced quote or with other columns than the header is reported to `problems`;
    reading goes on with the next line.

    Raises:
        DataError: the file cannot be read or decoded, or has no header; or, without `problems`, a
            row is broken.
    """
    problems = problems or Problems(str(path), strict=True)
    with open_bytes(path) as file, inside(path=str(path)):
        text, name = decoded(file.read(), encoding)
    if name == GUESSED and encoding is None:
        problems.guessed(name)
    first = next(filter(str.strip, io.StringIO(text, newline="")), "")
    signs = (sign for sign in ",;\t" if sign in _IN_QUOTES.sub("", first))
    separator = "\t" if ending(path) == ".tsv" else next(signs, ",")
    # A cell may hold a whole document, all of which is in memory by now.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    # Strict, as a misplaced quote would swallow what follows into one cell without a word.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header, n_columns = list[str](), 0
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            n_lines = reader.line_num - line + 1
            problem = message(
                "not valid CSV: {error}; a quote that opens here takes {n} lines"
                if n_lines > 1
                else "not valid CSV: {error}",
                error=error,
                n=n_lines,
            )
            problems.add(line, None, problem)
            if not header:
                problems.refuse()  # nothing else can be told
            continue
        if cells is None:
            break
        if (len(cells) < 2 or not header) and not any(map(str.strip, cells)):
            continue
        if not header:
            header, n_columns = _header(cells, f"{path}:{line}"), len(cells)
            continue
        if header == _QUEPID and len(cells) == 1:
            cells += ["", ""]
        if len(cells) != n_columns or any(map(str.strip, cells[len(header) :])):
            problem = message(
                "{n} cells, the header has {n_columns}; a cell that holds {separator} or line "
                "break needs double quotes around it, and line 1 must name the columns: it is "
                "{first!r}"
                if len(header) == 1
                else "{n} cells, the header has {n_columns}; a cell that holds {separator} or line "
                "break needs double quotes around it",
                n=len(cells),
                n_columns=len(header),
                separator=_SEPARATES[separator],
                first=header[0],
            )
            problems.add(line, None, problem)
            continue
        row = dict(zip(header, cells))
        row.pop("", None)  # the numbers of rows, as pandas writes them
        yield line, row
    if not header:
        raise DataError(
            "{place}: the file is empty; a header with the fields' names is expected", place=path
        )


def _header(cells: list[str], place: str) -> list[str]:
    # Spreadsheets write columns at the end in which nothing stands, or no longer.
    n_named = max(n for n, cell in enumerate(cells, start=1) if cell.strip())
    with inside(path=place):
        names = unique_names(cell.strip() for cell in cells[:n_named])
        if not all(names[1:]):
            raise DataError("a column has no name; the first line names the fields")
    return names


_MOST = 64 << 20
"""Bytes of XML, each of which takes many more in memory."""


def read_excel(
    path: str | Path, problems: Problems | None = None, encoding: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of the first sheet, numbered as Excel does, with numbers as texts, as users see it.

    A formula is kept with the value that Excel gave it last, if it ever did, and of merged cells
    only the first holds something: what cannot be told from an empty cell is refused, by its cell.

    A row with an error, with a formula that has no value, or in merged cells is reported to
    `problems`; reading goes on with the next.

    Raises:
        DataError: the file cannot be read, or its first row names no columns; or, without
            `problems`, a row is broken.
        MissingExtraError: openpyxl is not installed.
    """
    problems = problems or Problems(str(path), strict=True)
    written, shown = _sheets(path)
    merged = {
        row: cells.coord
        for cells in written.merged_cells.ranges
        for row in range(cells.min_row, cells.max_row + 1)
    }
    rows = zip(written.iter_rows(), shown.iter_rows())
    header, _ = next(rows, ((), ()))
    with inside(path=f"{path}:1"):
        names = unique_names(
            "" if cell.value is None else str(cell.value).strip() for cell in header
        )
    for number, (formulas, cells) in enumerate(rows, start=2):
        try:
            if number in merged:
                raise DataError(
                    "{merged}: merged cells, of which the first alone holds something; "
                    "unmerge them and fill each",
                    merged=merged[number],
                )
            values = dict(zip(names, map(_shown_in, names, formulas, cells)))
        except DataError as error:
            problems.add(number, error.field or None, error.problem)
        else:
            values.pop("", None)
            yield number, values


def _sheets(path: str | Path) -> tuple[Any, Any]:
    """The first sheet as it was written, with formulas, and as it is shown, with values."""
    with needing("pandas", "reading Excel files"):
        import openpyxl  # type: ignore[import-untyped]
    try:
        with zipfile.ZipFile(path) as parts:
            n_bytes = sum(part.file_size for part in parts.infolist())
        check_unpacked(path, n_bytes, Path(path).stat().st_size, _MOST)
        with Path(path).open("rb") as file:
            written, *others = openpyxl.load_workbook(file).worksheets
            shown = openpyxl.load_workbook(file, data_only=True).worksheets[0]
    except DataError:
        raise
    except Exception as error:  # a damaged file makes its reader raise whatever it meets
        raise DataError(
            "cannot be read as Excel: {error}",
            path=str(path),
            remedy="save it as .xlsx, without a password",
            error=error,
        ) from None
    if others:
        text = message(
            "{path}: the sheet {first!r} is read, and {n} more are not; save them as files",
            path=path,
            first=written.title,
            n=len(others),
        )
        warnings.warn(text, DataWarning, stacklevel=outside())
    return written, shown


def _shown_in(name: str, written: Any, cell: Any) -> Any:
    """What a cell of a column shows: a text, a date, or None.

    Raises:
        DataError: it shows an error or nothing for certain, or its column has no name.
    """
    value = cell.value
    problem: str = ""
    if cell.data_type == "e":
        problem = message("holds the error {value}; mend it in Excel", value=value)
    elif value is None and written.data_type == "f" and cell.data_type != "str":
        formula = getattr(written.value, "text", written.value)
        problem = message(
            "the formula {formula} has no value; open the file in Excel and save it",
            formula=formula,
        )
    elif isinstance(value, (int, float)) and abs(value) >= 10**15:
        problem = message(
            "a number of more than 15 digits, of which Excel keeps no more; format the column as "
            "text and type it again"
        )
    elif not (name or value is None or not str(value).strip()):
        is_row_number = cell.column == 1 and isinstance(value, int)  # as pandas writes them
        nameless = message("its column has no name in the first row")
        problem = "" if is_row_number else nameless
    if problem:
        raise DataError("{coordinate}: {why}", field=name, coordinate=cell.coordinate, why=problem)
    if isinstance(value, bool):
        return str(value).upper()
    if not isinstance(value, (int, float)):
        return value
    text = str(int(value)) if value == int(value) else str(value)
    zeros = cell.number_format
    return text.zfill(len(zeros)) if set(zeros) == {"0"} else text  # 007 is the number 7


READERS: Mapping[str, Callable[..., Iterator[Row]]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".xlsx": read_excel,
    ".xls": read_excel,
    ".parquet": lambda path, *_: ParquetTable(str(path)).rows(),  # numbered from 1
}
"""What reads a table, by the end of its file's name."""


def rows_of_frame(frame: Any) -> Iterator[Row]:
    """The rows of what `is_frame` tells, numbered as in a spreadsheet with one line of header.

    Raises:
        DataError: two columns have one name.
    """
    columns = frame.column_names if hasattr(frame, "column_names") else frame.columns
    names = unique_names(str(name).strip() for name in columns)
    if hasattr(frame, "itertuples"):
        rows = frame.itertuples(index=False, name=None)
    else:
        rows = frame.iter_rows() if hasattr(frame, "iter_rows") else map(dict.values, frame)
    return enumerate((dict(zip(names, map(plain_value, cells))) for cells in rows), start=2)


def filled(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with None for blank cells, but for those in which nothing stands."""
    for number, cells in rows:
        row = {
            name: None if isinstance(cell, str) and not cell.strip() else cell
            for name, cell in cells.items()
        }
        if any(cell is not None for cell in row.values()):
            yield number, row


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame, of pandas or Polars, or a `Dataset` of Hugging Face.

    Told without importing any of these packages.
    """
    is_frame = hasattr(value, "itertuples") or hasattr(value, "iter_rows")
    is_dataset = hasattr(value, "column_names") and hasattr(value, "features")
    return (is_frame and hasattr(value, "columns")) or is_dataset


def check_columns(columns: Mapping[str, str]) -> None:
    """Raise a `UsageError` unless `columns` says of fields which column holds them."""
    names = sorted({*FIELDS, *NAMES})
    for field, column in columns.items():
        if field not in names and not field.startswith("metadata."):
            raise UsageError(
                "columns.{name}: unknown field; {hint}", name=field, hint=nearest(field, names)
            )
        if not isinstance(column, str):
            raise UsageError(
                "columns.{name}: a column's name is expected, not {column!r}",
                name=field,
                column=column,
            )


def named(
    rows: Iterable[tuple[int | None, Mapping[str, Any]]],
    columns: Mapping[str, str],
    problems: Problems,
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Rows with their cells under the names of fields, as their fields' kinds read them.

    A row with a broken cell is reported and passed over; a column that is not there is reported
    first, for it is why all else is missing.

    Args:
        rows: by column.
        columns: for each field the column that holds it; the others are named as their fields.
        problems: is told what is wrong.

    With `columns`, a column that is neither mapped nor named like a field goes to the metadata.
    """
    fields = {column: field for field, column in columns.items()}
    called: Mapping[str, str] = {}
    required = (*_QUESTIONS, *(reader.key for reader in FORMATS.values()))
    for number, (line, row) in enumerate(rows):
        if number == 0:
            called = _called(row, fields)
        for column in fields.keys() - row.keys() if number == 0 else ():
            level: Level = "error" if fields[column] in required else "warning"
            problem = message(
                "no row has anything in the column {column!r}; {hint}",
                column=column,
                hint=nearest(column, row),
            )
            problems.add(None, f"columns.{fields[column]}", problem, level)
        try:
            record = _record(row, fields, called)
        except DataError as error:
            problems.add(line, error.field, error.problem_and_remedy)
        else:
            yield line, record


def _called(header: Collection[str], fields: Mapping[str, str]) -> dict[str, str]:
    """The fields of columns that are called nearly so: capitals, spaces, hyphens do not matter.

    A question may have any of its names beside gold of a format that calls it `query`.
    """
    names = {*header, *fields.values()}
    called = {
        column: name
        for column in header
        if column not in fields and (name := plain_name(column)) in _NEARLY - names
    }
    names.update(called.values())
    if "query" not in names and not names.isdisjoint(_BESIDE_QUERY):
        questions = (
            name for name in header if fields.get(name, plain_name(name)) in NAMES["query"]
        )
        called |= dict.fromkeys([*questions][:1], "query")
    return called


def _record(
    row: Mapping[str, Any], fields: Mapping[str, str], called: Mapping[str, str]
) -> dict[str, Any]:
    """A row by field; `fields` names those of columns that are named otherwise.

    Raises:
        DataError: a cell is broken; the error's field is its column.
    """
    record: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for column, cell in row.items():
        if not isinstance(column, str):  # csv.DictReader keeps what the header lacks under None
            raise DataError("unknown field", field=str(column))
        name = called.get(column, fields.get(column, column))
        is_mapped = column in fields
        kind = FIELDS.get(name) if is_mapped or not (fields and name in _COMMON) else None
        if cell is None:
            record |= {name: []} if kind in ("gold ids", "gold texts") else {}
            continue
        value = cell_value(cell, kind, name, column)
        if name == "metadata" and isinstance(value, dict):
            parts = value
        elif name.startswith("metadata."):
            parts = {name.removeprefix("metadata."): value}
        elif fields and not is_mapped and kind is None:
            parts = {column: value}
        elif name in record:
            raise DataError(
                "another column holds {name!r} as well; keep one", field=column, name=name
            )
        else:
            record[name] = value
            continue
        for key in [key for key, part in parts.items() if metadata.get(key, part) != part]:
            raise DataError(
                "another column says otherwise of the metadata's {key!r}; keep one",
                field=column,
                key=key,
            )
        metadata |= parts
    return record | ({"metadata": metadata} if metadata else {})
