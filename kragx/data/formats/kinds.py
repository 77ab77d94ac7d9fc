"""Kinds of files: how each is told, and the one function that takes its records out of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data.formats import tabular, trec
from kragx.data.formats.beir import beir_records, split_name, split_of
from kragx.data.formats.jsonl import ending, file_name, first_line, json_records
from kragx.data.formats.located import is_located, located_name
from kragx.data.formats.parquet import Table, parquet_records
from kragx.data.problems import Problems
from kragx.errors import DataError

Records = Iterator[tuple[int | None, Mapping[str, Any]]]
"""Records, each with the line on which it begins."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: what it is called.
        records: its records.
        format: of all its records; empty where they say themselves.
        is_table: whether these are rows of cells.
    """

    name: str
    records: Callable[[Any, Problems, str | None], Records]
    format: str = ""
    is_table: bool = False


def _table(path: Any, problems: Problems, encoding: str | None) -> Records:
    return tabular.filled(tabular.READERS[ending(path)](path, problems, encoding))


def _parquet(source: Any, problems: Problems, encoding: str | None) -> Records:
    return tabular.filled(parquet_records(source, problems))


def _run(path: Any, problems: Problems, encoding: str | None) -> Records:
    raise DataError("a TREC run, which holds no gold; pass it as the run", path=str(path))


BEIR = Kind("beir", lambda path, problems, _: beir_records(path, problems), "gold")
PARQUET = Kind("parquet", _parquet, is_table=True)
QRELS = Kind("qrels", lambda path, problems, _: trec.qrels_records(path, problems), "qrels")
RUN = Kind("run", _run)
TABLE = Kind("table", _table, is_table=True)
JSON = Kind("json", lambda path, problems, _: json_records(path, problems))


def kind_of(source: Any, format_: str | None = None) -> Kind:
    """The kind of a file, or files, whose records are of a format, or of any.

    Raises:
        DataError: the file cannot be read.
    """
    if format_ == QRELS.format:
        return QRELS
    if format_ in (None, BEIR.format) and split_of(source) is not None:
        return BEIR
    if isinstance(source, Table) or is_located(source):
        return PARQUET
    return _by_look(ending(source), first_line(source), format_)


def _by_look(suffix: str, first: str, format_: str | None) -> Kind:
    """The kind of a file by its ending, else by its first line."""
    if suffix in (".json", ".jsonl", ".ndjson") or first.startswith(("{", "[")):
        return JSON
    look = suffix[1:] if suffix in (".qrels", ".run") else trec.kind_of_line(first)
    columns = first.split("\t")
    is_named = len(columns) == 4 and not tabular.FIELDS.keys().isdisjoint(columns)
    # BEIR's qrels are called .tsv, as tables are.
    is_table = suffix in tabular.READERS and (suffix != ".tsv" or look != "qrels" or is_named)
    if is_table or look is None or format_ is not None:
        return TABLE if suffix in tabular.READERS else JSON
    return QRELS if look == "qrels" else RUN


def name_of(source: object) -> str:
    """What a data set is called that is read from a source: as its file, or folder."""
    if (qrels := split_of(source)) is not None:
        return split_name(qrels)
    if is_located(source):
        return located_name(source)
    return file_name(source) if isinstance(source, (str, Path)) else "gold"
