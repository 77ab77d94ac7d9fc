"""What is known of what is forbidden in a source, and of searches, before it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats import tabular
from kragx.data.formats.encodings import marked
from kragx.data.formats.format import FORBIDDEN_IDS
from kragx.data.formats.jsonl import ending, first_line, json_value, open_bytes
from kragx.data.formats.located import files_of, is_located
from kragx.data.formats.parquet import Table
from kragx.data.search_records import SEARCHES
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
    """Whether a source says anywhere that something is forbidden; None of standard input."""
    return names_any(source, path, _NAMES, FORBIDDEN)


def names_searches(source: object, path: str | Path | None, encoding: str | None) -> bool | None:
    """Whether a source names searches anywhere; None of standard input.

    Args:
        source: as of `kragx.read_dataset`.
        path: the same, where it is one.
        encoding: of CSV, where it is named.
    """
    is_table = path is not None and ending(path) in tabular.READERS
    if path is not None and is_table and Path(path).is_file():
        with open_bytes(path) as file:
            if encoding is not None or marked(file.read(4)):
                return True  # in which its name may be other bytes
    return names_any(source, path, (SEARCHES,), SEARCHES if is_table else f'"{SEARCHES}"')


def names_any(
    source: object, path: str | Path | None, names: Sequence[str], text: str
) -> bool | None:
    """Whether a source has one of some fields anywhere; None of standard input.

    Args:
        source: as of `kragx.read_dataset`.
        path: the same, where it is one.
        names: the fields.
        text: what a file is searched for, which takes a small part of the time of reading it.
    """
    if isinstance(source, Table) or is_located(source):
        files = [source] if isinstance(source, Table) else map(Table, files_of(source))
        return any(name in file.columns() for file in files for name in names)
    if path is not None:
        if str(path) == "-":
            return None
        return Path(path).is_file() and (ending(path) in _PACKED or _holds(path, text))
    if tabular.is_table(source):
        frames = source.values() if isinstance(source, Mapping) else [source]
        return any(
            name in getattr(frame, "column_names", getattr(frame, "columns", ()))
            for frame in frames
            for name in names
        )
    if isinstance(source, Mapping):
        return any(name in source for name in names)
    records = source if isinstance(source, Sequence) and not isinstance(source, str) else ()
    return any(
        name in record for record in records if isinstance(record, Mapping) for name in names
    )


def _holds(path: str | Path, text: str) -> bool:
    """Whether a file holds a name anywhere."""
    name, before = text.encode(), b""
    with open_bytes(path) as file:
        while part := file.read(_AT_ONCE):
            if name in before + part:
                return True
            before = part[-len(name) :]
    return False
