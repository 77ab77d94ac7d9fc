"""The batches of an opened store: what is planned, moved on, and looked up there."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Table, insert, select, text

from kragx.data.databases.database import Database, insert_rows, rows_of
from kragx.judging.store.batch import Batch, in_order
from kragx.judging.store.claims import live
from kragx.judging.store.tables import SCHEMA, attempts, batch_questions, batch_states, claims
from kragx.judging.store.values import now

_STATE = ("uid", "at", "state", "detail")


class Register:
    """The batches of an opened store; their rows are only added to."""

    def __init__(self, database: Database, path: str) -> None:
        self._database, self._path = database, path

    def batches(self) -> list[Batch]:
        """All of them, oldest first.

        Raises:
            DataError: a row is none that kragx wrote.
        """
        return self._database.do(self._batches)

    def questions(self, batch: Batch) -> dict[str, tuple[str, int]]:
        """The questions of a batch by key: each one's rubric (its digest), and about its tokens."""
        rows = self._database.rows(
            "batch_questions", ("key", "rubric", "tokens"), "uid", [batch.uid]
        )
        return {key: (rubric, tokens) for key, rubric, tokens in sorted(rows)}

    def pending(self, keys: Iterable[str]) -> dict[str, Batch]:
        """The batch that each of these questions is in, of those whose answers are to come."""
        rows = self._database.rows("batch_questions", ("key", "uid"), "key", keys)
        waiting = {batch.uid: batch for batch in self.batches() if batch.is_open} if rows else {}
        return {key: waiting[uid] for key, uid in rows if uid in waiting}

    def plan(
        self,
        uid: str,
        about: Mapping[str, Any],
        questions: Mapping[str, tuple[str, int]],
        *,
        again: bool,
    ) -> set[str]:
        """Take questions into a new batch; those that are in it then are returned.

        Left out is what has a grade by now, what an open batch has, and what somebody is asking.

        Args:
            uid: the batch's.
            about: how it is asked for.
            questions: as `questions` gives them.
            again: take also what an open batch has, or somebody is asking.
        """

        def work(db: Connection) -> set[str]:
            _alone(db, claims)
            # A claim goes after its answer has come: this order misses neither.
            busy = set() if again else live(db) | self._pending(db, uid)
            graded = select(attempts.c.key).where(attempts.c.grade.is_not(None))
            busy |= {key for (key,) in rows_of(db, graded, attempts.c.key, questions)}
            free = questions.keys() - busy
            if free:
                _add(db, uid, "planned", about)
                rows = [
                    {"uid": uid, "key": key, "rubric": rubric, "tokens": tokens}
                    for key, (rubric, tokens) in questions.items()
                    if key in free
                ]
                insert_rows(db, batch_questions, rows)
            return free

        return self._database.do(work, write=True)

    def move(self, uid: str, before: str, after: str, **detail: Any) -> bool:
        """Say how far a batch is; False, and nothing said, if it is not where it was any more."""

        def work(db: Connection) -> bool:
            _alone(db)
            columns = batch_states.c
            query = select(columns.state, columns.detail).where(columns.uid == uid)
            last = db.execute(query.order_by(columns.id.desc()).limit(1)).first()
            if last is None or last.state != before:
                return last is not None and (last.state, last.detail) == (after, _json(detail))
            _add(db, uid, after, detail)
            return True

        return self._database.do(work, write=True)

    def _pending(self, db: Connection, uid: str) -> set[str]:
        """The questions of open batches but this one."""
        others = [one.uid for one in self._batches(db) if one.is_open and one.uid != uid]
        columns = batch_questions.c
        return set(db.scalars(select(columns.key).where(columns.uid.in_(others))))

    def _batches(self, db: Connection) -> list[Batch]:
        columns = batch_states.c
        query = select(*(columns[name] for name in _STATE)).order_by(columns.id)
        return in_order(((*row,) for row in db.execute(query)), self._path)


def _alone(db: Connection, *tables: Table) -> None:
    """Let nobody else say anything of batches, and in these tables, until the transaction ends."""
    if db.dialect.name == "postgresql":  # an SQLite file has one writer at a time
        names = ", ".join(f"{SCHEMA.name}.{table.name}" for table in (batch_states, *tables))
        db.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))


def _add(db: Connection, uid: str, state: str, detail: Mapping[str, Any]) -> None:
    row = {"uid": uid, "at": now(), "state": state, "detail": _json(detail)}
    db.execute(insert(batch_states), [row])


def _json(detail: Mapping[str, Any]) -> str:
    return json.dumps(detail, sort_keys=True)
