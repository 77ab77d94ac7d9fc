"""Opening a database: an SQLite file, or PostgreSQL; made where it is new."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from kragx.data.databases.address import Address, NoStoreError, seconds_left
from kragx.data.databases.schema import Schema
from kragx.ground.errors import DataError, needing

_WAIT = 60.0  # seconds to wait for another process that writes to a file
_PATIENCE = 10  # seconds to wait for a database server


def opened(address: Address, schema: Schema, *, make: bool) -> tuple[Connection, bool]:
    """A connection to a database, and whether there is no right to write.

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
    description = str(getattr(error, "orig", None) or error).strip()
    return " ".join(description.split())


@contextmanager
def transaction(connection: Connection, *, write: bool = False) -> Iterator[Connection]:
    """All that is written within, or nothing of it; others are waited for while `answering`."""
    remaining = seconds_left()
    with connection.begin():
        if connection.dialect.name == "sqlite":
            wait = _WAIT if remaining is None else remaining
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(1000 * wait)}")
            if write:
                # Taking the write lock at once waits for other writers; taking it half-way fails.
                connection.exec_driver_sql("BEGIN IMMEDIATE")
        elif remaining is not None:  # 0 would be for ever
            connection.exec_driver_sql(
                f"SET LOCAL lock_timeout = {max(1, round(1000 * remaining))}"
            )
        yield connection


def _check(name: object, version: int, schema: Schema) -> None:
    if version != schema.version:
        newer = ": use a newer kragx, or another store" if version > schema.version else ""
        raise DataError(f"{name}: of version {version}; this kragx knows {schema.version}{newer}")


# -- SQLite --------------------------------------------------------------------------------------


def _sqlite(path: Path, schema: Schema, make: bool) -> tuple[Connection, bool]:
    if not (make or path.exists()):
        raise NoStoreError(f"{path}: there is no {schema.what}")
    effective = os.access in os.supports_effective_ids
    read_only = path.exists() and not all(
        os.access(place, os.W_OK, effective_ids=effective) for place in (path, path.parent)
    )
    if not read_only:
        path.parent.mkdir(parents=True, exist_ok=True)
    # Without the right to make the files that SQLite has beside one, it reads a file that it is
    # told nobody writes.
    log = path.with_name(f"{path.name}-wal")
    is_written = log.exists() and log.stat().st_size
    mode = ("mode=ro" if is_written else "mode=ro&immutable=1") if read_only else "mode=rwc"
    address = f"{path.absolute().as_uri()}?{mode}"

    def driver() -> sqlite3.Connection:
        # Several threads use it one at a time (`Database.do`).
        return sqlite3.connect(
            address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False
        )

    connection = create_engine("sqlite://", creator=driver, poolclass=NullPool).connect()
    try:
        with connection.begin():
            version, tables = _version(connection), _tables(connection)
            if (tables or read_only) and schema.first not in tables:
                raise DataError(f"{path}: an SQLite file of something else; name another")
            if tables:
                _check(path, version, schema)
        if not read_only:
            _log_ahead(connection)
        if not (tables or read_only):
            with transaction(connection, write=True):
                if not _tables(connection):  # else another process was faster
                    schema.metadata.create_all(connection, checkfirst=False)
                    connection.exec_driver_sql(f"PRAGMA user_version = {schema.version}")
    except BaseException:
        connection.close()
        raise
    return connection, read_only


def _version(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def _tables(connection: Connection) -> list[str]:
    return list(connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars())


def _log_ahead(connection: Connection) -> None:
    """Have it log ahead: a killed process loses nothing then; a power cut, the last moments."""
    until = time.monotonic() + _WAIT
    while True:
        try:
            with connection.begin():
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
                connection.exec_driver_sql("PRAGMA synchronous = NORMAL")
            return
        except OperationalError as error:
            # Of two that open a new file at once one is told so, and is not made to wait.
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(0.02)


# -- PostgreSQL ----------------------------------------------------------------------------------


def _postgresql(address: Address, schema: Schema, make: bool) -> tuple[Connection, bool]:
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
            state = _state(connection, schema)
        if state is None:
            if not make:
                raise NoStoreError(f"{address}: there is no {schema.what}")
            with connection.begin():
                # Nobody else makes the tables until the transaction ends.
                connection.execute(text(f"SELECT pg_advisory_xact_lock({schema.lock})"))
                if _state(connection, schema) is None:  # else another process was faster
                    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {schema.name}")
                    schema.metadata.create_all(connection, checkfirst=False)
                    versions = f"{schema.name}.versions"
                    connection.exec_driver_sql(f"CREATE TABLE {versions} (version INTEGER)")
                    connection.exec_driver_sql(f"INSERT INTO {versions} VALUES ({schema.version})")
                state = _state(connection, schema)
        version, read_only = state or (0, True)
        _check(address, version, schema)
    except BaseException:
        connection.close()
        raise
    return connection, read_only


def _state(connection: Connection, schema: Schema) -> tuple[int, bool] | None:
    """The version of the tables, and whether they may only be read; None where there are none."""
    # Not to_regclass, which may not see what another session has made a moment ago.
    n_tables = connection.scalar(
        text(
            "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = :schema AND relname = 'versions'"
        ),
        {"schema": schema.name},
    )
    if not n_tables:
        return None
    version = connection.scalar(text(f"SELECT max(version) FROM {schema.name}.versions"))
    may_write = connection.scalar(
        text(
            f"SELECT has_table_privilege('{schema.name}.{schema.first}', 'INSERT') "
            "AND current_setting('transaction_read_only') = 'off'"
        )
    )
    return version or 0, not may_write
