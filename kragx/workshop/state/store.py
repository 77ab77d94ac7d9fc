"""The database of a workshop: records are added, and read in the order in which they came.

Its tables are as the records say; their rows are only added to.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Self, get_args

from sqlalchemy import CheckConstraint, Column, Double, Index, MetaData, Table, Text

from kragx.data.databases import Address
from kragx.data.databases.database import WHOLE, Database, Schema, id_column
from kragx.ground.printing import message
from kragx.workshop.state.records import AS_JSON, RECORDS, StoredRecord

_TYPES: dict[Any, Any] = {bool: WHOLE, int: WHOLE, float: Double()}
"""What is not a text."""

USUAL = "kragx_workshop"


def _column(field: Field[Any]) -> Column[Any]:
    kinds = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
    is_json = field.name in AS_JSON
    kind = Text() if is_json else next((_TYPES[kind] for kind in kinds if kind in _TYPES), Text())
    return Column(field.name, kind, nullable=NoneType in kinds and not is_json)


_tables = MetaData()
for _record in RECORDS:
    Table(_record.table, _tables, id_column(), *map(_column, fields(_record)))
_judgements = _tables.tables["judgements"]
_judgements.append_constraint(CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)"))
# What is sent twice is stored once, and of two releases of a number the first one counts.
Index("judgements_once", _judgements.c.uid, unique=True)
Index("releases_once", _tables.tables["releases"].c.version, unique=True)


_WAITS = (0.1, 0.5)  # seconds; somebody waits for the answer, and their page asks again
_LOCK = 5707241103  # PostgreSQL's advisory lock of who adds rows


class RecordStore:
    """The database of a workshop, to be used as a context manager; by several threads at will.

    Args:
        address: the SQLite file, which is made with its folder, or the URL of a PostgreSQL
            database.
        schema: of a PostgreSQL database, which may hold several workshops.

    Raises:
        DataError: it holds something else, or is of a later kragx.
    """

    def __init__(self, address: str | Path | Address, schema: str = USUAL) -> None:
        self.address: Address = Address.of(address)
        self._schema = Schema(
            schema, message("workshop"), _tables, version=3, first="judgements", lock=5707241102
        )
        self._database: Database

    def __enter__(self) -> Self:
        self._database = Database(self.address, self._schema, make=True, waits=_WAITS)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._database.close()

    def add(self, records: Iterable[StoredRecord]) -> None:
        """Commit all of these, or none; a judgement or release that is known already adds nothing.

        Args:
            records: rows to add.

        Raises:
            StoreFailedError: nothing is written: a full disk, a server that does not answer.
        """
        rows: dict[str, list[dict[str, object]]] = {}
        for record in records:
            rows.setdefault(record.table, []).append(record.row())
        if rows:
            self._database.insert(lock=_LOCK, **rows)

    def after(
        self, last: dict[str, int], tables: Collection[str] | None = None
    ) -> Iterator[StoredRecord]:
        """Yield what came after the rows with these numbers, table by table.

        Args:
            last: by table the number of the last row that was read; it is moved on.
            tables: those to read; None for all that have anything new.
        """
        if tables is None:
            newest = self._database.lasts()
            tables = {name for name, number in newest.items() if number > last.get(name, 0)}
        for kind in RECORDS:
            if kind.table not in tables:
                continue
            columns = kind.columns()
            for page in self._database.pages(kind.table, columns, last.get(kind.table, -1)):
                for number, *values in page:
                    last[kind.table] = number
                    yield kind.of_row(dict(zip(columns, values)))
