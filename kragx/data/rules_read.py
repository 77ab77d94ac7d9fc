"""What is known of what is forbidden in a source before its questions are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats import tabular
from kragx.data.formats.format import FORBIDDEN_IDS
from kragx.data.formats.jsonl import ending, first_line, json_value, open_bytes
from kragx.data.formats.located import files_of, is_located
from kragx.data.formats.parquet import Table
from kragx.data.text import Mender

_NAMES = (FORBIDDEN, FORBIDDEN_IDS)
_AT_ONCE = 8 << 20
_PACKED = (".xlsx", ".xls")


def rules_before(source: object, path: str | Path | None) -> Mapping[str, Any]:
    """The rules that stand before the first question, or in the schema of a Parquet file.

    Args:
        source: as of `kragx.read_dataset`.
        path: the same, where it is one.
    """
    if isinstance(source, Table) or is_located(source):
        files = [source] if isinstance(source, Table) else map(Table, files_of(source))
        return next((rules for file in files if (rules := file.rules())), {})
    first: object = None
    if path is not None and Path(path).is_file() and ending(path) not in tabular.READERS:
        line = first_line(path)
        if line.startswith("{") and f'"{FORBIDDEN}"' in line:
            first = _json(line)
    elif isinstance(source, Sequence) and not isinstance(source, (str, bytes)) and source:
        first = source[0]
    if isinstance(first, Mapping) and first.keys() == {FORBIDDEN}:
        rules = first[FORBIDDEN]
        return rules if isinstance(rules, Mapping) else {}
    return {}


def _json(line: str) -> object:
    try:
        return json_value(line, Mender())
    except ValueError:
        return None  # which whoever reads the file says


def names_forbidden(source: object, path: str | Path | None) -> bool | None:
    """Whether a source says anywhere that something is forbidden; None of standard input.

    A file is searched for the name, which takes a small part of the time of reading it.
    """
    if isinstance(source, Table) or is_located(source):
        files = [source] if isinstance(source, Table) else map(Table, files_of(source))
        return any(name in file.columns() for file in files for name in _NAMES)
    if path is not None:
        if str(path) == "-":
            return None
        return Path(path).is_file() and (ending(path) in _PACKED or _holds(path))
    if tabular.is_table(source):
        frames = source.values() if isinstance(source, Mapping) else [source]
        return any(
            name in getattr(frame, "column_names", getattr(frame, "columns", ()))
            for frame in frames
            for name in _NAMES
        )
    if isinstance(source, Mapping):
        return any(name in source for name in _NAMES)
    records = source if isinstance(source, Sequence) and not isinstance(source, str) else ()
    return any(
        name in record for record in records if isinstance(record, Mapping) for name in _NAMES
    )


def _holds(path: str | Path) -> bool:
    """Whether a file holds the name anywhere."""
    name, before = FORBIDDEN.encode(), b""
    with open_bytes(path) as file:
        while part := file.read(_AT_ONCE):
            if name in before + part:
                return True
            before = part[-len(name) :]
    return False
