"""The tables of a database, in SQLite and in PostgreSQL."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import BigInteger, Column, Identity, Integer, MetaData, Table, Text

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

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name."""
        return self.metadata.tables
