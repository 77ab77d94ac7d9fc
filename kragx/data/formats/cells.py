"""Cells of CSV that kragx writes: no spreadsheet computes one, and each is read back as it was."""

import re
from collections.abc import Iterable

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
    return text == before or ("?" in text and text == "".join(map(_in_cp949, before)))


def _in_cp949(letter: str) -> str:
    try:
        letter.encode("cp949")
    except UnicodeEncodeError:
        return "??" if ord(letter) > 0xFFFF else "?"
    return letter


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
