"""The judgement store: every attempt, in one SQLite file that only grows.

Several processes may use one file at once (write-ahead log). Attempts are committed within
milliseconds of their answers, so that whatever ends a run, a killed process too, loses only what
was in flight.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from kragx.data.sqlite import connect, rows_of, writing
from kragx.errors import DataError, inside, shorten
from kragx.judging.keys import canonical_json, key_of
from kragx.judging.question import Judgement
from kragx.judging.rubric import RUBRICS

_VERSION = 1

_SCHEMA = Path(__file__).with_name("store.sql").read_text(encoding="utf-8")


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_COLUMNS = tuple(field.name for field in fields(Judgement))
_VALUES = attrgetter(*_COLUMNS)
_WHOLE = (
    *("grade", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"),
    "output_limit",
)
_LATER = {"dialect": "TEXT", "output_limit": "INTEGER", "counting": "TEXT"}
"""Columns that version 0.1.0 did not have."""
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(_COLUMNS, (str, type(None))),
    **dict.fromkeys(_WHOLE, (int, type(None))),
    "seconds": (float, int, type(None)),
}
_INSERT = (
    f"INSERT OR IGNORE INTO attempts ({', '.join(_COLUMNS)}) "
    f"VALUES ({', '.join('?' * len(_COLUMNS))})"
)


Exported = tuple[Judgement, str, list[tuple[str, str, str]]]
"""An attempt, its question as canonical JSON, and the (key, query id, document id) it is about."""


class Store:
    """A judgement store, to be used as a context manager in one thread.

    Args:
        path: the SQLite file; its folder is made.

    Raises:
        DataError: the file is no judgement store, or one of a later kragx.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> Self:
        # With a write-ahead log a killed process loses nothing; a power cut, the last moments.
        pragmas = ("journal_mode = WAL", "synchronous = NORMAL")
        try:
            self._db = connect(self.path, _SCHEMA, _VERSION, pragmas)
            self._add_columns()
        except sqlite3.Error as error:
            raise DataError(f"{self.path}: not a judgement store: {error}") from None
        self._version: int | None = None
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._db.close()
        if isinstance(error, sqlite3.Error):
            raise DataError(f"{self.path}: the judgement store failed: {error}") from error

    def _add_columns(self) -> None:
        """What a file of an earlier kragx lacks; that kragx can still use it."""
        lacking = (
            "SELECT count(*) FROM pragma_table_info('attempts') WHERE name IN "
            f"({', '.join('?' * len(_LATER))})"
        )
        if self._db.execute(lacking, list(_LATER)).fetchone()[0] == len(_LATER):
            return
        with writing(self._db):  # another process may have been faster
            names = {
                name
                for (name,) in self._db.execute("SELECT name FROM pragma_table_info('attempts')")
            }
            for name, kind in _LATER.items():
                if name not in names:
                    self._db.execute(f"ALTER TABLE attempts ADD COLUMN {name} {kind}")

    # -- writing -----------------------------------------------------------------------------

    def add(self, attempts: Iterable[Judgement]) -> None:
        """Commit attempts at questions that were noted before."""
        with writing(self._db):
            self._db.executemany(_INSERT, map(_VALUES, attempts))

    def note(
        self, questions: Iterable[tuple[str, str]], pairs: Iterable[tuple[str, str, str]]
    ) -> None:
        """Remember what is asked, before it is.

        Args:
            questions: (key, canonical JSON).
            pairs: which (key, query id, document id) belong together, for exports.
        """
        with writing(self._db):
            self._db.executemany("INSERT OR IGNORE INTO questions VALUES (?, ?)", questions)
            self._db.executemany("INSERT OR IGNORE INTO pairs VALUES (?, ?, ?)", pairs)

    def add_labels(self, labels: Iterable[tuple[str, str, int]], origin: str) -> int:
        """Add human grades of (query id, document id); the newest of a pair counts."""
        rows = [(*label, now(), origin) for label in labels]
        with writing(self._db):
            self._db.executemany(
                "INSERT INTO labels (query_id, document_id, grade, at, origin) "
                "VALUES (?, ?, ?, ?, ?)",
                rows,
            )
        return len(rows)

    def add_records(self, records: Iterable[Exported]) -> tuple[int, int]:
        """Add attempts that were exported; returns how many were new, and how many were not.

        Raises:
            DataError: the store refuses one; nothing of the whole is added then.
        """
        new = known = 0
        with writing(self._db):
            for number, (attempt, material, pairs) in enumerate(records, start=1):
                self._db.execute(
                    "INSERT OR IGNORE INTO questions VALUES (?, ?)", (attempt.key, material)
                )
                try:
                    added = self._db.execute(_INSERT, _VALUES(attempt)).rowcount
                except sqlite3.IntegrityError as error:
                    raise DataError(f"record {number}: {error}") from None
                new, known = new + added, known + 1 - added
                self._db.executemany("INSERT OR IGNORE INTO pairs VALUES (?, ?, ?)", pairs)
        return new, known

    def changed_by_others(self) -> bool:
        """Whether another process has written since this was last asked."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        changed = version != self._version
        self._version = version
        return bool(changed)

    # -- reading -----------------------------------------------------------------------------

    def settled(self, keys: Sequence[str], *, human: bool = True) -> dict[str, Judgement]:
        """The attempt that counts for each key that has one; its source is the store, or human.

        The newest human grade, unless `human` is false; else the first grade, which stays the
        same whatever is added; else the newest failure.
        """
        settled: dict[str, Judgement] = {}
        query = f"SELECT {', '.join(_COLUMNS)} FROM attempts WHERE key"
        for row in rows_of(self._db, query, keys, "ORDER BY id"):
            attempt = _attempt(row, str(self.path))
            if attempt.source != "human":
                attempt = replace(attempt, source="store")
            elif not human:
                continue
            before = settled.get(attempt.key)
            is_open = before is None or (before.source != "human" and before.grade is None)
            if is_open or attempt.source == "human":
                settled[attempt.key] = attempt
        return settled

    def clients(self) -> list[dict[str, Any]]:
        """The distinct settings of clients under which questions are kept."""
        # In canonical JSON the client stands before the long texts; no other name stands between.
        rows = self._db.execute(
            "SELECT DISTINCT substr(material, 1, instr(material, ',\"document\":')) FROM questions"
        )
        clients = []
        for (start,) in rows:
            with suppress(
                ValueError, LookupError, TypeError
            ):  # a question that kragx did not write
                clients.append(json.loads(f"{start[:-1]}}}")["client"])
        return [client for client in clients if isinstance(client, dict)]

    def labels(self, query_ids: Sequence[str] | None = None) -> dict[tuple[str, str], int]:
        """The newest human grade of each (query id, document id); None for those of all queries."""
        query, order = "SELECT query_id, document_id, grade FROM labels", "ORDER BY id"
        rows: Iterable[tuple[Any, ...]] = (
            self._db.execute(f"{query} {order}")
            if query_ids is None
            else rows_of(self._db, f"{query} WHERE query_id", query_ids, order)
        )
        return {self._pair(pair): self._grade(grade) for *pair, grade in rows}

    def records(self) -> Iterator[dict[str, Any]]:
        """Every attempt with its question and pairs, oldest first."""
        rows = self._db.execute(
            f"SELECT {', '.join('a.' + name for name in _COLUMNS)}, q.material FROM attempts a "
            "LEFT JOIN questions q ON q.key = a.key ORDER BY a.id"
        )
        for *values, material in rows:
            attempt = _attempt(values, str(self.path))
            pairs = self._db.execute(
                "SELECT query_id, document_id FROM pairs WHERE key = ? ORDER BY 1, 2",
                (attempt.key,),
            )
            question = None if material is None else self._question(material)
            yield record(attempt, question, {attempt.key: [[*self._pair(pair)] for pair in pairs]})

    def _pair(self, ids: Sequence[Any]) -> tuple[str, str]:
        query, document = ids
        if not isinstance(query, str) or not isinstance(document, str):
            problem = f"ids that kragx did not write: {shorten(query)}, {shorten(document)}"
            raise DataError(problem, path=str(self.path))
        return query, document

    def _grade(self, grade: Any) -> int:
        if not isinstance(grade, int):
            raise DataError(
                f"a grade that kragx did not write: {shorten(grade)}", path=str(self.path)
            )
        return grade

    def _question(self, material: Any) -> dict[str, Any]:
        try:
            question = json.loads(material)
            if not all(isinstance(question[part], dict) for part in ("client", "rubric")):
                raise TypeError("no client or rubric")
        except (ValueError, TypeError, LookupError) as error:
            problem = f"a question that kragx did not write, {shorten(material)}: {error}"
            raise DataError(problem, path=str(self.path)) from None
        return dict(question)


def _attempt(values: Sequence[Any], path: str = "") -> Judgement:
    """The attempt that has these values; a `DataError` where one is of another kind."""
    for (name, kinds), value in zip(_KINDS.items(), values):
        if type(value) not in kinds:
            raise DataError(f"not a judgement: {name!r} is {shorten(value)}", path=path)
    return Judgement(*values)


def record(
    attempt: Judgement, question: Mapping[str, Any] | None, pairs: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    """An attempt as it is exported, with its question and the (query, document) ids of each key."""
    values = zip(_COLUMNS, _VALUES(attempt))
    own = {name: value for name, value in values if value is not None}
    return own | {"question": question, "pairs": pairs.get(attempt.key, [])}


def exported(records: Iterable[Mapping[str, Any]]) -> list[Exported]:
    """Attempts as `Store.records` gives them.

    Raises:
        DataError: a record lacks what it needs.
    """
    return [_read_record(record, number) for number, record in enumerate(records, start=1)]


def _read_record(record: Mapping[str, Any], number: int) -> Exported:
    try:
        material = canonical_json(record["question"])
        required = ("key", "uid", "at")
        attempt = Judgement(
            **{name: record[name] for name in _COLUMNS if name in required or name in record}
        )
        pairs = [(attempt.key, str(q), str(d)) for q, d in record.get("pairs", ())]
        rubric = RUBRICS.get(record["question"]["rubric"]["id"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"record {number}: not a judgement as 'kragx judge store export' writes it ({error!r})"
        ) from None
    with inside(f"record {number}"):
        _attempt(_VALUES(attempt))
        # Of a rubric of somebody's own the scale is not known here, but that it begins with 0.
        grade = attempt.grade
        if grade is not None and (grade < 0 or (rubric is not None and grade > rubric.top)):
            raise DataError(f"{grade} is no grade of its rubric", field="grade")
    if key_of(material) != attempt.key:
        raise DataError(
            f"record {number}: its key is not that of its question; the question was changed, and "
            "the grade belongs to another one"
        )
    return attempt, material, pairs
