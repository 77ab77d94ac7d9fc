"""Parts: stretches of questions that can be worked on alone, and what cuts a source into them."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

from kragx.data import Mender, Reading
from kragx.data.batch import Batch, Row, batches_of
from kragx.data.formats.located import files_of, shown
from kragx.data.formats.parquet import Table, tables_of

PART_BYTES = 8 << 20
"""Bytes of a file that are a part, of its beginning."""

PART_ROWS = 512
"""Questions in memory that are a part."""


class Part(ABC):
    """A stretch of questions."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The SHA-256 of its content."""

    @property
    def file(self) -> str:
        """The file that it is of, where a source has several."""
        return ""

    @property
    def place(self) -> str:
        """The file in which it stands, as every process finds it; empty where all of it is sent."""
        return ""

    @abstractmethod
    def batches(self, mender: Mender) -> Iterator[Batch]:
        """Its questions, many at once; what is wrong is said with the line of the whole file."""


@dataclass(frozen=True)
class Rows(Part):
    """Questions as they come: those of a list can be sent, others be read once and here.

    Attributes:
        content: of them; whoever reads it counts surrogates.
    """

    content: Iterable[Row]
    name: str = "everything"

    @cached_property
    def key(self) -> str:
        """Of what a list of them is pickled to."""
        return hashlib.sha256(pickle.dumps(self.content)).hexdigest()

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """They, many at once."""
        return batches_of(self.content)


@dataclass(frozen=True)
class Lines(Part):
    """Whole lines of a JSON Lines file.

    Attributes:
        path: the file.
        first: the number of the first line, from 1.
        start, stop: the bytes.
        format: the format of the file's records.
        folder: where a relative path starts.
    """

    path: str
    first: int
    start: int
    stop: int
    format: str
    folder: str = field(default_factory=os.getcwd)

    @property
    def name(self) -> str:
        """The file, and the line on which they begin."""
        return f"{self.path} from line {self.first} on"

    @property
    def place(self) -> str:
        """The file as every process finds it."""
        return str(Path(self.folder, self.path))

    @cached_property
    def key(self) -> str:
        """Of the bytes."""
        return hashlib.sha256(self.lines()).hexdigest()

    def lines(self) -> bytes:
        """The lines."""
        with Path(self.place).open("rb") as file:
            file.seek(self.start)
            return file.read(self.stop - self.start)

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """The questions on these lines."""
        lines = enumerate(io.BytesIO(self.lines()), start=self.first)
        return _batches(Reading(self.path, self.format, strict=True, lines=lines), mender)


@dataclass(frozen=True)
class Groups(Part):
    """Row groups of a Parquet file that has a row a question.

    Attributes:
        table: the row groups.
    """

    table: Table

    @property
    def name(self) -> str:
        """The file, and the row groups."""
        groups = self.table.groups or (0,)
        return f"{self.file}, row groups {groups[0] + 1} to {groups[-1] + 1}"

    @property
    def file(self) -> str:
        """The file's name."""
        return shown(self.table.file)

    @property
    def place(self) -> str:
        """The file as every process finds it."""
        return self.table.place

    @cached_property
    def key(self) -> str:
        """Of the bytes, and of what they mean."""
        return self.table.content_hash()

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """The questions in these rows."""
        return _batches(Reading(self.table, "gold", strict=True), mender)


def _batches(reading: Reading, mender: Mender) -> Iterator[Batch]:
    reading.problems.mender = mender
    return reading.batches()


def parts_of(rows: Iterable[Row]) -> Iterator[Part]:
    """Cut questions into parts; of a JSON Lines file that is not packed only line ends are read.

    Args:
        rows: the questions; those of a `Reading` of a file are named by where they stand, if each
            process can read them there.

    Raises:
        DataError: as `Reading`, as far as it has to be read.
    """
    if not isinstance(rows, Reading):
        return _in_rows(rows)
    if rows.is_located:
        files = files_of(rows.source)
        if not all(rows.is_nested(Table(file)) for file in files):
            return _in_rows(rows)
        tables = (tables_of(file, PART_BYTES) for file in files)
        return map(Groups, chain.from_iterable(tables))
    stream = iter(rows)
    first = next(stream, None)  # its format is known now
    if first is None:
        raise rows.empty
    if not rows.by_lines or rows.is_read_once or str(rows.path).endswith(".gz"):
        return _in_rows(chain([first], stream))
    rows.problems.mender.surrogates = 0  # as these lines are read again
    assert rows.format is not None
    return _lines_of(str(rows.path), rows.format.name)


def _in_rows(rows: Iterable[Row]) -> Iterator[Rows]:
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Rows(content, f"questions {n + 1:,} to {n + len(content):,}")
        n += len(content)


def _lines_of(path: str, format_: str) -> Iterator[Lines]:
    first, start = 1, 0
    with Path(path).open("rb") as file:
        # Parts grow: each begins anew to look at texts, and too few leave workers idle at the end.
        while raw := file.read(min(max(PART_BYTES, start // 8), 4 * PART_BYTES)):
            raw += file.readline()
            yield Lines(path, first, start, start + len(raw), format_)
            first += raw.count(b"\n")
            start += len(raw)
