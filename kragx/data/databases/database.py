"""A database in SQLite or PostgreSQL: its tables, how it is opened, and the statements for both."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Identity,
    Integer,
    MetaData,
    Row,
    Select,
    Table,
    Text,
    create_engine,
    func,
    make_url,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from kragx.data.databases import Address, NoStoreError, StoreFailedError, seconds_left
from kragx.ground.errors import DataError, needing
from kragx.ground.printing import message

_INSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
MOST_VALUES = 500  # values in one statement, rows in one answer
_WAITS = (0.1, 0.5, 2.0, 5.0)  # seconds before a database server is asked again
_WAIT = 60.0  # seconds to wait for another process that writes to a file
_PATIENCE = 10  # seconds to wait for a database server
_Result = TypeVar("_Result")

Rows = Sequence[Mapping[str, Any]]
WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""The type of whole numbers."""


def text_column(name: str, **options: object) -> Column[str]:
    """A column of texts, none of which is missing."""
    return Column(name, Text, nullable=False, **options)  # type: ignore[arg-type]


def id_column() -> Column[int]:
    """The number of a row, in the order in which rows came."""
    return Column("id", WHOLE, Identity(), primary_key=True)


@dataclass(frozen=True, eq=False)
class Schema:
    """What a database holds.

    Attributes:
        name: of the schema of a PostgreSQL database that the tables are in.
        what: what people call such a database, in messages.
        metadata: the tables.
        version: of the tables.
        first: the name of a table by which such a database is told from another.
        lock: the number of PostgreSQL's advisory lock of who makes the tables.
    """

    name: str
    what: str
    metadata: MetaData
    version: int
    first: str
    lock: int


class Database:
    """An opened database.

    Args:
        address: where it is.
        schema: what it holds.
        make: whether it is made if it does not exist.
        waits: seconds before a database server that is gone is asked again, each time.

    Attributes:
        read_only: whether there is no right to write.

    Raises:
        NoStoreError: it does not exist and is not to be made.
        DataError: it holds something else, or is of a later kragx.
    """

    def __init__(
        self, address: Address, schema: Schema, make: bool, waits: Sequence[float] = _WAITS
    ) -> None:
        self._address, self._schema, self._waits = address, schema, waits
        self._lock = threading.Lock()
        self.read_only: bool
        try:
            self._connection, self.read_only = _opened(address, schema, make)
        except (SQLAlchemyError, OSError) as error:
            problem = message(
                "cannot be opened as a {what}: {reason}", what=schema.what, reason=_reason(error)
            )
            raise DataError("{address}: {why}", address=address, why=problem) from None

    def close(self) -> None:
        """Close the connection, once nothing is done with it."""
        with self._lock:
            self._connection.close()

    def do(
        self,
        work: Callable[[Connection], _Result],
        *,
        write: bool = False,
        waits: Iterable[float] | None = None,
    ) -> _Result:
        """What a piece of work gives, all of which is done, or nothing.

        A database server that is gone for a moment is asked again: what is written is the same
        when it is written twice.

        Args:
            work: what is done with a connection, by one thread at a time.
            write: whether it writes.
            waits: seconds before a server is asked again, each time; None for its own.

        Raises:
            StoreFailedError: it cannot be done.
        """
        if write and self.read_only:
            problem = message("the {what} may only be read", what=self._schema.what)
            raise StoreFailedError(problem, path=str(self._address))
        waits_left = iter(() if self._address.path else self._waits if waits is None else waits)
        while True:
            try:
                with self._lock, transaction(self._connection, write=write):
                    return work(self._connection)
            except SQLAlchemyError as error:
                wait = next(waits_left, None) if isinstance(error, OperationalError) else None
                seconds = seconds_left()
                if wait is None or (seconds is not None and wait > seconds):
                    problem = message(
                        "the {what} failed: {reason}", what=self._schema.what, reason=_reason(error)
                    )
                    raise StoreFailedError(problem, path=str(self._address)) from None
            time.sleep(wait)

    def insert(self, *, lock: int | None = None, **rows: Rows) -> None:
        """Add the rows that are new to tables.

        Args:
            lock: the number of PostgreSQL's advisory lock of who adds rows: numbers are given
                before the commit, and who reads on from the last one would miss those of a slower
                transaction.
            rows: by the name of their table.
        """

        def work(db: Connection) -> None:
            if lock is not None and db.dialect.name == "postgresql":
                db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({lock})")
            for table, of_table in rows.items():
                insert_rows(db, self._schema.metadata.tables[table], of_table)

        self.do(work, write=True)

    def rows(
        self,
        table: str,
        names: Iterable[str],
        column: str = "",
        values: Iterable[str] | None = None,
    ) -> list[Any]:
        """What the columns of these names have, where the column `column` has these values; or all.

        Rows with the same value are in the order in which they came.
        """
        query = self._query(table, names)
        if values is None:
            return self.do(lambda db: [*db.execute(query)])
        key = self._schema.metadata.tables[table].c[column]
        return self.do(lambda db: [*rows_of(db, query, key, values)])

    def pages(self, table: str, names: Iterable[str], after: int = -1) -> Iterator[Sequence[Any]]:
        """Yield the rows of a table with a higher id, some hundred at a time, oldest first."""
        number = self._schema.metadata.tables[table].c.id
        query, last = self._query(table, ("id", *names)).limit(MOST_VALUES), after

        def page_after(db: Connection) -> Sequence[Any]:
            return db.execute(query.where(number > last)).all()

        while page := self.do(page_after):
            yield page
            last = page[-1][0]

    def lasts(self) -> dict[str, int]:
        """The highest id of each table, at one moment; 0 of an empty one."""
        tables = self._schema.metadata.tables.items()
        query = select(
            *(select(func.max(table.c.id)).scalar_subquery().label(name) for name, table in tables)
        )
        row = self.do(lambda db: db.execute(query).one())
        return {name: number or 0 for name, number in row._mapping.items()}

    def _query(self, table: str, names: Iterable[str]) -> Select[Any]:
        columns = self._schema.metadata.tables[table].c
        query = select(*(columns[name] for name in names))
        return query.order_by(columns.id) if "id" in columns else query


