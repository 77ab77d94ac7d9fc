"""Statements for a judgement store, the same for SQLite and PostgreSQL."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, Select, func, null, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from kragx.errors import DataError
from kragx.judging.store.address import Address, StoreFailedError
from kragx.judging.store.connection import opened, reason, transaction
from kragx.judging.store.tables import TABLES

_INSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_MOST = 500  # values in one statement, rows in one answer
_WAITS = (0.1, 0.5, 2.0, 5.0)  # seconds before a database server is asked again
_Result = TypeVar("_Result")

Rows = Sequence[Mapping[str, Any]]


class Database:
    """An opened store.

    Args:
        address: where it is.
        make: whether it is made if it does not exist.

    Attributes:
        read_only: whether there is no right to write.

    Raises:
        NoStoreError: it does not exist and is not to be made.
        DataError: there is no judgement store, or one of a later kragx.
    """

    def __init__(self, address: Address, make: bool) -> None:
        self._address = address
        self._lock = threading.Lock()
        try:
            self._connection, self.read_only, self._lacking = opened(address, make=make)
        except (SQLAlchemyError, OSError) as error:
            problem = f"cannot be opened as a judgement store: {reason(error)}"
            raise DataError(f"{address}: {problem}") from None

    def close(self) -> None:
        """Close the connection, once nothing is done with it."""
        with self._lock:
            self._connection.close()

    def do(
        self,
        work: Callable[[Connection], _Result],
        *,
        write: bool = False,
        waits: Iterable[float] = _WAITS,
    ) -> _Result:
        """What a piece of work gives, all of which is done, or nothing.

        A database server that is gone for a moment is asked again: what is written is the same
        when it is written twice.

        Args:
            work: what is done with a connection, by one thread at a time.
            write: whether it writes.
            waits: seconds before a server is asked again, each time.

        Raises:
            StoreFailedError: it cannot be done.
        """
        if write and self.read_only:
            raise StoreFailedError("the judgement store may only be read", path=str(self._address))
        left = iter(() if self._address.path else waits)
        while True:
            try:
                with self._lock, transaction(self._connection, write=write):
                    return work(self._connection)
            except SQLAlchemyError as error:
                wait = next(left, None) if isinstance(error, OperationalError) else None
                if wait is None:
                    problem = f"the judgement store failed: {reason(error)}"
                    raise StoreFailedError(problem, path=str(self._address)) from None
            time.sleep(wait)

    def insert(self, **rows: Rows) -> None:
        """Add the rows that are new to tables."""

        def work(db: Connection) -> None:
            for table, of_table in rows.items():
                insert_rows(db, table, of_table)

        self.do(work, write=True)

    def rows(
        self, table: str, names: Iterable[str], by: str = "", values: Iterable[str] | None = None
    ) -> list[Any]:
        """What the columns of these names have, where the column `by` has these values; or all.

        Rows with the same value are in the order in which they came.
        """
        query = self._query(table, names)
        return self.do(lambda db: list(rows_of(db, query, TABLES[table].c.get(by), values)))

    def pages(self, table: str, names: Iterable[str]) -> Iterator[Sequence[Any]]:
        """Yield the rows of a table with an id, some hundred at a time, oldest first."""
        number = TABLES[table].c.id
        query, last = self._query(table, ("id", *names)).limit(_MOST), -1

        def after(db: Connection) -> Sequence[Any]:
            return db.execute(query.where(number > last)).all()

        while page := self.do(after):
            yield page
            last = page[-1][0]

    def last(self, table: str) -> int:
        """The highest id of a table; 0 if it is empty."""
        query = select(func.max(TABLES[table].c.id))
        return self.do(lambda db: db.scalars(query).one()) or 0

    def distinct_starts(self, until: str) -> list[Any]:
        """The distinct starts of questions, up to the first letter of a text in them."""
        material = TABLES["questions"].c.material

        def work(db: Connection) -> list[Any]:
            return list(db.scalars(select(_start(db, material, until)).distinct()))

        return self.do(work)

    def starts_of_questions(self, until: str, keys: Collection[str]) -> list[Any]:
        """Pairs of a key and the start of its question, for these keys at least."""
        questions = TABLES["questions"].c
        few = keys if len(keys) <= _MOST else None  # one by one is ten times slower than all

        def work(db: Connection) -> list[Any]:
            query = select(questions.key, _start(db, questions.material, until))
            return list(rows_of(db, query, questions.key, few))

        return self.do(work)

    def spent(self, since: str, after: int) -> list[Any]:
        """Number, id, key, source, model asked and tokens of attempts, oldest first.

        Args:
            since: the least of their times.
            after: the number before the least of theirs.
        """
        kinds = ("prompt_tokens", "completion_tokens", "cached_tokens")
        attempts = TABLES["attempts"].c
        query = self._query(
            "attempts", ("id", "uid", "key", "source", "asked_model", *kinds)
        ).where(attempts.id > after, attempts.at >= since, attempts.source != "human")
        return self.do(lambda db: list(db.execute(query)))

    def _query(self, table: str, names: Iterable[str]) -> Select[Any]:
        columns = TABLES[table].c
        of_names = (null() if name in self._lacking else columns[name] for name in names)
        query = select(*of_names).select_from(TABLES[table])
        return query.order_by(columns.id) if "id" in columns else query


def _start(db: Connection, text: Column[Any], until: str) -> Any:
    """A text up to the first of these letters."""
    place = {"sqlite": func.instr, "postgresql": func.strpos}[db.dialect.name]
    return func.substr(text, 1, place(text, until))


def insert_rows(db: Connection, table: str, rows: Rows, **same: Any) -> None:
    """Add the rows that are new to a table; `same` is what all of them have."""
    if rows:
        insert = _insert(db.dialect.name, table)
        db.execute(insert.values(same) if same else insert, rows)


@cache
def _insert(dialect: str, table: str) -> Any:
    return _INSERTS[dialect](TABLES[table]).on_conflict_do_nothing()


def rows_of(
    db: Connection, query: Select[Any], column: Column[Any] | None, values: Iterable[str] | None
) -> Iterator[Row[Any]]:
    """Yield the rows of a query where a column has these values; or all."""
    if column is None or values is None:
        yield from db.execute(query)
        return
    values = list(values)
    for start in range(0, len(values), _MOST):
        yield from db.execute(query.where(column.in_(values[start : start + _MOST])))
