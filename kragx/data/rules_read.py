"""What is known of what is forbidden in a source, and of searches, before it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
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

_AT_ONCE = 8 << 20
_PACKED = (".xlsx", ".xls")


def rules_before(source: object) -> Mapping[str, Any]:
    """The rules that stand before the first question, or in the schema of a Parquet file.

    Args:
        source: as of `kragx.read_dataset`.
    """
    if isinstance(source, Table) or is_located(source):
        return next((rules for file in _tables(source) if (rules := file.rules())), {})
    first: object = None
    if isinstance(source, (str, Path)):
        is_json = Path(source).is_file() and ending(source) not in tabular.READERS
        line = first_line(source) if is_json else ""
        if line.startswith("{") and f'"{FORBIDDEN}"' in line:
            with suppress(ValueError):  # which whoever reads the file says
                first = json_value(line, Mender())
    elif isinstance(source, Sequence) and not isinstance(source, bytes) and source:
        first = source[0]
    if not isinstance(first, Mapping) or first.keys() != {FORBIDDEN}:
        return {}
    rules = first[FORBIDDEN]
    return rules if isinstance(rules, Mapping) else {}


def names_forbidden(source: object) -> bool | None:
    """Whether a source says anywhere that something is forbidden; None of standard input."""
    return names_any(source, (FORBIDDEN, FORBIDDEN_IDS), FORBIDDEN)


def names_searches(source: object, encoding: str | None) -> bool | None:
    """Whether a source names searches anywhere; None of standard input.

    Args:
        source: as of `kragx.read_dataset`.
        encoding: of CSV, where it is named.
    """
    if not isinstance(source, (str, Path)) or ending(source) not in tabular.READERS:
        return names_any(source, (SEARCHES,), f'"{SEARCHES}"')
    if Path(source).is_file():
        with open_bytes(source) as file:
            if encoding is not None or marked(file.read(4)):
                return True  # in which its name may be other bytes
    return names_any(source, (SEARCHES,), SEARCHES)


def names_any(source: object, names: Sequence[str], text: str) -> bool | None:
    """Whether a source has one of some fields anywhere; None of standard input.

    Args:
        source: as of `kragx.read_dataset`.
        names: the fields.
        text: what a file is searched for, which takes a small part of the time of reading it.
    """
    if isinstance(source, (str, Path)) and str(source) == "-":
        return None
    if isinstance(source, (str, Path)) and not is_located(source):
        return Path(source).is_file() and (ending(source) in _PACKED or _holds(source, text))
    return any(name in fields for fields in _fields(source) for name in names)


def _tables(source: object) -> Iterable[Table]:
    """The files of Parquet that a source is, or that it names."""
    return [source] if isinstance(source, Table) else map(Table, files_of(source))


def _fields(source: object) -> Iterable[Collection[str]]:
    """The names of fields: a table's columns, or those of each record."""
    if isinstance(source, Table) or is_located(source):
        return (file.columns() for file in _tables(source))
    if tabular.is_table(source):
        frames = source.values() if isinstance(source, Mapping) else [source]
        return (getattr(frame, "column_names", getattr(frame, "columns", ())) for frame in frames)
    records = [source] if isinstance(source, Mapping) else source
    records = records if isinstance(records, Sequence) else ()
    return (record for record in records if isinstance(record, Mapping))


def _holds(path: str | Path, text: str) -> bool:
    """Whether a file holds a name anywhere."""
    name, before = text.encode(), b""
    with open_bytes(path) as file:
        while part := file.read(_AT_ONCE):
            if name in before + part:
                return True
            before = part[-len(name) :]
    return False
