"""Cells of tables: what they say of a field, and how kragx writes CSV.

No spreadsheet computes a cell that kragx writes, and each is read back as it was.
"""

import ast
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kragx.data.formats.format import Kind
from kragx.data.formats.jsonl import json_value
from kragx.data.text import SurrogateRepair, read_number
from kragx.data.weights import REMEDIES
from kragx.ground.errors import DataError, inside, shorten
from kragx.ground.printing import message

_BEYOND = re.compile("[\U00010000-\U0010ffff]")
_SEPARATORS = {"ids": "[|;\n,]", "gold ids": "[|;\n,]", "texts": "\n", "gold texts": "\n"}
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

# Excel of East Asia may read the wide ones as formulas, too. Spreadsheets strip what stands before.
_FORMULA = re.compile(r"'*(?:[\t\r\n]|[\s\x00-\x1f\ufeff\u200b]*[=+\-@＝＋－＠])")
_NUMBER = re.compile(r"\s*[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
_QUOTED = re.compile(r'[",;\x00-\x1f\x85\u2028\u2029]|^\s|\s$')


def csv_line(cells: Iterable[object]) -> str:
    """A line of CSV, ended by a line feed; None is empty, numbers are as Python writes them."""
    return ",".join(map(_cell, cells)) + "\n"


def _cell(value: object) -> str:
    text = "" if value is None else guarded(value) if isinstance(value, str) else str(value)
    # Python's own writer leaves a lone carriage return bare, at which readers begin a new row.
    return '"{}"'.format(text.replace('"', '""')) if _QUOTED.search(text) else text


def guarded(text: str) -> str:
    """A text that a spreadsheet would take for a formula with an apostrophe before it.

    A question that begins with ``=`` must not be computed, less still one that a stranger has
    typed. So is a text that begins like one with an apostrophe, so that `unguarded` can tell.
    """
    return f"'{text}" if _is_formula(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` was given."""
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def same_in_sheet(value: object, stored: object) -> bool:
    """Whether a value is the stored one, as far as a spreadsheet program can save it.

    Some know one kind of line break, and Excel of Korean Windows writes question marks for what
    cp949 lacks, two for an emoji.
    """
    if not (isinstance(value, str) and isinstance(stored, str)):
        return value == stored
    text, before = (re.sub(r"\r\n?", "\n", lines) for lines in (value, stored))
    in_cp949 = _BEYOND.sub("??", before).encode("cp949", "replace").decode("cp949")
    return text == before or ("?" in text and text == in_cp949)


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


# -- read ------------------------------------------------------------------------------------------


def cell_value(cell: Any, kind: Kind | None, name: str, column: str = "") -> Any:
    """What a cell says of a field, read by the field's kind if it is a text.

    Raises:
        DataError: it is broken; the error's field is its column.
    """
    text = cell.strip() if isinstance(cell, str) else ""
    if not text or kind is None or kind == "text":
        return cell
    if kind in ("word", "passages"):
        return text if kind == "word" else _passages(text, cell)
    if kind == "flag":
        return _FLAGS.get(text.lower(), cell)
    if kind == "number":
        if (number := read_number(text)) is None:
            problem = message("must be a number, not {value}", value=shorten(text))
            point = message("write decimals with a point") if "," in text else ""
            raise DataError(problem, field=column, remedy=REMEDIES.get(name, point))
        return number
    if kind == "json" or text.startswith(("[", "{")):
        with inside(column):
            return json_cell(text, _OF_TEXTS.get(name, ""))
    return [part.strip() for part in re.split(_SEPARATORS[kind], text) if part.strip()]


def _passages(text: str, cell: str) -> list[str] | str:
    """The texts of a list as Python, and so pandas, or JSON prints it; else the cell as it is."""
    values: object = None
    if text.startswith("[") and text.endswith("]"):
        with suppress(DataError):
            values = json_cell(text)
    return values if isinstance(values, list) and {*map(type, values)} <= {str} else cell


_OF_TEXTS = {
    "gold": message('write [{{"text": "..."}}], or call a column of plain texts answer_passage'),
    "retrieved": message('write [{{"text": "..."}}]'),
}
"""What may be meant by a plain text in one of these columns."""


def json_cell(text: str, remedy: str = "") -> Any:
    """The value of a cell that holds JSON, or a list or mapping as Python prints it.

    Raises:
        DataError: it is neither, or is JSON in which a key stands twice.
    """
    for read in (lambda cell: json_value(cell, SurrogateRepair()), ast.literal_eval):
        try:
            return read(text)
        except DataError:
            raise
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    problem = message(
        "looks like a list but is none: {text!r}"
        if text.startswith("[")
        else "JSON is expected, not {text!r}",
        text=text[:40],
    )
    raise DataError(problem, remedy=remedy)