def insert_rows(db: Connection, table: Table, rows: Rows, **same: Any) -> None:
    """Add the rows that are new to a table; `same` is what all of them have."""
    if rows:
        insert = _INSERTS[db.dialect.name](table).on_conflict_do_nothing()
        db.execute(insert.values(same) if same else insert, rows)


def rows_of(
    db: Connection, query: Select[Any], column: Column[Any], values: Iterable[str]
) -> Iterator[Row[Any]]:
    """Yield the rows of a query where a column has these values."""
    values = [*values]
    for start in range(0, len(values), MOST_VALUES):
        yield from db.execute(query.where(column.in_(values[start : start + MOST_VALUES])))


def _reason(error: BaseException) -> str:
    """What a database says, without the statement and its texts."""
    return " ".join(str(getattr(error, "orig", None) or error).split())


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


def _opened(address: Address, schema: Schema, make: bool) -> tuple[Connection, bool]:
    """A connection to a database, made where it may be, and whether there is no right to write."""
    if address.path:
        connection, read_only = _file(address.path, schema, make)
    else:
        connection, read_only = _server(address, schema), False
    try:
        with connection.begin():
            version = _version(connection, schema, address)
        if address.path and not read_only:
            _log_ahead(connection)
        if version is None:
            if not make or read_only:
                raise NoStoreError(
                    "{address}: there is no {what}", address=address, what=schema.what
                )
            with transaction(connection, write=True):
                if not address.path:  # nobody else makes the tables until the transaction ends
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({schema.lock})")
                version = _version(connection, schema, address)
                if version is None:  # else another process was faster
                    _make(connection, schema)
                    version = schema.version
        if version != schema.version:
            newer = ": use a newer kragx, or another store" if version > schema.version else ""
            raise DataError(
                "{name}: of version {version}; this kragx knows {version_2}{newer}",
                name=address,
                version=version,
                version_2=schema.version,
                newer=newer,
            )
        if not address.path:
            with connection.begin():
                read_only = not _may_write(connection, schema)
    except BaseException:
        connection.close()
        raise
    return connection, read_only


def _version(connection: Connection, schema: Schema, address: Address) -> int | None:
    """The version of the tables; None where there are none."""
    if address.path:
        names = [*connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars()]
        if names and schema.first not in names:
            raise DataError(
                "{place}: an SQLite file of something else; name another", place=address
            )
        return connection.exec_driver_sql("PRAGMA user_version").scalar_one() if names else None
    # Not to_regclass, which may not see what another session has made a moment ago.
    n_tables = connection.exec_driver_sql(
        "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
        f"WHERE nspname = '{schema.name}' AND relname = 'versions'"
    ).scalar_one()
    query = f"SELECT coalesce(max(version), 0) FROM {schema.name}.versions"
    return connection.exec_driver_sql(query).scalar_one() if n_tables else None


def _make(connection: Connection, schema: Schema) -> None:
    """Make the tables, with their version."""
    if connection.dialect.name == "sqlite":
        statements = [f"PRAGMA user_version = {schema.version}"]
    else:
        connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {schema.name}")
        versions = f"{schema.name}.versions"
        statements = [
            f"CREATE TABLE {versions} (version INTEGER)",
            f"INSERT INTO {versions} VALUES ({schema.version})",
        ]
    schema.metadata.create_all(connection, checkfirst=False)
    for statement in statements:
        connection.exec_driver_sql(statement)


def _file(path: Path, schema: Schema, make: bool) -> tuple[Connection, bool]:
    """A connection to an SQLite file, and whether it may only be read."""
    if not (make or path.exists()):
        raise NoStoreError("{place}: there is no {what}", place=path, what=schema.what)
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

    return create_engine("sqlite://", creator=driver, poolclass=NullPool).connect(), read_only


def _log_ahead(connection: Connection) -> None:
    """Have it log ahead: a killed process loses nothing then; a power cut, the last moments."""
    with connection.begin():
        # Of two that open a new file at once one is told that it is locked; a file logs ahead for
        # both of them.
        with suppress(OperationalError):
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql("PRAGMA synchronous = NORMAL")


def _server(address: Address, schema: Schema) -> Connection:
    """A connection to PostgreSQL."""
    with needing("postgres", f"{address}:"):
        import psycopg  # noqa: F401
    try:
        url = make_url(address.url)
    except (SQLAlchemyError, ValueError):  # whose text may have the password
        problem = message(
            "{address}: no URL of PostgreSQL, as postgresql://user@host/database is one",
            address=address,
        )
        raise DataError(problem) from None
    engine = create_engine(
        url,
        poolclass=NullPool,
        # Poolers that stand before a database know no prepared statements.
        connect_args={"prepare_threshold": None, "connect_timeout": _PATIENCE},
        execution_options={"schema_translate_map": {None: schema.name}},
    )
    return engine.connect()


def _may_write(connection: Connection, schema: Schema) -> bool:
    """Whether the tables of a PostgreSQL database may be added to."""
    query = (
        f"SELECT has_table_privilege('{schema.name}.{schema.first}', 'INSERT') "
        "AND current_setting('transaction_read_only') = 'off'"
    )
    return bool(connection.exec_driver_sql(query).scalar_one())
