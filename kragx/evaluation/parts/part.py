"""Parts: stretches of questions that can be worked on alone, and what cuts a source into them."""

from __future__ import annotations

import hashlib
import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

from kragx.data import Mender, Reading
from kragx.data.batch import Batch, Row, batches_of
from kragx.data.formats.located import files_of, shown
from kragx.data.formats.parquet import Table

PART_BYTES = 8 << 20
"""Bytes of a file that are a part, of its beginning."""

PART_ROWS = 512
"""Questions in memory that are a part."""


@dataclass(frozen=True)
class Part(ABC):
    """A stretch of questions.

    Attributes:
        name: what messages call it.
        file: that it is of, where a source has several.
        place: the file in which it stands, as every process finds it; empty where all of it is
            sent.
    """

    name: str
    file: str = field(default="", kw_only=True)
    place: str = field(default="", kw_only=True)

    @property
    @abstractmethod
    def key(self) -> str:
        """The SHA-256 of its content."""

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

    @property
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
        path: the file as messages have it.
        first: the number of the first line, from 1.
        start, stop: the bytes.
        format: the format of the file's records.
    """

    path: str
    first: int
    start: int
    stop: int
    format: str

    @property
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
    """Row groups of a Parquet file that has a row a question."""

    table: Table

    @property
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
        return chain.from_iterable(map(_groups_of, files))
    stream = iter(rows)
    first = next(stream, None)  # its format is known now
    if first is None:
        raise rows.empty
    if not rows.by_lines or rows.is_read_once or str(rows.path).endswith(".gz"):
        return _in_rows(chain([first], stream))
    rows.problems.mender.surrogates = 0  # as these lines are read again
    assert rows.format is not None
    return _lines_of(str(rows.path), rows.format.name)


def _in_rows(rows: Iterable[Row]) -> Iterator[Part]:
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Rows(f"questions {n + 1:,} to {n + len(content):,}", content)
        n += len(content)


def _groups_of(file: str) -> Iterator[Part]:
    for table in Table(file).stretches(PART_BYTES):
        groups = table.groups or (0,)
        name = f"{shown(file)}, row groups {groups[0] + 1} to {groups[-1] + 1}"
        yield Groups(name, table, file=shown(file), place=table.place)


def _lines_of(path: str, format_: str) -> Iterator[Part]:
    first, start, place = 1, 0, str(Path.cwd() / path)
    with Path(path).open("rb") as file:
        # Parts grow: each begins anew to look at texts, and too few leave workers idle at the end.
        while raw := file.read(min(max(PART_BYTES, start // 8), 4 * PART_BYTES)):
            raw += file.readline()
            stop = start + len(raw)
            name = f"{path} from line {first} on"
            yield Lines(name, path, first, start, stop, format_, place=place)
            first, start = first + raw.count(b"\n"), stop
