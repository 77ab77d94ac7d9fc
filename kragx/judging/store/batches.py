"""The batches of an opened store: what is planned, moved on, and looked up there.

A batch is planned before anything is sent, so that whoever comes after a killed submit knows what
may have been made: ``planned`` (nothing can run yet), ``uploaded`` (it may run), ``submitted`` (it
does); then one of ``collected``, ``failed`` and ``given up``, which let go of its questions.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Table, insert, select, text

from kragx.data.databases.database import Database, insert_rows, rows_of
from kragx.ground.errors import DataError, UsageError, shorten
from kragx.judging.budget import Used
from kragx.judging.question import Judgement, now
from kragx.judging.store.claims import live
from kragx.judging.store.tables import SCHEMA, attempts, batch_questions, batch_states, claims


@dataclass(frozen=True)
class SubmittedBatch:
    """A batch as the store knows it.

    Attributes:
        uid: ours.
        made: when it was planned, in UTC (ISO 8601).
        state: how far it is.
        since: when it got there.
        about: how it was asked for: client, rubrics, address, limits.
        detail: what was last learned: the provider's id, its status, counts, what went wrong.
    """

    uid: str
    made: str
    state: str
    since: str
    about: Mapping[str, Any]
    detail: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The provider's, or ours before there is one."""
        return str(self.detail.get("id") or self.uid)

    @property
    def most(self) -> Used:
        """What its answers may take at most."""
        return Used(**self.about["most"])

    @property
    def is_open(self) -> bool:
        """Whether its answers are still to come: it holds its questions."""
        return self.state in ("planned", "uploaded", "submitted")


class Register:
    """The batches of an opened store; their rows are only added to."""

    def __init__(self, database: Database, path: str) -> None:
        self._database, self._path = database, path

    def batches(self) -> list[SubmittedBatch]:
        """All of them, oldest first.

        Raises:
            DataError: a row is none that kragx wrote.
        """
        return self._database.do(self._batches)

    def questions(self, batch: SubmittedBatch) -> dict[str, tuple[str, int]]:
        """The questions of a batch by key: each one's rubric (its digest), and about its tokens."""
        rows = self._database.rows(
            "batch_questions", ("key", "rubric", "tokens"), "uid", [batch.uid]
        )
        return {key: (rubric, tokens) for key, rubric, tokens in sorted(rows)}

    def pending(self, keys: Collection[str]) -> dict[str, Judgement]:
        """What stands for the answers that open batches are to give to these questions."""
        batches = self._database.do(lambda db: self._pending(db, keys))
        return {
            key: Judgement(key, failure="pending", detail=f"in {batch.id}, submitted {batch.made}")
            for key, batch in batches.items()
        }

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
            busy = set() if again else live(db) | self._pending(db, questions).keys()
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

    def _pending(self, db: Connection, keys: Collection[str]) -> dict[str, SubmittedBatch]:
        columns = batch_questions.c
        query = select(columns.key, columns.uid)
        rows: list[Any] = [*rows_of(db, query, columns.key, keys)]
        pending = {batch.uid: batch for batch in self._batches(db) if batch.is_open} if rows else {}
        return {key: pending[uid] for key, uid in rows if uid in pending}

    def _batches(self, db: Connection) -> list[SubmittedBatch]:
        columns = batch_states.c
        query = select(columns.uid, columns.at, columns.state, columns.detail).order_by(columns.id)
        batches: dict[str, SubmittedBatch] = {}
        for uid, time, state, detail_text in db.execute(query):
            try:
                detail = dict(json.loads(detail_text))
                before = batches.get(uid)
                if before is None:
                    batch = batches[uid] = SubmittedBatch(uid, time, "planned", time, detail, {})
                    detail["client"]["model"], detail["rubrics"], Used() + batch.most
                else:
                    since = before.since if before.state == state else time
                    detail = {**before.detail, **detail}
                    batches[uid] = replace(before, state=state, since=since, detail=detail)
            except (ValueError, TypeError, LookupError, UsageError):
                problem = f"a batch that kragx did not write: {shorten(detail_text)}"
                raise DataError(problem, path=self._path) from None
        return list(batches.values())


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
