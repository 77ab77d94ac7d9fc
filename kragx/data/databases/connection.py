"""Opening a database: an SQLite file, or PostgreSQL; made where it is new."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from kragx.data.databases.address import Address, NoStoreError, seconds_left
from kragx.data.databases.schema import Schema
from kragx.data.sqlite import WAIT, connect
from kragx.errors import DataError, needing

# With a write-ahead log a killed process loses nothing; a power cut, the last moments.
_PRAGMAS = ("journal_mode = WAL", "synchronous = NORMAL")
_TABLES = "SELECT name FROM sqlite_master"
_PATIENCE = 10  # seconds to wait for a database server


class Opened(NamedTuple):
    """A connection to a database.

    Attributes:
        connection: the connection.
        read_only: whether there is no right to write.
    """

    connection: Connection
    read_only: bool


def opened(address: Address, schema: Schema, *, make: bool) -> Opened:
    """A connection to a database.

    Args:
        address: where it is.
        schema: what it holds.
        make: whether one that does not exist is made.

    Raises:
        NoStoreError: there is none.
        DataError: it holds something else, or is of a later kragx.
        SQLAlchemyError, OSError: it cannot be opened.
    """
    if address.path:
        return _sqlite(address.path, schema, make)
    return _postgresql(address, schema, make)


def reason(error: BaseException) -> str:
    """What a database says, without the statement and its texts."""
    said = str(getattr(error, "orig", None) or error).strip()
    return " ".join(said.split())


@contextmanager
def transaction(connection: Connection, *, write: bool = False) -> Iterator[Connection]:
    """All that is written within, or nothing of it; others are waited for while `answering`."""
    left = seconds_left()
    with connection.begin():
        if connection.dialect.name == "sqlite":
            wait = WAIT if left is None else left
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * wait)}")
        elif left is not None:  # 0 would be for ever
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {max(1, round(1000 * left))}")
        if write and connection.dialect.name == "sqlite":
            # Taking the write lock at once waits for other writers; taking it half-way would fail.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


# -- SQLite --------------------------------------------------------------------------------------


def _sqlite(path: Path, schema: Schema, make: bool) -> Opened:
    if not (make or path.exists()):
        raise NoStoreError(f"{path}: there is no {schema.what}")
    read_only = path.exists() and not _may_write(path)

    def driver() -> sqlite3.Connection:
        if read_only:
            return _readable(path, schema)
        return connect(path, schema.of_sqlite(), schema.version, _PRAGMAS)

    connection = create_engine("sqlite://", creator=driver, poolclass=NullPool).connect()
    try:
        with transaction(connection):
            if schema.first not in connection.exec_driver_sql(_TABLES).scalars():
                raise DataError(f"{path}: an SQLite file of something else; name another")
    except BaseException:
        connection.close()
        raise
    return Opened(connection, read_only)


def _may_write(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return all(os.access(one, os.W_OK, effective_ids=effective) for one in (path, path.parent))


def _readable(path: Path, schema: Schema) -> sqlite3.Connection:
    """A connection that only reads."""
    log = path.with_name(f"{path.name}-wal")
    # Without the right to make the files that SQLite has beside one, it reads a file that it is
    # told nobody writes.
    ways = ["mode=ro"] if log.exists() and log.stat().st_size else ["mode=ro", "immutable=1"]
    for way in ways:
        uri = f"{path.absolute().as_uri()}?{way}"
        db = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
            _check(str(path), version, schema)
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


def _check(name: str, version: int, schema: Schema) -> None:
    if version == 0:
        raise DataError(f"{name}: no {schema.what}")
    if version > schema.version:
        raise DataError(
            f"{name}: of version {version}; this kragx knows {schema.version}: use a newer kragx, "
            "or another store"
        )


# -- PostgreSQL ----------------------------------------------------------------------------------


def _postgresql(address: Address, schema: Schema, make: bool) -> Opened:
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
        execution_options={"schema_translate_map": {None: schema.name}},
    )
    connection = engine.connect()
    try:
        with connection.begin():
            version, read_only = _state(connection, schema)
        if version is None:
            if not make:
                raise NoStoreError(f"{address}: there is no {schema.what}")
            with connection.begin():
                _alone(connection, schema)
                version, read_only = _state(connection, schema)
                if version is None:  # else another process was faster
                    _make(connection, schema)
                    version, read_only = _state(connection, schema)
        _check(str(address), version or 0, schema)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, read_only)


def _alone(connection: Connection, schema: Schema) -> None:
    """Let nobody else make or change the tables until the transaction ends."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": schema.lock})


def _state(connection: Connection, schema: Schema) -> tuple[int | None, bool]:
    """The version of the tables, None where there are none, and whether they may only be read."""
    # Not to_regclass, which may not see what another session has made a moment ago.
    n_tables = connection.scalar(
        text(
            "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = :schema AND relname = 'versions'"
        ),
        {"schema": schema.name},
    )
    if not n_tables:
        return None, False
    version = connection.scalar(text(f"SELECT max(version) FROM {schema.name}.versions"))
    may_write = connection.scalar(
        text(
            f"SELECT has_table_privilege('{schema.name}.{schema.first}', 'INSERT') "
            "AND current_setting('transaction_read_only') = 'off'"
        )
    )
    return version, not may_write


def _make(connection: Connection, schema: Schema) -> None:
    n_schemas = connection.scalar(
        text("SELECT count(*) FROM pg_namespace WHERE nspname = :name"), {"name": schema.name}
    )
    if not n_schemas:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema.name}")
    for statement in schema.of_postgresql():
        connection.exec_driver_sql(statement)
