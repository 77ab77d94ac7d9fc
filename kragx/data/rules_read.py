"""What is known before a source is read: its rules, and which fields it has that few have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
from kragx.data.formats.parquet import ParquetTable
from kragx.data.search_records import SEARCHES
from kragx.data.text import Mender

WEIGHING = tuple(form(name) for name in STANDS_FOR for form in (str, str.title, str.upper))
"""What a column is called that says how many asks a question stands for, or how it was drawn."""

SELDOM = (FORBIDDEN, FORBIDDEN_IDS, SEARCHES)
"""What changes how a source is evaluated that has it."""
_AT_ONCE, _AROUND = 8 << 20, 64
_PACKED = (".xlsx", ".xls")


def rules_before(source: object) -> Mapping[str, Any]:
    """The rules that stand before the first question, or in the schema of a Parquet file.

    Args:
        source: as of `kragx.read_dataset`.
    """
    if isinstance(source, ParquetTable) or is_located(source):
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


def _tables(source: Any) -> Iterable[ParquetTable]:
    return [source] if isinstance(source, ParquetTable) else map(ParquetTable, files_of(source))


def names_in(
    source: object, names: Collection[str], encoding: str | None = None
) -> frozenset[str] | None:
    """Which of some fields a source may have; None of standard input.

    A file is looked through once, for their names, in a small part of the time of reading it.

    Args:
        source: as of `kragx.read_dataset`.
        names: of the fields.
        encoding: of CSV, where it is named.
    """
    present: Iterable[Any] = ()
    if isinstance(source, ParquetTable) or is_located(source):
        present = chain.from_iterable(table.columns() for table in _tables(source))
    elif isinstance(source, (str, Path)):
        return None if str(source) == "-" else frozenset(_in_file(source, names, encoding))
    elif tabular.is_table(source):
        frames = source.values() if isinstance(source, Mapping) else [source]
        present = chain.from_iterable(
            getattr(frame, "column_names", getattr(frame, "columns", ())) for frame in frames
        )
    elif isinstance(source, Mapping):
        present = source
    elif isinstance(source, Sequence):
        present = chain.from_iterable(record for record in source if isinstance(record, Mapping))
    return frozenset(names).intersection(present)


def _in_file(path: str | Path, names: Collection[str], encoding: str | None) -> Iterator[str]:
    if not Path(path).is_file():
        return
    is_table = ending(path) in tabular.READERS
    # A text may well say "searches"; in JSON the name of a field stands in quotes.
    texts = {
        name: (name if is_table or name != SEARCHES else f'"{name}"').encode() for name in names
    }
    if FORBIDDEN in texts:
        texts.pop(FORBIDDEN_IDS, None)  # which begins with it
    before = b""
    with open_bytes(path) as file:
        while part := file.read(_AT_ONCE):
            if is_table and not before and (encoding is not None or marked(part)):
                yield SEARCHES  # of which the name may be other bytes
            if ending(path) in _PACKED:
                yield from names
                return
            around = before + part
            found = [name for name, text in texts.items() if text in around]
            yield from found
            texts = {name: text for name, text in texts.items() if name not in found}
            before = part[-_AROUND:]
