"""Statements for a judgement store that no other database has."""

from sqlalchemy import func, select

from kragx.data.databases import Address, database
from kragx.judging.store import tables


class Database(database.Database):
    """An opened judgement store.

    Args:
        address: where it is.
        make: whether it is made if it does not exist.

    Raises:
        NoStoreError: it does not exist and is not to be made.
        DataError: there is no judgement store, or one of a later kragx.
    """

    def __init__(self, address: Address, make: bool) -> None:
        super().__init__(address, tables.SCHEMA, make)

    def last_human(self) -> int:
        """The highest id of people's grades; 0 if there is none."""
        attempts = tables.attempts.c
        query = select(func.max(attempts.id)).where(attempts.source == "human")
        return self.do(lambda db: db.scalars(query).one()) or 0
