"""The tables of a database, as statements of SQLite and of PostgreSQL."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Integer,
    MetaData,
    Table,
    Text,
    create_mock_engine,
)

WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""The type of whole numbers."""


def text_column(name: str, **options: Any) -> Column[str]:
    """A column of texts, none of which is missing."""
    return Column(name, Text, nullable=False, **options)


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
        grow: names of the tables whose rows neither change nor go.
        lock: the number of PostgreSQL's advisory lock of who makes or changes the tables.
    """

    name: str
    what: str
    metadata: MetaData
    version: int
    grow: tuple[str, ...]
    lock: int

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        return self.metadata.tables

    @property
    def first(self) -> str:
        """The name of a table by which such a database is told from another."""
        return self.grow[0]

    def of_sqlite(self) -> Iterator[str]:
        """The statements that make the tables of an SQLite file, where they are not there yet."""
        for statement in self._made("sqlite://"):
            yield re.sub(r"^CREATE (UNIQUE INDEX|TABLE|INDEX)", r"\g<0> IF NOT EXISTS", statement)
        for trigger, change, table in self._refused():
            yield (
                f"CREATE TRIGGER IF NOT EXISTS {trigger} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, 'the {self.what} only grows'); END"
            )

    def of_postgresql(self) -> Iterator[str]:
        """The statements that make the tables of a PostgreSQL database in an existing schema."""
        yield from self._made("postgresql+psycopg://")
        yield f"CREATE TABLE {self.name}.versions (version INTEGER)"
        yield (
            f"CREATE FUNCTION {self.name}.only_grows() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$BEGIN RAISE EXCEPTION 'the {self.what} only grows'; END$$"
        )
        for trigger, change, table in self._refused():
            yield (
                f"CREATE TRIGGER {trigger} BEFORE {change} ON {self.name}.{table} "
                f"FOR EACH STATEMENT EXECUTE FUNCTION {self.name}.only_grows()"
            )
        yield f"INSERT INTO {self.name}.versions VALUES ({self.version})"

    def _refused(self) -> Iterator[tuple[str, str, str]]:
        """Name, change and table of each trigger that refuses a change."""
        for table in self.grow:
            for change in ("UPDATE", "DELETE"):
                yield f"{table}_no_{change.lower()}", change, table

    def _made(self, url: str) -> list[str]:
        made: list[str] = []

        def note(element: Any, *_: Any, **__: Any) -> None:
            made.append(str(element.compile(dialect=dialect, **options)).strip())

        engine = create_mock_engine(url, note)
        dialect = engine.dialect
        translated = {"schema_translate_map": {None: self.name}, "render_schema_translate": True}
        options: dict[str, Any] = translated if dialect.name == "postgresql" else {}
        self.metadata.create_all(engine, checkfirst=False)
        return made
