"""Work in parts: stretches of questions that can be matched alone, and who works on them.

That is this process, others of this machine, or an engine that is found by its name.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import shutil
import signal
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from kragx.data import LackingError, Reading, SurrogateRepair
from kragx.data.batch import Batch, Row, batches_of
from kragx.data.formats.parquet import ParquetTable, files_of, shown
from kragx.evaluation.inputs import Source, StreamStats
from kragx.evaluation.match_source import Matches, MatchPlan, match_stream
from kragx.ground.caller_warnings import warn
from kragx.ground.entry_points import declared
from kragx.ground.errors import UsageError, WorkerError, inside
from kragx.ground.options import from_options
from kragx.ground.printing import message, progress_bar
from kragx.matchers import BaseMatcher, Diagnostics, MatchWarning, matching
from kragx.matchers.gold_siblings import GoldSample, compares_gold

PART_BYTES = 16 << 20
"""Bytes of a file that are a part: each begins anew to look at texts, so few large ones are less
work, and too few leave workers idle."""

PART_ROWS = 512
"""Questions in memory that are a part."""


class Lines(NamedTuple):
    """Whole lines of a file of JSON Lines.

    Attributes:
        file: as messages have it.
        path: where every process of this machine finds it.
        format: the name of its format.
        first: the number of the first line.
        start, stop: where they stand, in bytes.
    """

    file: str
    path: Path
    format: str
    first: int
    start: int
    stop: int

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
    """

    name: str
    content: Lines | ParquetTable | Sequence[Row]

    @property
    def key(self) -> str:
        """The SHA-256 of its content."""
        content = self.content
        if isinstance(content, ParquetTable):
            return content.content_hash()
        raw = content.read() if isinstance(content, Lines) else pickle.dumps(content)
        return hashlib.sha256(raw).hexdigest()

    def batches(self, repair: SurrogateRepair) -> Iterator[Batch]:
        """Its questions, many at once; what is wrong is said with the line of the whole file."""
        match self.content:
            case ParquetTable() as table:
                reading = Reading(table, "gold", strict=True)
            case Lines() as part:
                lines = enumerate(io.BytesIO(part.read()), start=part.first)
                reading = Reading(part.file, part.format, strict=True, lines=lines)
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
        tables = [*map(ParquetTable, files_of(rows.source))]
        are_nested = all(map(rows.is_nested, tables))
        return chain.from_iterable(map(_in_groups, tables)) if are_nested else _in_rows(rows)
    stream = iter(rows)
    first = next(stream, None)  # its format is known now
    if first is None:
        raise rows.empty
    # Of what is packed, or comes from a pipe, no other process can begin in the middle.
    if not rows.by_lines or rows.is_read_once or str(rows.path).endswith(".gz"):
        return _in_rows(chain([first], stream))
    rows.problems.repair.surrogates = 0  # as these lines are read again
    assert rows.format is not None
    return _in_lines(str(rows.path), rows.format.name)


def _in_rows(rows: Iterable[Row]) -> Iterator[Part]:
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Part(f"questions {n + 1:,} to {n + len(content):,}", content)
        n += len(content)


def _in_groups(table: ParquetTable) -> Iterator[Part]:
    for part in table.stretches(PART_BYTES):
        groups = part.groups or (0,)
        yield Part(f"{shown(part.file)}, row groups {groups[0] + 1} to {groups[-1] + 1}", part)


def _in_lines(path: str, format_: str) -> Iterator[Part]:
    first, start = 1, 0
    with Path(path).open("rb") as file:
        while raw := file.read(PART_BYTES):
            raw += file.readline()
            lines = Lines(path, Path.cwd() / path, format_, first, start, start + len(raw))
            yield Part(f"{path} from line {first} on", lines)
            first, start = first + raw.count(b"\n"), lines.stop


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
    parts = list[Matches]()
    work = partial(match_part, plan=plan, hashes=source.stats.hashes is not None)
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


# -- who works on them ---------------------------------------------------------------------------


Item = TypeVar("Item")
Value = TypeVar("Value")
Waiting = deque[tuple[str, Any]]
"""Items under way by name, each with what stands for its value, in order."""

AHEAD = 2
"""How many items wait for each worker, so that none is idle while results are taken in."""


Hands = tuple[Callable[[bytes], Any], Callable[[Any], Any], int]
"""Others, who work: what gives them an item, as it is sent; what gives its value or error, once it
is there; and how many items may be under way at once."""


class Engine(ABC):
    """Does the same with many items, in other processes."""

    @abstractmethod
    def working(self, function: bytes, waiting: Waiting) -> AbstractContextManager[Hands]:
        """Within it others work with a function; where it is left early nothing of it goes on.

        Raises:
            WorkerError: one of them died; it says at which item of those that wait.
        """

    def begin(self) -> Any:  # noqa: B027  # most are ready
        """Get ready, so that what keeps it from that shows before other work is done."""

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """Yield what the function makes of each item, in the order of the items.

        Errors are raised here.

        Args:
            function: of a module, with arguments that can be sent to other processes.
            items: are taken as they are needed, a few ahead.

        Raises:
            WorkerError: whoever worked on an item died.
        """
        stream, waiting = iter(items), Waiting()
        with self.working(sendable(function), waiting) as (submit, value_of, limit):
            while True:
                for item in islice(stream, limit - len(waiting)):
                    waiting.append((str(getattr(item, "name", item)), submit(sendable(item))))
                if not waiting:
                    return
                value = value_of(waiting[0][1])
                waiting.popleft()
                if isinstance(value, Exception):
                    raise value
                yield value


