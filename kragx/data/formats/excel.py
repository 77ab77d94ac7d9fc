"""The first sheet of an Excel file, as its user sees it.

A workbook holds more than what is seen, and less: a formula is kept with the value that Excel gave
it last, if Excel ever did; 007 may be the number 7 in a format; of merged cells only the first
holds something. What cannot be told apart from an empty cell is refused, by its cell.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kragx.data.formats.format import is_index, unique_names
from kragx.data.formats.jsonl import check_unpacked, open_bytes
from kragx.data.problems import DataWarning, Problems
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, inside, needing
from kragx.ground.printing import phrase

_OLD = bytes.fromhex("d0cf11e0")
"""How workbooks of before 2007 begin, and those with a password."""

_MOST = 64 << 20
"""Bytes of XML, each of which takes many more in memory."""

_DIGITS = 15
"""As many as Excel keeps of a number."""


def read_excel(
    path: str | Path, problems: Problems | None = None, encoding: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of the first sheet, numbered as Excel does, with numbers as texts.

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
                    f"{merged[number]}: merged cells, of which the first alone holds something; "
                    "unmerge them and fill each"
                )
            values = dict(zip(names, map(_value, names, formulas, cells)))
        except DataError as error:
            problems.add(number, error.field or None, error.problem)
        else:
            values.pop("", None)
            yield number, values


def _sheets(path: str | Path) -> tuple[Any, Any]:
    """The first sheet as it was written, with formulas, and as it is shown, with values."""
    with needing("pandas", "reading Excel files"):
        import openpyxl  # type: ignore[import-untyped]
    with open_bytes(path) as file:
        if file.read(len(_OLD)) == _OLD:
            raise DataError(
                f"{path}: a workbook of an old kind, or one with a password; save it as .xlsx "
                "without"
            )
    try:
        with zipfile.ZipFile(path) as parts:
            n_bytes = sum(part.file_size for part in parts.infolist())
        check_unpacked(path, n_bytes, Path(path).stat().st_size, _MOST)
        written, *others = openpyxl.load_workbook(path).worksheets
        shown = openpyxl.load_workbook(path, data_only=True).worksheets[0]
    except DataError:
        raise
    except Exception as error:  # a damaged file makes its reader raise whatever it meets
        raise DataError(f"{path}: cannot be read as Excel: {error}") from None
    if others:
        message = phrase(
            "{path}: the sheet {first!r} is read, and {n} more are not; save them as files",
            path=path,
            first=written.title,
            n=len(others),
        )
        warnings.warn(message, DataWarning, stacklevel=outside())
    return written, shown


def _value(name: str, written: Any, cell: Any) -> Any:
    """What a cell of a column shows: a text, a date, or None.

    Raises:
        DataError: it shows an error or nothing for certain, or its column has no name.
    """
    value = cell.value
    problem = ""
    if cell.data_type == "e":
        problem = f"holds the error {value}; mend it in Excel"
    elif value is None and written.data_type == "f" and cell.data_type != "str":
        formula = getattr(written.value, "text", written.value)
        problem = f"the formula {formula} has no value; open the file in Excel and save it"
    elif isinstance(value, (int, float)) and abs(value) >= 10**_DIGITS:
        problem = (
            f"a number of more than {_DIGITS} digits, of which Excel keeps no more; format the "
            "column as text and type it again"
        )
    elif not (name or value is None or not str(value).strip()):
        is_row_number = cell.column == 1 and is_index(value)  # as pandas writes them
        problem = "" if is_row_number else "its column has no name in the first row"
    if problem:
        raise DataError(f"{cell.coordinate}: {problem}", field=name)
    if isinstance(value, bool):
        return str(value).upper()
    if not isinstance(value, (int, float)):
        return value
    text = str(int(value)) if value == int(value) else str(value)
    zeros = cell.number_format
    return text.zfill(len(zeros)) if set(zeros) == {"0"} else text  # 007 is the number 7
