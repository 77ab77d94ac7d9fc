"""Any source of data, read query by query: from the kind of file to records to queries.

A source holds records, which `_rows_of_file` takes out of each kind of file, and all of them are of
one of the `FORMATS`, recognised by its fields.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import Any, NamedTuple

from kragx.data.formats import FORMATS, tabular, trec
from kragx.data.formats.format import Fields, Format
from kragx.data.formats.jsonl import (
    Part,
    Place,
    file_name,
    open_bytes,
    read_records,
    read_whole,
)
from kragx.data.gold import Query
from kragx.data.problems import Level, Problem, Problems
from kragx.data.runs import Retrieved
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, nearest, shorten

_TABLES: Mapping[str, Callable[[str | Path, Problems, str | None], Iterator[tabular.Row]]] = {
    ".csv": tabular.read_csv,
    ".tsv": tabular.read_csv,
    ".xlsx": tabular.read_excel,
    ".xls": tabular.read_excel,
    ".parquet": tabular.read_parquet,
}
"""Files that are tables; any other holds JSON or TREC's columns, which its first line tells."""

_BINARY = (".xlsx", ".xls", ".parquet")
_JSON = (".json", ".jsonl", ".ndjson")


class _Row(NamedTuple):
    """A record, where it begins, and where its parts do (of a file that is one JSON value)."""

    line: int | None
    record: Mapping[str, Any]
    lines: Mapping[Place, int] = {}