def engine_of(workers: object, *matchers: BaseMatcher) -> Engine | None:
    """Who does the work that is shared; None for nobody else.

    Args:
        workers: a number of processes, an `Engine`, or a mapping that says which:
            ``{"ray": {"address": "auto"}}``.
        matchers: a judge's questions are not shared, which is said.

    Raises:
        UsageError: it is nothing of the kind.
    """
    engine: Engine
    match workers:
        case None | 1 if not isinstance(workers, (bool, float)):
            return None
        case int() if not isinstance(workers, bool) and workers > 1:
            engine = ProcessPool(workers)
        case Engine():
            engine = workers
        case Mapping() if [*map(type, workers)] == [str]:
            ((name, options),) = workers.items()
            with inside(f"engine.{name}"):
                engine = from_options(declared("engines", name), options or {})
        case _:
            problem = message(
                "{workers!r} is no number of processes, 1 or more, and no engine", workers=workers
            )
            raise UsageError(problem, field="workers")
    judge = next((matcher for matcher in matchers if matcher.judges), None)
    if judge is None:
        return engine
    warn(
        message(
            "workers: {matcher!r} asks a judge, so it stays in this process; it waits for a "
            "server and not for the processor (its 'concurrency' says how often at once)",
            matcher=judge.name,
        ),
        MatchWarning,
    )
    return None


def died(name: str, remark: str = "") -> WorkerError:
    """The error that says on what a process worked that is no more."""
    return WorkerError(
        "a worker died{remark} while it worked on {name}",
        remedy="if memory ran out, fewer workers need less of it; nothing is lost but this work",
        remark=remark,
        name=name,
    )


def sendable(value: object) -> bytes:
    """A function with its arguments, or an item, as other processes get it.

    Raises:
        UsageError: it cannot be sent.
    """
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise _not_sendable(error) from error


def _not_sendable(error: Exception) -> UsageError:
    return UsageError(
        "other processes cannot have what is to be done: {error}",
        field="workers",
        remedy="name classes and functions by import path, from a module and not from the script "
        "or notebook itself; or leave 'workers' out",
        error=error,
    )


@lru_cache(maxsize=1)  # a process unpickles it once, with its matcher and corpus
def _unpickled(function: bytes) -> Callable[[Any], Any]:
    return pickle.loads(function)  # type: ignore[no-any-return]


def work_on(function: bytes, item: bytes) -> Any:
    """What a function and an item come to that were sent, or the error."""
    try:
        work, unpacked = _unpickled(function), pickle.loads(item)
    except Exception as error:  # a class of the script, say
        return _not_sendable(error)
    try:
        return work(unpacked)
    except Exception as error:
        try:
            return pickle.loads(pickle.dumps(error))
        except Exception:  # whoever waits could not read it, and would take that for a death
            return RuntimeError("".join(traceback.format_exception(error)))


@dataclass(frozen=True)
class ProcessPool(Engine):
    """Processes of this machine, a core each, which end with the work, and with this one.

    Attributes:
        n: how many there are.
    """

    n: int

    def map(
        self, function: Callable[[Item], Value], items: Iterable[Item]
    ) -> Generator[Value, None, None]:
        """As any engine; for a single item no process is started."""
        stream = iter(items)
        beginning = [*islice(stream, 2)]
        several = super().map(function, chain(beginning, stream))
        yield from several if len(beginning) > 1 else map(function, beginning)

    @contextmanager
    def working(self, function: bytes, waiting: Waiting) -> Iterator[Hands]:
        """Within it the processes run."""
        folder = TemporaryDirectory(prefix="kragx-workers-", ignore_cleanup_errors=True)
        spawning = get_context("spawn")
        with folder as path, ProcessPoolExecutor(self.n, spawning, _begin, (path,)) as executor:

            def submit(item: bytes) -> Future[str]:
                # Processes begin here: without the script at hand it does not matter what it does.
                main = sys.modules["__main__"]
                sys.modules["__main__"] = ModuleType("__main__")
                try:
                    return executor.submit(_work, path, item)
                finally:
                    sys.modules["__main__"] = main

            Path(path, _FUNCTION).write_bytes(function)
            try:
                yield submit, _read, AHEAD * self.n
            except BrokenExecutor as error:  # whoever died was at one of the first
                names = (name for name, future in waiting if future.exception())
                raise died(", or on ".join(islice(names, self.n))) from error
            except BaseException:  # interrupts as well: nobody waits for what they are at
                for process in executor._processes.values():
                    process.terminate()
                raise


_FUNCTION = "function"
"""The file in the folder of the processes in which stands what they work with."""


def _begin(folder: str) -> None:
    """Prepare a process of ours, which works as long as there is who has begun it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    os.environ["OMP_NUM_THREADS"] = "1"  # a core each: read as numpy and pyarrow are imported
    os.dup2(2, 1)  # what code prints is no result
    threading.Thread(target=_end_with_parent, args=(folder,), daemon=True).start()


@cache
def _function_in(folder: str) -> bytes:
    return Path(folder, _FUNCTION).read_bytes()


def _work(folder: str, item: bytes) -> str:
    """Work on an item; the name of the file in which stands what it came to.

    A name goes through a pipe in one piece. Of a value that a killed process has begun to send the
    rest would be waited for.
    """
    with NamedTemporaryFile(dir=folder, delete=False) as file:
        pickle.dump(work_on(_function_in(folder), item), file, pickle.HIGHEST_PROTOCOL)
    return file.name


def _read(future: Future[str]) -> Any:
    """What a process of ours has written."""
    path = Path(future.result())
    value = pickle.loads(path.read_bytes())
    path.unlink()
    return value


def _end_with_parent(folder: str) -> None:
    """Wait until whoever has started this is gone, as an executor's processes outlive a kill."""
    parent = parent_process()
    assert parent is not None  # as it was spawned
    parent.join()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)  # in the middle of whatever it is at
