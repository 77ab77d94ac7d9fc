"""Statements for a database, the same for SQLite and PostgreSQL."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, Select, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from kragx.data.databases.address import Address, StoreFailedError, seconds_left
from kragx.data.databases.connection import opened, reason, transaction
from kragx.data.databases.schema import Schema
from kragx.ground.errors import DataError

_INSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
MOST_VALUES = 500  # values in one statement, rows in one answer
_WAITS = (0.1, 0.5, 2.0, 5.0)  # seconds before a database server is asked again
_Result = TypeVar("_Result")

Rows = Sequence[Mapping[str, Any]]


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
        try:
            self._connection, read_only = opened(address, schema, make=make)
        except (SQLAlchemyError, OSError) as error:
            problem = f"cannot be opened as a {schema.what}: {reason(error)}"
            raise DataError(f"{address}: {problem}") from None
        self.read_only: bool = read_only

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
            problem = f"the {self._schema.what} may only be read"
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
                    problem = f"the {self._schema.what} failed: {reason(error)}"
                    raise StoreFailedError(problem, path=str(self._address)) from None
            time.sleep(wait)

    def insert(self, **rows: Rows) -> None:
        """Add the rows that are new to tables."""

        def work(db: Connection) -> None:
            for table, of_table in rows.items():
                insert_rows(db, self._schema.tables[table], of_table)

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
        return self.do(
            lambda db: list(rows_of(db, query, self._schema.tables[table].c.get(column), values))
        )

    def pages(self, table: str, names: Iterable[str], after: int = -1) -> Iterator[Sequence[Any]]:
        """Yield the rows of a table with a higher id, some hundred at a time, oldest first."""
        number = self._schema.tables[table].c.id
        query, last = self._query(table, ("id", *names)).limit(MOST_VALUES), after

        def page_after(db: Connection) -> Sequence[Any]:
            return db.execute(query.where(number > last)).all()

        while page := self.do(page_after):
            yield page
            last = page[-1][0]
            if len(page) < MOST_VALUES:  # it was the last one
                return

    def lasts(self) -> dict[str, int]:
        """The highest id of each table, at one moment; 0 of an empty one."""
        row = self.do(lambda db: db.execute(self._lasts).one())
        return {name: number or 0 for name, number in row._mapping.items()}

    @cached_property
    def _lasts(self) -> Select[Any]:
        tables = self._schema.tables.items()
        return select(
            *(select(func.max(table.c.id)).scalar_subquery().label(name) for name, table in tables)
        )

    def _query(self, table: str, names: Iterable[str]) -> Select[Any]:
        columns = self._schema.tables[table].c
        query = select(*(columns[name] for name in names))
        return query.order_by(columns.id) if "id" in columns else query


def insert_rows(db: Connection, table: Table, rows: Rows, **same: Any) -> None:
    """Add the rows that are new to a table; `same` is what all of them have."""
    if rows:
        insert = _insert(db.dialect.name, table)
        db.execute(insert.values(same) if same else insert, rows)


@cache
def _insert(dialect: str, table: Table) -> Any:
    return _INSERTS[dialect](table).on_conflict_do_nothing()


def rows_of(
    db: Connection, query: Select[Any], column: Column[Any] | None, values: Iterable[str] | None
) -> Iterator[Row[Any]]:
    """Yield the rows of a query where a column has these values; or all."""
    if column is None or values is None:
        yield from db.execute(query)
        return
    values = list(values)
    for start in range(0, len(values), MOST_VALUES):
        yield from db.execute(query.where(column.in_(values[start : start + MOST_VALUES])))
