"""SQLite files that several processes may share: judgement stores and caches of vectors."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kragx.errors import DataError

WAIT = 60.0  # seconds to wait for another process that writes
_MOST_VALUES = 500  # in one SQL statement
_STATE = "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"


def connect(
    path: Path, schema: Iterable[str], version: int, pragmas: Sequence[str] = ()
) -> sqlite3.Connection:
    """Open a file whose folder and tables are made if it is new; transactions are `writing`'s.

    Args:
        path: the file.
        schema: the statements that make its tables.
        version: of the tables; kept in the file.
        pragmas: how this connection works.

    Raises:
        DataError: the file is an SQLite file of something else, or of a later version.
        sqlite3.Error: it is no SQLite file, or cannot be used.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whoever has several threads use a connection does so one at a time (`Database.do`).
    db = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        stored, _ = db.execute(_STATE).fetchone()
        if stored > version:
            raise DataError(
                f"{path}: of version {stored}; this kragx knows {version}: use a newer kragx, or "
                "another file"
            )
        if stored < version:
            with writing(db):
                stored, tables = db.execute(_STATE).fetchone()
                if stored < version:  # else another process was faster
                    if tables:
                        raise DataError(f"{path}: an SQLite file of something else; name another")
                    for statement in schema:
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {version}")
        for pragma in pragmas:
            _set(db, pragma)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """A transaction: all that is written within, or nothing of it."""
    # Taking the write lock at once waits for other writers; taking it half-way would fail.
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk has ended it already
            db.execute("ROLLBACK")
        raise


def rows_of(
    db: sqlite3.Connection, query: str, values: Sequence[str], order: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query that ends in a column, for these values of it.

    Rows with the same value keep their `order`.
    """
    for start in range(0, len(values), _MOST_VALUES):
        part = values[start : start + _MOST_VALUES]
        yield from db.execute(f"{query} IN ({', '.join('?' * len(part))}) {order}", part)


def _set(db: sqlite3.Connection, pragma: str) -> None:
    # Two processes that open a new file at once may find it locked for a moment, which changing
    # the journal mode reports without waiting.
    until = time.monotonic() + WAIT
    while True:
        try:
            db.execute(f"PRAGMA {pragma}")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(0.02)
