"""Opening a judgement store: an SQLite file, or PostgreSQL; made where it is new."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from kragx.data.sqlite import connect
from kragx.errors import DataError, needing
from kragx.judging.store import tables
from kragx.judging.store.address import Address, NoStoreError

# With a write-ahead log a killed process loses nothing; a power cut, the last moments.
_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL")
_TABLES = "SELECT name FROM sqlite_master"
_PATIENCE = 10  # seconds to wait for a database server
_ALONE = text("SELECT pg_advisory_xact_lock(5707241101)")  # who makes or changes the tables


class Opened(NamedTuple):
    """A connection to a store.

    Attributes:
        connection: the connection.
        read_only: whether there is no right to write.
        lacking: the columns of attempts that a store of an earlier kragx, which may only be read,
            has not got.
    """

    connection: Connection
    read_only: bool
    lacking: frozenset[str] = frozenset()


def opened(address: Address, *, make: bool) -> Opened:
    """A connection to a store.

    Args:
        address: where it is.
        make: whether one that does not exist is made.

    Raises:
        NoStoreError: there is none.
        DataError: it is no judgement store, or one of a later kragx.
        SQLAlchemyError, OSError: it cannot be opened.
    """
    return _sqlite(address.path, make) if address.path else _postgresql(address, make)


def reason(error: BaseException) -> str:
    """What a database says, without the statement and its texts."""
    said = str(getattr(error, "orig", None) or error).strip()
    return " ".join(said.split())


@contextmanager
def transaction(connection: Connection, *, write: bool = False) -> Iterator[Connection]:
    """All that is written within, or nothing of it."""
    with connection.begin():
        if write and connection.dialect.name == "sqlite":
            # Taking the write lock at once waits for other writers; taking it half-way would fail.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


_COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info('attempts')",
    "postgresql": "SELECT column_name FROM information_schema.columns "
    f"WHERE table_schema = '{tables.SCHEMA}' AND table_name = 'attempts'",
}
_ATTEMPTS = {"sqlite": "attempts", "postgresql": f"{tables.SCHEMA}.attempts"}


def _lacking(connection: Connection) -> frozenset[str]:
    """The columns of attempts that a store of an earlier kragx has not got."""
    return frozenset(tables.LATER) - _names(connection, _COLUMNS[connection.dialect.name])


def _add_lacking(connection: Connection) -> None:
    attempts = _ATTEMPTS[connection.dialect.name]
    for name in _lacking(connection):  # another process may have been faster
        kind = tables.attempts.c[name].type.compile(connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {attempts} ADD COLUMN {name} {kind}")


# -- SQLite --------------------------------------------------------------------------------------


def _sqlite(path: Path, make: bool) -> Opened:
    if not (make or path.exists()):
        raise NoStoreError(f"{path}: there is no judgement store")
    read_only = path.exists() and not _may_write(path)

    def driver() -> sqlite3.Connection:
        if read_only:
            return _readable(path)
        return connect(path, tables.of_sqlite(), tables.VERSION, _PRAGMAS)

    connection = create_engine("sqlite://", creator=driver, poolclass=NullPool).connect()
    try:
        with transaction(connection):
            lacking = _lacking(connection)
            lacks_tables = tables.LATER_TABLES - _names(connection, _TABLES)
        if not read_only and (lacking or lacks_tables):
            with transaction(connection, write=True):
                _add_lacking(connection)
                for statement in tables.of_sqlite() if lacks_tables else ():
                    connection.exec_driver_sql(statement)
            lacking = frozenset()
    except BaseException:
        connection.close()
        raise
    return Opened(connection, read_only, lacking)


def _names(connection: Connection, query: str) -> set[str]:
    return {name for (name,) in connection.exec_driver_sql(query)}


def _may_write(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return all(os.access(one, os.W_OK, effective_ids=effective) for one in (path, path.parent))


def _readable(path: Path) -> sqlite3.Connection:
    """A connection that only reads."""
    log = path.with_name(f"{path.name}-wal")
    # Without the right to make the files that SQLite has beside one, it reads a file that it is
    # told nobody writes.
    ways = ["mode=ro"] if log.exists() and log.stat().st_size else ["mode=ro", "immutable=1"]
    for way in ways:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            _check(str(path), version)
        except sqlite3.OperationalError:
            db.close()
            if way == ways[-1]:
                raise
        except BaseException:
            db.close()
            raise
        else:
            return db
    raise AssertionError


def _check(name: str, version: int) -> None:
    if version == 0:
        raise DataError(f"{name}: no judgement store")
    if version > tables.VERSION:
        raise DataError(
            f"{name}: of version {version}; this kragx knows {tables.VERSION}: use a newer kragx, "
            "or another store"
        )


# -- PostgreSQL ----------------------------------------------------------------------------------


def _postgresql(address: Address, make: bool) -> Opened:
    with needing("postgres", f"{address}:"):
        import psycopg  # noqa: F401
    try:
        url = make_url(address.url)
    except (SQLAlchemyError, ValueError):  # whose text may have the password
        problem = f"{address}: no URL of PostgreSQL, as postgresql://user@host/database is one"
        raise DataError(problem) from None
    engine = create_engine(
        url,
        poolclass=NullPool,
        # Poolers that stand before a database know no prepared statements.
        connect_args={"prepare_threshold": None, "connect_timeout": _PATIENCE},
        execution_options={"schema_translate_map": {None: tables.SCHEMA}},
    )
    connection = engine.connect()
    try:
        with connection.begin():
            version, read_only = _state(connection)
        if version is None:
            if not make:
                raise NoStoreError(f"{address}: there is no judgement store")
            with connection.begin():
                connection.execute(_ALONE)
                version, read_only = _state(connection)
                if version is None:  # else another process was faster
                    _make(connection)
                    version, read_only = _state(connection)
        _check(str(address), version or 0)
        with connection.begin():
            lacking = _lacking(connection)
        if lacking and not read_only:
            with connection.begin():
                connection.execute(_ALONE)
                _add_lacking(connection)
            lacking = frozenset()
    except BaseException:
        connection.close()
        raise
    return Opened(connection, read_only, lacking)


def _state(connection: Connection) -> tuple[int | None, bool]:
    """The version of the tables, None where there are none, and whether they may only be read."""
    # Not to_regclass, which may not see what another session has made a moment ago.
    there = connection.scalar(
        text(
            "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = :schema AND relname = 'versions'"
        ),
        {"schema": tables.SCHEMA},
    )
    if not there:
        return None, False
    version = connection.scalar(text(f"SELECT max(version) FROM {tables.SCHEMA}.versions"))
    may_write = connection.scalar(
        text(
            f"SELECT has_table_privilege('{tables.SCHEMA}.attempts', 'INSERT') "
            "AND current_setting('transaction_read_only') = 'off'"
        )
    )
    return version, not may_write


def _make(connection: Connection) -> None:
    there = connection.scalar(
        text("SELECT count(*) FROM pg_namespace WHERE nspname = :name"), {"name": tables.SCHEMA}
    )
    if not there:
        connection.exec_driver_sql(f"CREATE SCHEMA {tables.SCHEMA}")
    for statement in tables.of_postgresql():
        connection.exec_driver_sql(statement)
