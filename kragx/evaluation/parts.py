"""Work in parts: stretches of questions that can be matched alone, and who works on them.

That is this process, others of this machine, or an engine that is found by its name.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from kragx.data import LackingError, Reading, SurrogateRepair
from kragx.data.batch import Batch, Row, batches_of
from kragx.data.formats.jsonl import raw_lines
from kragx.data.formats.parquet import ParquetTable, files_of, shown
from kragx.evaluation.inputs import Source, StreamStats
from kragx.evaluation.match_source import Matches, MatchPlan, match_stream
from kragx.ground.caller_warnings import warn
from kragx.ground.entry_points import declared
from kragx.ground.errors import UsageError, WorkerError, inside
from kragx.ground.options import from_options
from kragx.ground.printing import message, progress_bar
from kragx.matchers import BaseMatcher, MatchWarning
from kragx.matchers.gold_siblings import GoldSample, compares_gold

PART_BYTES = 16 << 20
"""Bytes of a file that are a part: each begins anew to look at texts, so few large ones are less
work, and too few leave workers idle."""

PART_ROWS = 512
"""Questions in memory that are a part."""


class Lines(NamedTuple):
    """Whole lines of JSON Lines, unpacked.

    Attributes:
        file: as messages have it.
        format: the name of its format.
        lines: with their numbers.
    """

    file: str
    format: str
    lines: Sequence[tuple[int, bytes]]


@dataclass(frozen=True)
class Part:
    """A stretch of questions.

    Attributes:
        name: what messages call it.
        content: some lines; or row groups of a file that has a row a question; or the questions as
            they are.
    """

    name: str
    content: Lines | ParquetTable | Sequence[Row]

    @property
    def key(self) -> str:
        """The SHA-256 of its content."""
        match self.content:
            case ParquetTable() as table:
                return table.content_hash()
            case Lines(lines=lines):
                return hashlib.sha256(b"".join(raw for _, raw in lines)).hexdigest()
            case rows:
                return hashlib.sha256(pickle.dumps(rows)).hexdigest()

    def batches(self, repair: SurrogateRepair) -> Iterator[Batch]:
        """Its questions, many at once; what is wrong is said with the line of the whole file."""
        match self.content:
            case ParquetTable() as table:
                reading = Reading(table, "gold", strict=True)
            case Lines(file, format_, lines):
                reading = Reading(file, format_, strict=True, lines=lines)
            case rows:
                return batches_of(rows)  # whoever has read them has counted surrogates
        reading.problems.repair = repair
        return reading.batches()


def parts_of(rows: Iterable[Row]) -> Iterator[Part]:
    """Cut questions into parts; of JSON Lines only line ends are read.

    Raises:
        DataError: as `Reading`, as far as it has to be read.
    """
    if isinstance(rows, Reading) and rows.is_located:
        tables = [*map(ParquetTable, files_of(rows.source))]
        if all(map(rows.is_nested, tables)):
            for part in chain.from_iterable(table.stretches(PART_BYTES) for table in tables):
                groups = part.groups or (0,)
                yield Part(
                    f"{shown(part.file)}, row groups {groups[0] + 1} to {groups[-1] + 1}", part
                )
            return
    elif isinstance(rows, Reading):
        stream = iter(rows)
        first = next(stream, None)  # its format is known now
        if first is None:
            raise rows.empty
        if rows.by_lines and not rows.is_read_once:
            rows.problems.repair.surrogates = 0  # as these lines are read again
            yield from _in_lines(rows)
            return
        rows = chain([first], stream)
    stream, n = iter(rows), 0
    while content := list(islice(stream, PART_ROWS)):
        yield Part(f"questions {n + 1:,} to {n + len(content):,}", content)
        n += len(content)


def _in_lines(reading: Reading) -> Iterator[Part]:
    file, form = str(reading.path), reading.format
    assert form is not None
    stream = (line for line in raw_lines(file) if line[1].strip())
    if reading.forbidden:
        next(stream)  # rules are no question; workers may not find the file, which says so
    lines, size = list[tuple[int, bytes]](), 0
    for line in chain(stream, [None]):
        if lines and (line is None or size >= PART_BYTES):
            yield Part(f"{file} from line {lines[0][0]} on", Lines(file, form.name, lines))
            lines, size = [], 0
        if line is not None:
            lines.append(line)
            size += len(line[1])


def match_part(part: Part, plan: MatchPlan, stats: StreamStats) -> Matches:
    """Match a part, in whichever process, with a sample of its gold: nobody has all of it."""
    if compares_gold(plan.matcher):
        stats.golds = GoldSample()
    return match_stream(part.batches(stats.repair), stats, plan)


def _matched(part: Part, plan: MatchPlan, *, hashes: bool) -> tuple[StreamStats, Matches]:
    stats = StreamStats(hashes=[] if hashes else None)
    return stats, match_part(part, plan, stats)


def passing(
    source: Source,
    results: Generator[tuple[StreamStats, Value], None, None],
    title: str,
    is_shown: bool | None = None,
) -> Iterator[Value]:
    """What comes of the parts of a source, in order, which passes then.

    Raises:
        DataError: a question stands in two parts, or ids lack texts, all of which are counted.
    """
    # Closed at once, also after a mistake, as others may be at work.
    with closing(results), progress_bar(title, None, is_shown) as advance:
        try:
            for stats, value in results:
                if not source.stats.lines.keys().isdisjoint(stats.lines):
                    _read_whole(source)
                source.stats.add(stats)
                advance()
                yield value
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
            BrokenExecutor: whoever worked on the first of those that wait died; it says how.
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
        try:
            with self.working(sendable(function), waiting) as (submit, value_of, limit):
                while True:
                    for item in islice(stream, limit - len(waiting)):
                        waiting.append((str(getattr(item, "name", item)), submit(sendable(item))))
                    if not waiting:
                        return
                    value = value_of(waiting[0][1])
                    if isinstance(value, Exception):
                        raise value
                    waiting.popleft()
                    yield value
        except BrokenExecutor as error:
            raise WorkerError(
                "a worker died{remark} while it worked on {name}",
                remedy="if memory ran out, fewer workers need less of it; nothing is lost but this "
                "work",
                remark=error,
                name=waiting[0][0],
            ) from error


def match_in_parts(source: Source, plan: MatchPlan, engine: Engine) -> Matches:
    """The matches of a whole source, part by part, which has passed then.

    Raises:
        WorkerError: as `Engine.map`.
    """
    work = partial(_matched, plan=plan, hashes=source.stats.hashes is not None)
    results = engine.map(work, parts_of(source.rows))
    return Matches.joined(*zip(*passing(source, results, message("matched parts"))))


def engine_of(workers: object, *matchers: BaseMatcher) -> Engine | None:
    """Who does the work that is shared; None for nobody else.

    Args:
        workers: a number of processes, an `Engine`, or a mapping that says which:
            ``{"ray": {"address": "auto"}}``.
        matchers: a judge's questions are not shared, which is said.

    Raises:
        UsageError: it is nothing of the kind.
    """
    if workers is None or (type(workers) is int and workers == 1):
        return None
    if isinstance(workers, Engine):
        engine = workers
    elif type(workers) is int and workers > 1:
        engine = ProcessPool(workers)
    elif isinstance(workers, Mapping) and [*map(type, workers)] == [str]:
        ((name, options),) = workers.items()
        with inside(f"engine.{name}"):
            engine = from_options(declared("engines", name), options or {})
    else:
        problem = message(
            "{workers!r} is no number of processes, 1 or more, and no engine", workers=workers
        )
        raise UsageError(problem, field="workers")
    judge = next((matcher for matcher in matchers if matcher.judges), None)
    if judge is None:
        return engine
    problem = message(
        "workers: {matcher!r} asks a judge, so it stays in this process; it waits for a server and "
        "not for the processor (its 'concurrency' says how often at once)",
        matcher=judge.name,
    )
    warn(problem, MatchWarning)
    return None


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


_unpickled = lru_cache(maxsize=1)(pickle.loads)
"""A process unpickles its function once, with matcher and corpus."""


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
        first = [*islice(stream, 2)]
        several = super().map(function, chain(first, stream))
        yield from several if len(first) > 1 else map(function, first)

    @contextmanager
    def working(self, function: bytes, waiting: Waiting) -> Iterator[Hands]:
        """Within it the processes run, each at the other end of a pipe."""
        spawning, idle = get_context("spawn"), SimpleQueue[Connection]()
        processes = list[SpawnProcess]()

        def exchange(item: bytes) -> Any:
            connection = idle.get()
            try:
                connection.send_bytes(item)
                return pickle.loads(connection.recv_bytes())
            except (EOFError, OSError) as error:  # whoever died has closed its end
                raise BrokenExecutor from error
            finally:
                idle.put(connection)

        with ThreadPoolExecutor(self.n) as threads:
            try:
                for _ in range(self.n):
                    ours, theirs = spawning.Pipe()
                    process = spawning.Process(target=_serve, args=(theirs, function))
                    _begin(process)
                    processes.append(process)
                    theirs.close()
                    idle.put(ours)
                yield lambda item: threads.submit(exchange, item), Future.result, AHEAD * self.n
            finally:  # interrupts as well: nobody waits for what they are at
                for process in processes:
                    process.terminate()
                    process.join()


def _begin(process: SpawnProcess) -> None:
    """Begin a process without the script at hand, so that it does not matter what that does."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main


def _serve(connection: Connection, function: bytes) -> None:
    """Work on each item that comes, as long as there is who has begun this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever has started this ends it
    os.environ["OMP_NUM_THREADS"] = "1"  # a core each: read as numpy and pyarrow are imported
    os.dup2(2, 1)  # what code prints is no result
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # whoever has started this has gone
        while True:
            value = work_on(function, connection.recv_bytes())
            connection.send_bytes(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def _end_with_parent() -> None:
    """Wait until whoever has started this is gone, in the middle of whatever it is at."""
    parent = parent_process()
    assert parent is not None  # as it was spawned
    parent.join()
    os._exit(1)