class Reading:
    """A source, read query by query.

    Iterating yields (line, query, what was retrieved for it or None), each query id once.

    Args:
        source: as of `read_dataset`.
        format: the same.
        columns: the same.
        encoding: the same.
        strict: the first mistake ends the reading with a `DataError`; else all are collected.

    Attributes:
        name: of the source: its file's name.
        format: its format, once it is recognised.
        problems: what is wrong with it, as far as it was read.
        mender: counts the lone surrogates.

    Raises:
        UsageError: an argument is wrong.
        DataError: while iterating: the file cannot be taken apart at all (unreadable, not JSON, not
            CSV), or holds no query.
    """

    def __init__(
        self,
        source: object,
        format: str | None = None,  # noqa: A002
        columns: Mapping[str, str] | None = None,
        *,
        encoding: str | None = None,
        strict: bool = False,
    ) -> None:
        if format is not None and format not in FORMATS:
            raise UsageError(f"format: unknown value {format!r}; {nearest(format, FORMATS)}")
        _check_columns(columns or {})
        self.source = source
        self.path = source if isinstance(source, (str, Path)) else None
        self.name = "gold" if self.path is None else file_name(self.path)
        self.format = None if format is None else FORMATS[format]
        self.columns = columns or {}
        self.encoding = encoding
        self.problems = Problems("gold" if self.path is None else str(self.path), strict=strict)
        self.mender = Mender()
        self._is_table = False
        self._seen: dict[str, None] = {}  # columns in which something stands

    def __iter__(self) -> Iterator[tuple[int | None, Query, Retrieved | None]]:
        first_lines: dict[str, int | None] = {}
        rows = self._records()
        if self.format is None:
            self.format, rows = self._recognised(rows)
        for number, (line, record, lines) in enumerate(rows, start=1):
            assert self.format is not None  # recognised, or there is no record
            fields = Fields(record, self.format, self.problems, self.mender, line, number, lines)
            for query, retrieved in self.format.read(fields):
                if query.id in first_lines:
                    first = first_lines[query.id]
                    fields.report(
                        "query_id",
                        f"{query.id!r} stands twice"
                        + ("" if first is None else f" (first on line {first})")
                        + "; queries are joined by id, so each needs its own",
                    )
                elif query.id:
                    first_lines[query.id] = fields.line
                    yield fields.line, query, retrieved
        self._check_seen()
        if not first_lines and not self.problems.found:
            raise DataError("the file holds no query", path=self.problems.file)

    def _recognised(self, rows: Iterator[_Row]) -> tuple[Format | None, Iterator[_Row]]:
        """The format of the first record that has a format's own fields, and all of the records.

        The first of all may have none: a question without gold may be no more than an id and text.
        """
        passed: list[_Row] = []
        for row in rows:
            passed.append(row)
            format = recognised(row.record)  # noqa: A001
            if format is not None:
                return format, chain(passed, rows)
        if not passed:
            return None, iter(())
        line, record, _ = passed[0]
        if "query_id" not in record:
            raise DataError(
                "not recognised as a gold set; its fields are "
                f"{', '.join(map(repr, record))}; name its format ({', '.join(FORMATS)}), or map "
                "its columns",
                path=self.problems.file if line is None else f"{self.problems.file}:{line}",
            )
        return FORMATS["gold"], iter(passed)

    def _records(self) -> Iterator[_Row]:
        """The records of the source; the cells of tables under the names of fields."""
        for row in self._rows():
            if not (self._is_table or self.columns):
                yield row
                continue
            self._seen |= dict.fromkeys(
                name for name, cell in row.record.items() if cell is not None
            )
            record = tabular.renamed(row.record, self.columns, row.line, self.problems)
            if record is not None:
                yield row._replace(record=record)

    def _rows(self) -> Iterator[_Row]:
        if self.path is not None:
            return self._rows_of_file(self.path)
        if isinstance(self.source, Mapping):
            return iter([_Row(None, self.source)])
        self._is_table = True
        if tabular.is_frame(self.source):
            return starmap(_Row, tabular.rows_of_frame(self.source))
        if isinstance(self.source, Sequence):
            return self._listed((line, row, {}) for line, row in enumerate(self.source, start=1))
        raise UsageError(
            f"dataset: {type(self.source).__name__} is not a gold set; pass a GoldDataset, the "
            "path of a gold file, a DataFrame, lists of gold documents, or a mapping by query id"
        )

    def _rows_of_file(self, path: str | Path) -> Iterator[_Row]:
        suffix = Path(str(path).removesuffix(".gz")).suffix.lower()
        first = "" if suffix in _BINARY else first_line(path)
        is_json = suffix in _JSON or first.startswith(("{", "["))
        if self.format is None and not is_json and suffix not in _TABLES:
            kind = trec.kind_of(path, first)
            if kind == "run":
                message = "a TREC run, which holds no gold; pass it as the run"
                raise DataError(message, path=str(path))
            self.format = FORMATS.get(kind or "")
        if self.format is FORMATS["qrels"]:
            if self.columns:
                raise UsageError("columns: qrels have none to map")
            return starmap(_Row, trec.qrels_records(path, self.problems))
        if suffix in _TABLES and not is_json:
            self._is_table = True
            return starmap(_Row, _TABLES[suffix](path, self.problems, self.encoding))
        parts = read_whole(path, first, self.mender, lines=suffix != ".json") if first else None
        if parts is not None:
            return self._listed(parts)
        return starmap(_Row, read_records(path, self.mender, self.problems))

    def _listed(self, parts: Iterable[Part]) -> Iterator[_Row]:
        for line, value, lines in parts:
            if isinstance(value, Mapping):
                yield _Row(line, value, lines)
            else:
                self.problems.add(line, None, f"an object is expected, not {shorten(value)}")

    def _check_seen(self) -> None:
        for field, column in self.columns.items():
            if self._seen and column not in self._seen:
                keys = ("query", *(reader.key for reader in FORMATS.values()))
                level: Level = "error" if field in keys else "warning"
                message = f"no row has anything in the column {column!r}; "
                hint = nearest(column, self._seen)
                # First, for it is why all else is missing.
                self.problems.found.insert(
                    0,
                    Problem(self.problems.file, None, f"columns.{field}", message + hint, level),
                )


def recognised(record: Mapping[str, Any]) -> Format | None:
    """The format whose own fields a record has; None if it has no format's own."""
    return next((reader for reader in FORMATS.values() if reader.recognises(record)), None)


def _check_columns(columns: Mapping[str, str]) -> None:
    known = sorted(tabular.FIELDS)
    for field, column in columns.items():
        if field not in known and not field.startswith("metadata."):
            raise UsageError(f"columns.{field}: unknown field; {nearest(field, known)}")
        if not isinstance(column, str):
            raise UsageError(f"columns.{field}: a column's name is expected, not {column!r}")


def first_line(path: str | Path) -> str:
    """The first line of a file that says something; empty of standard input, which is read once."""
    if str(path) == "-":
        return ""
    with open_bytes(path) as file:
        for raw in file:
            line = raw.removeprefix(b"\xef\xbb\xbf").strip()
            if line and not line.startswith(b"#"):
                return line.decode("utf-8", "replace")
    return ""
