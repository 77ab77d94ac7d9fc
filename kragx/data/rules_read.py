"""What is known before a source is read: its rules, and which fields it has that few have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats import tabular
from kragx.data.formats.encodings import marked
from kragx.data.formats.format import FORBIDDEN_IDS, STANDS_FOR
from kragx.data.formats.jsonl import ending, first_line, json_value, open_bytes
from kragx.data.formats.located import files_of, is_located
from kragx.data.formats.parquet import Table
from kragx.data.search_records import SEARCHES
from kragx.data.text import Mender

WEIGHING = tuple(form(name) for name in STANDS_FOR for form in (str, str.title, str.upper))
"""What a column is called that says how many asks a question stands for, or how it was drawn."""

_SELDOM = frozenset((FORBIDDEN, FORBIDDEN_IDS, SEARCHES, *WEIGHING))
_LONGEST = max(map(len, _SELDOM)) + 2
_AT_ONCE = 8 << 20
_PACKED = (".xlsx", ".xls")


def rules_before(source: object) -> Mapping[str, Any]:
    """The rules that stand before the first question, or in the schema of a Parquet file.

    Args:
        source: as of `kragx.read_dataset`.
    """
    if isinstance(source, Table) or is_located(source):
        return next((rules for table in _tables(source) if (rules := table.rules())), {})
    first: object = None
    if isinstance(source, (str, Path)):
        if Path(source).is_file() and ending(source) not in tabular.READERS:
            line = first_line(source)
            if line.startswith("{") and f'"{FORBIDDEN}"' in line:
                with suppress(ValueError):  # which whoever reads the file says
                    first = json_value(line, Mender())
    elif isinstance(source, Sequence) and source:
        first = source[0]
    rules = first[FORBIDDEN] if isinstance(first, Mapping) and [*first] == [FORBIDDEN] else {}
    return rules if isinstance(rules, Mapping) else {}


def _tables(source: Any) -> Iterable[Table]:
    return [source] if isinstance(source, Table) else map(Table, files_of(source))


def seldom_names(source: object, encoding: str | None = None) -> frozenset[str] | None:
    """Which of the fields that few sources have one may have; None of standard input.

    A file is looked through once, for their names, in a small part of the time of reading it.

    Args:
        source: as of `kragx.read_dataset`.
        encoding: of CSV, where it is named.
    """
    names: Iterable[Any] = ()
    if isinstance(source, Table) or is_located(source):
        names = chain.from_iterable(table.columns() for table in _tables(source))
    elif isinstance(source, (str, Path)):
        return None if str(source) == "-" else _names_in_file(source, encoding)
    elif tabular.is_table(source):
        frames = source.values() if isinstance(source, Mapping) else [source]
        names = chain.from_iterable(
            getattr(frame, "column_names", getattr(frame, "columns", ())) for frame in frames
        )
    elif isinstance(source, Mapping):
        names = source
    elif isinstance(source, Sequence):
        names = chain.from_iterable(record for record in source if isinstance(record, Mapping))
    return _SELDOM.intersection(names)


def _names_in_file(path: str | Path, encoding: str | None) -> frozenset[str]:
    if not Path(path).is_file():
        return frozenset()
    if ending(path) in _PACKED:
        return _SELDOM
    is_table = ending(path) in tabular.READERS
    # A text may well say "searches"; in JSON the name of a field stands in quotes.
    texts = {name: name.encode() for name in _SELDOM}
    texts |= {} if is_table else {SEARCHES: f'"{SEARCHES}"'.encode()}
    names, before = set[str](), b""
    with open_bytes(path) as file:
        while part := file.read(_AT_ONCE):
            if is_table and not before and (encoding is not None or marked(part)):
                names.add(SEARCHES)  # of which the name may be other bytes
            around = before + part
            names.update(name for name, text in texts.items() if text in around)
            texts = {name: text for name, text in texts.items() if name not in names}
            before = part[-_LONGEST:]
    return frozenset(names)
