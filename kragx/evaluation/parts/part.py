"""Parts: stretches of questions that can be worked on alone, and what cuts a source into them."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from kragx.data import Mender, Reading
from kragx.data.batch import Batch, Row, batched, batches_of
from kragx.data.formats.jsonl import BUFFER, open_bytes
from kragx.data.formats.located import files_of, shown
from kragx.data.formats.parquet import Table, tables_of

PART_BYTES = 8 << 20
"""Bytes of a file that are a part, of its beginning."""

_MOST = 4
"""Parts grow to so many times that: each begins anew to look at texts, which takes time, while too
few leave workers idle at the end."""

_SHARE = 8
"""A part is at least one of so many of what stands before it."""

_LINE_END = ord("\n")

_WINDOW = 1 << 20
"""Bytes in which line ends are counted at once: they stay in the cache of a processor, and its
memory is not asked for anew."""

PART_ROWS = 512
"""Questions in memory that are a part."""


class Part(Protocol):
    """A stretch of questions."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def key(self) -> str:
        """The SHA-256 of its content."""
        ...

    @property
    def file(self) -> str:
        """The file that it is of, where a source has several; empty where it has not."""
        ...

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """The questions in order; `mender` counts the surrogates it replaces.

        Raises:
            DataError: as `Reading`, with the line of the whole file.
        """
        ...


@dataclass
class Stream:
    """All that comes, one after the other; it can be read once, and by this process alone.

    Attributes:
        content: of it; whoever reads it counts surrogates.
        name: in messages.
    """

    content: Iterable[Row]
    name: str = "everything"
    file: str = ""

    @property
    def key(self) -> str:
        """None is known before it has passed."""
        return ""

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """What comes."""
        return batches_of(self.content)


@dataclass(frozen=True)
class Rows:
    """Questions in memory.

    Attributes:
        content: of them.
        name: in messages.
    """

    content: Sequence[Row]
    name: str
    file: str = ""

    @cached_property
    def key(self) -> str:
        """Of what they are pickled to."""
        return hashlib.sha256(pickle.dumps(self.content)).hexdigest()

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """They."""
        return batched(self.content)


@dataclass(frozen=True)
class Lines:
    """Whole lines of a JSON Lines file: where they stand, or themselves.

    Attributes:
        path: the file; of standard input and of packed files for messages alone.
        first: the number of the first line, from 1.
        start, stop: the bytes.
        format: the format of the file's records.
        raw: the lines where nobody else can read them: standard input, packed files.
        folder: where a relative path starts.
    """

    path: str
    first: int
    start: int
    stop: int
    format: str
    raw: bytes | None = None
    folder: str = field(default_factory=os.getcwd)
    file: str = ""

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
        if self.raw is not None:
            return self.raw
        with Path(self.place).open("rb") as file:
            file.seek(self.start)
            return file.read(self.stop - self.start)

    def _each_line(self) -> Iterator[bytes]:
        """The lines, without holding them all."""
        if self.raw is not None:
            yield from io.BytesIO(self.raw)
            return
        n_left = self.stop - self.start
        with Path(self.place).open("rb", BUFFER) as file:
            file.seek(self.start)
            for line in file:
                yield line
                n_left -= len(line)
                if n_left <= 0:
                    return

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """The questions on these lines."""
        lines = enumerate(self._each_line(), start=self.first)
        reading = Reading(self.path, self.format, strict=True, lines=lines)
        reading.problems.mender = mender
        return reading.batches()


@dataclass(frozen=True)
class Groups:
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

    @cached_property
    def key(self) -> str:
        """Of the bytes, and of what they mean."""
        return self.table.content_hash()

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """The questions in these rows."""
        reading = Reading(self.table, "gold", strict=True)
        reading.problems.mender = mender
        return reading.batches()


def place_of(item: object) -> str:
    """The file that whoever works on a part has to find; empty where all of it is sent."""
    match item:
        case Lines(raw=None):
            return item.place
        case Groups():
            return item.table.place
    return ""


def parts_of(rows: Iterable[Row]) -> Iterator[Part]:
    """Cut questions into parts; of a JSON Lines file only the bytes are looked at.

    Args:
        rows: the questions; those of a `Reading` of JSON Lines are named by where they stand.

    Raises:
        DataError: as `Reading`, as far as it has to be read.
    """
    if not isinstance(rows, Reading):
        yield from _in_rows(rows)
        return
    reading = rows
    if reading.is_located:
        yield from _of_files(reading)
        return
    if str(reading.path) == "-":
        file: Any = _Taken(sys.stdin.buffer)
        reading.lines = enumerate(file, start=1)
    stream = iter(reading)
    first = next(stream, None)  # its format is known now
    if first is None:
        raise reading.empty
    if not reading.by_lines:
        yield from _in_rows(chain([first], stream))
        return
    del stream
    reading.problems.mender.surrogates = 0  # as these lines are read again
    assert reading.path is not None
    assert reading.format is not None
    path, format_ = str(reading.path), reading.format.name
    if path == "-":
        yield from _sent_lines(path, format_, file)
        return
    with open_bytes(path) as file:
        cut = _sent_lines if path.endswith(".gz") else _lines_of_file
        yield from cut(path, format_, file)


class _Taken:
    """A stream of lines whose first ones were looked at, and come again."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._lines: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            self._lines.append(line)
            yield line

    def read(self, size: int) -> bytes:
        """The first lines, then so many bytes of what follows."""
        lines, self._lines = b"".join(self._lines), []
        return lines or self._file.read(size)

    def readline(self) -> bytes:
        """The rest of a line."""
        return self._file.readline()


def _sent_lines(path: str, format_: str, file: Any) -> Iterator[Lines]:
    """Parts that hold their lines, as nobody else can read them."""
    first, start = 1, 0
    while block := file.read(_size_from(start)):
        raw = block if block.endswith(b"\n") else block + file.readline()
        yield Lines(path, first, start, start + len(raw), format_, raw)
        first += raw.count(b"\n")
        start += len(raw)


def _lines_of_file(path: str, format_: str, file: IO[bytes]) -> Iterator[Lines]:
    """Parts that say where their lines stand."""
    window = np.empty(_WINDOW, np.uint8)
    first, start, end = 1, 0, file.seek(0, os.SEEK_END)
    while start < end:
        last = min(start + _size_from(start), end) - 1
        file.seek(last)
        stop = last + len(file.readline())
        yield Lines(path, first, start, stop, format_)
        file.seek(start)  # others are at work on these lines while they are counted here
        while (n_left := stop - file.tell()) > 0:
            n_read = file.readinto(window[:n_left])  # type: ignore[attr-defined]
            if not n_read:
                return  # the file was cut short, which whoever reads the lines sees
            first += int(np.count_nonzero(window[:n_read] == _LINE_END))
        start = stop


def _size_from(start: int) -> int:
    """Bytes of the part that begins there."""
    return min(max(PART_BYTES, start // _SHARE), _MOST * PART_BYTES)


def _of_files(reading: Reading) -> Iterator[Part]:
    """Those of Parquet files; tables that have to be read row by row are read here."""
    files = files_of(reading.source)
    if not all(reading.is_nested(Table(file)) for file in files):
        yield from _in_rows(reading)
        return
    for file in files:
        for table in tables_of(file, PART_BYTES, reading.of_documents):
            yield Groups(table)


def _in_rows(rows: Iterable[Row]) -> Iterator[Rows]:
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Rows(content, f"questions {n + 1:,} to {n + len(content):,}")
        n += len(content)
