"""Parts of a source, stretches of questions that can be worked on alone; and their matches."""

from __future__ import annotations

import hashlib
import io
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kragx.data import NO_CORPUS, LackingError, Mender, Reading, stands_twice
from kragx.data.batch import Batch, Row, batches_of
from kragx.data.formats.located import files_of, shown
from kragx.data.formats.parquet import ParquetTable
from kragx.data.problems import Problem
from kragx.data.weights import unequal
from kragx.evaluation.forbidden import Forbidding, PartMarks, joined
from kragx.evaluation.inputs import NO_TEXTS, Source, StreamStats, Texts
from kragx.evaluation.parts.workers import Engine
from kragx.evaluation.searching import Searched, Searching
from kragx.ground.printing import phrase, progress_bar
from kragx.matchers import BaseMatcher, MatchItem, Notes, OnMatch, Trace, matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import MatchTable, Profile
from kragx.metrics.search_table import SearchTable

PART_BYTES = 8 << 20
"""Bytes of a file that are a part, of its beginning."""

PART_ROWS = 512
"""Questions in memory that are a part."""


@dataclass(frozen=True)
class Part(ABC):
    """A stretch of questions.

    Attributes:
        name: what messages call it.
        file: that it is of, as messages have it.
        place: that file as every process finds it; empty where all of it is sent.
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
    """Questions as they are; whoever has read them has counted surrogates."""

    content: Sequence[Row]

    @property
    def key(self) -> str:
        """Of what they are pickled to."""
        return hashlib.sha256(pickle.dumps(self.content)).hexdigest()

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """They, many at once."""
        return batches_of(self.content)


@dataclass(frozen=True)
class Lines(Part):
    """Whole lines of a JSON Lines file.

    Attributes:
        first: the number of the first line, from 1.
        start, stop: the bytes.
        format: the format of the file's records.
    """

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
        return _read(Reading(self.file, self.format, strict=True, lines=lines), mender)


@dataclass(frozen=True)
class Groups(Part):
    """Row groups of a Parquet file that has a row a question."""

    table: ParquetTable

    @property
    def key(self) -> str:
        """Of the bytes, and of what they mean."""
        return self.table.content_hash()

    def batches(self, mender: Mender) -> Iterator[Batch]:
        """The questions in these rows."""
        return _read(Reading(self.table, "gold", strict=True), mender)


def _read(reading: Reading, mender: Mender) -> Iterator[Batch]:
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
    rows.problems.mender.surrogates = 0  # as these lines are read again
    assert rows.format is not None
    return _lines_of(str(rows.path), rows.format.name)


def _in_rows(rows: Iterable[Row], file: str = "") -> Iterator[Part]:
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Rows(f"questions {n + 1:,} to {n + len(content):,}", content, file=file)
        n += len(content)


def _groups_of(file: str) -> Iterator[Part]:
    for table in ParquetTable(file).stretches(PART_BYTES):
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
            yield Lines(name, first, start, stop, format_, file=path, place=place)
            first, start = first + raw.count(b"\n"), stop


def itself(item: MatchItem) -> MatchItem:
    """A question with its documents, for metrics that look at them."""
    return item


@dataclass(frozen=True)
class MatchPlan:
    """What is done with every part; it can be sent to other processes.

    Attributes:
        matcher: scores the pairs.
        profile: says what is done with lists before.
        texts: fills in those of ids.
        hashes: whether each query's gold is hashed, as the whole gold set is not at hand.
        golds: whether gold is kept that is compared with gold, for the same reason.
        keep: what is kept of each question; None for nothing. A function of a module.
        keeps_traces: whether what the matcher was asked and said is kept.
        forbidding: tells what must not come; None where nothing is forbidden.
        searching: takes searches apart; None where nobody looks at any.
    """

    matcher: BaseMatcher
    profile: Profile
    texts: Texts = NO_TEXTS
    hashes: bool = False
    golds: bool = False
    keep: Callable[[MatchItem], Any] | None = None
    keeps_traces: bool = False
    forbidding: Forbidding | None = None
    searching: Searching | None = None


class Matches(NamedTuple):
    """What matching some questions came to.

    Attributes:
        table: the matches; where there are searches of all distinct documents.
        forbidden: the marks of what must not come; None where nothing is forbidden.
        searched: what was searched for; None where nobody looks at any.
    """

    table: MatchTable
    forbidden: PartMarks | None = None
    searched: Searched | None = None

    def weighed(self, place: str) -> Matches:
        """The same without the questions' weights where all are alike.

        Raises:
            DataError: all are 0; `place` names the questions.
        """
        if self.table.weights is None:
            return self
        weights = unequal(self.table.weights, place)
        return self._replace(table=replace(self.table, weights=weights))

    @property
    def searches(self) -> SearchTable | None:
        """What each search brought; None where nobody looks at any."""
        return None if self.searched is None else self.searched.matched(self.table)

    @property
    def on_basis(self) -> MatchTable:
        """The table of the list that metrics are about which name none."""
        searches = self.searches
        return self.table if searches is None else searches.of()


def matches_of(
    tables: Sequence[MatchTable],
    marks: Iterable[PartMarks | None],
    searched: Iterable[Searched | None],
) -> Matches:
    """The matches of all questions of some parts, in order; at least one of them."""
    all_marks, searches = [*filter(None, marks)], [*filter(None, searched)]
    return Matches(
        MatchTable.joined(tables),
        joined(all_marks) if all_marks else None,
        Searched.joined(searches) if searches else None,
    )


def observed(
    batches: Iterable[Batch], forbidding: Forbidding | None, searching: Searching | None
) -> tuple[Iterable[Batch], Callable[[MatchTable], Matches]]:
    """Batches, as they are matched, and what makes their matches of their table once all passed.

    What must not come is looked for in what any search of a question brought.
    """
    marks: list[PartMarks] = []
    searched: list[Searched] = []
    if searching is not None:
        note = None if forbidding is None else lambda batch: marks.append(forbidding.marks(batch))
        batches = searching.watching(batches, searched, note)
    elif forbidding is not None:
        batches = forbidding.watching(batches, marks)
    return batches, lambda table: matches_of([table], marks, searched)


@dataclass(kw_only=True)
class PartResult:
    """What came of a part.

    Attributes:
        file: that it is of, where a source has several.
        stats: what is known of its questions.
        notes: what the matcher noted.
        lacking: the error that says which ids have no text; None where none lacks one.
    """

    file: str = ""
    stats: StreamStats = field(default_factory=StreamStats)
    notes: Notes = field(default_factory=Notes)
    lacking: LackingError | None = None


@dataclass(kw_only=True)
class MatchedPart(PartResult):
    """What matching a part came to.

    Attributes:
        matches: its matches; None where texts are lacking.
        traces: of each question what the matcher was asked, and said.
    """

    matches: Matches | None = None
    traces: list[tuple[MatchItem, Trace]] = field(default_factory=list)


def match_stream(
    batches: Iterable[Batch],
    stats: StreamStats,
    plan: MatchPlan,
    notes: Notes,
    on_match: OnMatch | None = None,
) -> Matches:
    """The matches of batches, which pass then: the one function that matches any.

    Args:
        batches: as they are read.
        stats: takes note of them.
        plan: what is done with them.
        notes: the matcher adds its counts here.
        on_match: is told of each query what the matcher, and of a combination each member, said.

    Raises:
        LackingError: ids have no text, and something compares texts.
    """
    arranged = stats.batches(batches, plan.texts, plan.profile, keep=plan.keep or itself)
    seen, collect = observed(arranged, plan.forbidding, plan.searching)
    return collect(matching.match_batches(seen, plan.matcher, notes, on_match))


def match_part(part: Part, plan: MatchPlan) -> MatchedPart:
    """Match a part, in whichever process."""
    stats = StreamStats(
        hashes=[] if plan.hashes else None,
        kept=None if plan.keep is None else [],
        golds=GoldSample() if plan.golds else None,
        searching=plan.searching,
    )
    result = MatchedPart(file=part.file, stats=stats)
    on_match: OnMatch | None = None
    if plan.keeps_traces:
        on_match = lambda item, trace: result.traces.append((item, trace))  # noqa: E731
    try:
        batches = part.batches(stats.mender)
        result.matches = match_stream(batches, stats, plan, result.notes, on_match)
    except LackingError as error:
        error.lacking.corpus = NO_CORPUS  # which whoever counts them all has
        result.lacking = error
    return result


def match_source(
    source: Source,
    plan: MatchPlan,
    notes: Notes,
    engine: Engine | None = None,
    on_match: OnMatch | None = None,
) -> Matches:
    """The matches of a whole source, which has passed then.

    Args:
        source: what is evaluated.
        plan: what is done with it.
        notes: the matcher adds its counts here.
        engine: does the work in parts; None for all of it at once, here.
        on_match: is told of each query what the matcher, and of a combination each member, said.

    Raises:
        DataError: the first that would be found reading all of it; ids without texts are counted.
        WorkerError: a process died.
    """
    stats, plan = source.stats, replace(plan, texts=source.texts)
    stats.kept, stats.searching = None if plan.keep is None else [], plan.searching
    if engine is None:
        parts = [match_stream(batches_of(source.rows), stats, plan, notes, on_match)]
        source.ended()
    else:
        hashes, golds = stats.hashes is not None, stats.golds is not None
        plan = replace(plan, hashes=hashes, golds=golds, keeps_traces=on_match is not None)
        parts = []
        work = engine.map(partial(match_part, plan=plan), parts_of(source.rows))
        for result in passing(source, work, phrase("matched parts")):
            notes.merge(result.notes)
            parts += [] if result.matches is None else [result.matches]
            for item, trace in result.traces:
                if on_match is not None:
                    on_match(item, trace)
    matching.conclude(plan.matcher, notes)
    return parts[0] if len(parts) == 1 else matches_of(*zip(*parts))


_Part = TypeVar("_Part", bound=PartResult)


def passing(
    source: Source,
    parts: Generator[_Part, None, None],
    title: str,
    is_shown: bool | None = None,
) -> Iterator[_Part]:
    """What comes of the parts of a source, in order, which passes then.

    Args:
        source: what is evaluated.
        parts: what came of each, as it is done.
        title: of the progress bar.
        is_shown: whether there is one; None for only on a terminal.

    Raises:
        DataError: a question stands in two parts, or ids lack texts, all of which are counted.
    """
    lacking: LackingError | None = None
    first: dict[str, tuple[str, int | None]] = {}
    # Closed at once, also after a mistake, as others may be at work.
    with closing(parts), progress_bar(title, None, is_shown) as advance:
        for result in parts:
            places = {name: (result.file, line) for name, line in result.stats.lines.items()}
            twice = next((query_id for query_id in places if query_id in first), None)
            if twice is not None:
                message = stands_twice(twice, places[twice], first[twice])
                raise Problem(*places[twice], "query_id", message).error()
            first |= places
            # Raised at the end, so that the error counts the ids without text of all parts.
            if lacking is not None and result.lacking is not None:
                lacking.lacking.add(result.lacking.lacking)
            lacking = lacking or result.lacking
            source.stats.add(result.stats)
            advance()
            yield result
    source.ended()
    if lacking is not None:
        lacking.lacking.corpus = source.texts.corpus
        raise lacking.lacking.error(lacking.needed_by)
