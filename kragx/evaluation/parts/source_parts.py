"""Parts of a source, stretches of questions that can be worked on alone, and what comes of them."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from kragx.data import LackingError, Reading, SurrogateRepair
from kragx.data.batch import Batch, Row, batches_of
from kragx.data.formats.parquet import ParquetTable, files_of, shown
from kragx.evaluation.inputs import Source, StreamStats
from kragx.evaluation.match_source import Matches, MatchPlan, match_stream
from kragx.evaluation.parts.workers import Engine
from kragx.ground.printing import message, progress_bar
from kragx.matchers import Diagnostics, matching
from kragx.matchers.gold_siblings import GoldSample, compares_gold

PART_BYTES = 16 << 20
"""Bytes of a file that are a part: each begins anew to look at texts, so few large ones are less
work, and too few leave workers idle."""

PART_ROWS = 512
"""Questions in memory that are a part."""


@dataclass(frozen=True)
class Lines:
    """Whole lines of a file of JSON Lines: the number of the first, and the bytes of all."""

    path: Path
    first: int
    start: int
    stop: int
    format: str

    def read(self) -> bytes:
        """The lines."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            return file.read(self.stop - self.start)


@dataclass(frozen=True)
class Part:
    """A stretch of questions.

    Attributes:
        name: what messages call it.
        content: where it stands, as every process finds it: lines of a file, or row groups of one
            that has a row a question; or the questions as they are.
        file: that it is of, as messages have it.
    """

    name: str
    content: Lines | ParquetTable | Sequence[Row]
    file: str = ""

    @property
    def key(self) -> str:
        """The SHA-256 of its content."""
        match self.content:
            case ParquetTable():
                return self.content.content_hash()
            case Lines():
                return hashlib.sha256(self.content.read()).hexdigest()
        return hashlib.sha256(pickle.dumps(self.content)).hexdigest()

    def batches(self, repair: SurrogateRepair) -> Iterator[Batch]:
        """Its questions, many at once; what is wrong is said with the line of the whole file."""
        match self.content:
            case ParquetTable():
                reading = Reading(self.content, "gold", strict=True)
            case Lines() as part:
                lines = enumerate(io.BytesIO(part.read()), start=part.first)
                reading = Reading(self.file, part.format, strict=True, lines=lines)
            case rows:
                return batches_of(rows)  # whoever has read them has counted surrogates
        reading.problems.repair = repair
        return reading.batches()


def parts_of(rows: Iterable[Row]) -> Iterator[Part]:
    """Cut questions into parts; of a JSON Lines file that is not packed only line ends are read.

    Raises:
        DataError: as `Reading`, as far as it has to be read.
    """
    if not isinstance(rows, Reading):
        return _in_rows(rows)
    if rows.is_located:
        files = files_of(rows.source)
        if all(rows.is_nested(ParquetTable(file)) for file in files):
            return chain.from_iterable(map(_groups_of, files))
        return _in_rows(rows, rows.problems.file)
    stream = iter(rows)
    first = next(stream, None)  # its format is known now
    if first is None:
        raise rows.empty
    # Of what is packed, or comes from a pipe, no other process can begin in the middle.
    if not rows.by_lines or rows.is_read_once or str(rows.path).endswith(".gz"):
        return _in_rows(chain([first], stream), rows.problems.file)
    rows.problems.repair.surrogates = 0  # as these lines are read again
    assert rows.format is not None
    return _lines_of(str(rows.path), rows.format.name)


def _in_rows(rows: Iterable[Row], file: str = "") -> Iterator[Part]:
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Part(f"questions {n + 1:,} to {n + len(content):,}", content, file)
        n += len(content)


def _groups_of(file: str) -> Iterator[Part]:
    for table in ParquetTable(file).stretches(PART_BYTES):
        groups = table.groups or (0,)
        name = f"{shown(file)}, row groups {groups[0] + 1} to {groups[-1] + 1}"
        yield Part(name, table, shown(file))


def _lines_of(path: str, format_: str) -> Iterator[Part]:
    first, start = 1, 0
    with Path(path).open("rb") as file:
        while raw := file.read(PART_BYTES):
            raw += file.readline()
            stop = start + len(raw)
            lines = Lines(Path.cwd() / path, first, start, stop, format_)
            yield Part(f"{path} from line {first} on", lines, path)
            first, start = first + raw.count(b"\n"), stop


@dataclass(kw_only=True)
class PartResult:
    """What came of a part: what is known of its questions, and what the matcher noted."""

    stats: StreamStats
    diagnostics: Diagnostics


@dataclass(kw_only=True)
class MatchedPart(PartResult):
    """What matching a part came to."""

    matches: Matches


def match_part(part: Part, plan: MatchPlan, *, hashes: bool) -> MatchedPart:
    """Match a part, in whichever process, with hashes of its gold where nobody has all of it."""
    sample = GoldSample() if compares_gold(plan.matcher) else None
    stats = StreamStats(hashes=[] if hashes else None, golds=sample)
    diagnostics = Diagnostics()
    matches = match_stream(part.batches(stats.repair), stats, plan, diagnostics)
    return MatchedPart(stats=stats, diagnostics=diagnostics, matches=matches)


def match_in_parts(
    source: Source, plan: MatchPlan, diagnostics: Diagnostics, engine: Engine
) -> Matches:
    """`match_source` by others, with the same errors; or a `WorkerError`: a process died."""
    stats, parts = source.stats, list[Matches]()
    stats.kept = None if plan.keep is None else []
    work = partial(match_part, plan=plan, hashes=stats.hashes is not None)
    results = engine.map(work, parts_of(source.rows))
    for result in passing(source, diagnostics, results, message("matched parts")):
        parts.append(result.matches)
    matching.conclude(plan.matcher, diagnostics)
    return Matches.joined(*zip(*parts))


_Part = TypeVar("_Part", bound=PartResult)


def passing(
    source: Source,
    diagnostics: Diagnostics,
    results: Generator[_Part, None, None],
    title: str,
    is_shown: bool | None = None,
) -> Iterator[_Part]:
    """What comes of the parts of a source, in order, which passes then; their notes are merged.

    Raises:
        DataError: a question stands in two parts, or ids lack texts, all of which are counted.
    """
    stats = source.stats
    # Closed at once, also after a mistake, as others may be at work.
    with closing(results), progress_bar(title, None, is_shown) as advance:
        try:
            for result in results:
                if not stats.lines.keys().isdisjoint(result.stats.lines):
                    _read_whole(source)
                stats.add(result.stats)
                diagnostics.merge(result.diagnostics)
                advance()
                yield result
        except LackingError:
            _read_whole(source)
            raise
    source.ended()


def _read_whole(source: Source) -> None:
    """Read a source once more, here, which says what single parts cannot know is wrong."""
    rows = source.rows if source.reading is None else source.reading.anew()
    is_gone = source.reading is not None and source.reading.is_read_once
    for _ in () if is_gone else source.texts.filled(batches_of(rows)):
        pass
