"""Statements for a judgement store that no other database has."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Column, Connection, func, select

from kragx.data.databases import Address, database
from kragx.data.databases.database import MOST_VALUES, rows_of
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

    def distinct_starts(self, until: str) -> list[Any]:
        """The distinct starts of questions, up to the first letter of a text in them."""
        material = tables.questions.c.material

        def work(db: Connection) -> list[Any]:
            return list(db.scalars(select(_start(db, material, until)).distinct()))

        return self.do(work)

    def last_human(self) -> int:
        """The highest id of people's grades; 0 if there is none."""
        attempts = tables.attempts.c
        query = select(func.max(attempts.id)).where(attempts.source == "human")
        return self.do(lambda db: db.scalars(query).one()) or 0

    def starts_of_questions(self, until: str, keys: Collection[str]) -> list[Any]:
        """Pairs of a key and the start of its question, for these keys at least."""
        questions = tables.questions.c
        few = keys if len(keys) <= MOST_VALUES else None  # one by one is ten times slower than all

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
        attempts = tables.attempts.c
        query = self._query(
            "attempts", ("id", "uid", "key", "source", "asked_model", *kinds)
        ).where(attempts.id > after, attempts.at >= since, attempts.source != "human")
        return self.do(lambda db: list(db.execute(query)))


def _start(db: Connection, text: Column[Any], until: str) -> Any:
    """A text up to the first of these letters."""
    place = {"sqlite": func.instr, "postgresql": func.strpos}[db.dialect.name]
    return func.substr(text, 1, place(text, until))
