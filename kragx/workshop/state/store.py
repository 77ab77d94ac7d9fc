"""The database of a workshop: records are added, and read in the order in which they came."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kragx.data.databases import Address
from kragx.workshop.state.records import RECORDS, StoredRecord

if TYPE_CHECKING:
    from kragx.data.databases.database import Database

_WAITS = (0.1, 0.5)  # seconds; somebody waits for the answer, and their page asks again
_LOCK = 5707241103  # PostgreSQL's advisory lock of who adds rows


class RecordStore:
    """The database of a workshop, to be used as a context manager; by several threads at will.

    Args:
        address: the SQLite file, whose folder is made, or the URL of a PostgreSQL database.
        schema: of a PostgreSQL database, which may hold several workshops.
        make: whether it is made if it does not exist.

    Raises:
        NoStoreError: it does not exist and is not to be made.
        DataError: it holds something else, or is of a later kragx.
    """

    def __init__(
        self, address: str | Path | Address, *, schema: str | None = None, make: bool = True
    ) -> None:
        self.address: Address = Address.of(address)
        self._schema, self._make = schema, make
        self._database: Database

    def __enter__(self) -> Self:
        from kragx.data.databases.database import Database
        from kragx.workshop.state import tables

        schema = tables.schema(self._schema or tables.USUAL)
        self._database = Database(self.address, schema, self._make, _WAITS)
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
