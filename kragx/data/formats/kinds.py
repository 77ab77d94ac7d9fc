"""Kinds of files: how each is told, and the one function that takes its records out of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
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
class File:
    """A file, or several, looked at as far as it takes to tell the kind.

    Attributes:
        source: a path or address, several of them, or a part of a Parquet file.
    """

    source: Any

    @cached_property
    def ending(self) -> str:
        """Of the name."""
        return ending(self.source)

    @cached_property
    def first(self) -> str:
        """The first line that says something."""
        return first_line(self.source)

    @property
    def is_json(self) -> bool:
        """Whether it is JSON by its name, or begins so."""
        return self.ending in (".json", ".jsonl", ".ndjson") or self.first.startswith(("{", "["))

    @property
    def look(self) -> str | None:
        """What a file of columns looks like: qrels, a run, or neither."""
        if self.is_json:
            return None
        if self.ending in (".qrels", ".run"):
            return self.ending[1:]
        look, columns = trec.kind_of_line(self.first), self.first.split("\t")
        if self.ending not in tabular.READERS:
            return look
        # BEIR's qrels are called .tsv, as tables are.
        is_named = len(columns) == 4 and not tabular.FIELDS.keys().isdisjoint(columns)
        return look if self.ending == ".tsv" and look == "qrels" and not is_named else None


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: what it is called.
        tells: whether a file is one; the first kind that says so is meant.
        records: its records.
        format: of all its records; empty where they say themselves.
        is_table: whether these are rows of cells.
    """

    name: str
    tells: Callable[[File], bool]
    records: Callable[[Any, Problems, str | None], Records]
    format: str = ""
    is_table: bool = False


def _table(path: Any, problems: Problems, encoding: str | None) -> Records:
    return tabular.filled(tabular.READERS[ending(path)](path, problems, encoding))


def _run(path: Any, problems: Problems, encoding: str | None) -> Records:
    raise DataError("a TREC run, which holds no gold; pass it as the run", path=str(path))


QRELS = Kind(
    "qrels",
    lambda file: file.look == "qrels",
    lambda path, problems, _: trec.qrels_records(path, problems),
    "qrels",
)

KINDS = (
    Kind(
        "beir",
        lambda file: split_of(file.source) is not None,
        lambda path, problems, _: beir_records(path, problems),
        "gold",
    ),
    Kind(
        "parquet",
        lambda file: isinstance(file.source, Table) or is_located(file.source),
        lambda source, problems, _: tabular.filled(parquet_records(source, problems)),
        is_table=True,
    ),
    QRELS,
    Kind("run", lambda file: file.look == "run", _run, "run"),
    Kind(
        "table",
        lambda file: file.ending in tabular.READERS and not file.is_json,
        _table,
        is_table=True,
    ),
    Kind("json", lambda file: True, lambda path, problems, _: json_records(path, problems)),
)


def kind_of(source: object, format_: str | None = None) -> Kind:
    """The kind of a file whose records are of a format, or of any.

    Raises:
        DataError: the file cannot be read.
    """
    if format_ == QRELS.name:
        return QRELS
    file = File(source)
    fitting = (kind for kind in KINDS if format_ is None or kind.format in ("", format_))
    return next(kind for kind in fitting if kind.tells(file))


def name_of(source: object) -> str:
    """What a data set is called that is read from a source: as its file, or folder."""
    if (qrels := split_of(source)) is not None:
        return split_name(qrels)
    if is_located(source):
        return located_name(source)
    return file_name(source) if isinstance(source, (str, Path)) else "gold"
