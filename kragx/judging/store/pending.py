"""Questions that somebody is asking right now, or has submitted: nobody pays for them again.

Whoever is about to ask claims the key, and renews the claim until the answer is stored. A process
that is killed renews nothing, and others take over after `LASTS` seconds; on the same machine they
see at once that it is gone.

A batch holds its questions from before it is made: ``planned`` (it may run, whatever becomes of the
submit), ``submitted`` (it does), then ``collected`` or ``failed``, which let go of them.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    delete,
    literal_column,
    or_,
    select,
    text,
    update,
)

from kragx.data.databases.database import Database, insert_rows, rows_of
from kragx.judging.budget import Used
from kragx.judging.question import Judgement, in_batch, now
from kragx.judging.store.tables import SCHEMA, attempts, batch_questions, batches, claims

LASTS = 30.0
"""Seconds without renewal after which a claim is nobody's."""

# Of the database, as the clocks of several machines differ.
_CLOCKS = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "extract(epoch from clock_timestamp())",
}
_CLAIMS = claims.c


class Claimed(NamedTuple):
    """Keys that are one's own now, and those of them that somebody has left without an end."""

    keys: frozenset[str]
    inherited: frozenset[str]


class Claims:
    """The claims of one run, of which a process may have several.

    A claim ends when its answer is added as the last, when the store is closed, or when nobody
    has renewed it for long.

    Attributes:
        ended: keys that need no claim any more; these go with the next ones that are claimed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.ended: deque[str] = deque()  # which several threads may use at once
        self._owner = ""  # until something is claimed

    def claim(self, keys: Sequence[str]) -> Claimed:
        """Claim keys that one is about to ask; what others have claimed stays theirs."""
        ended = [self.ended.popleft() for _ in range(len(self.ended))]
        self._owner = self._owner or f"{_machine()}/{os.getpid()}/{uuid.uuid4().hex}"
        is_own = _CLAIMS.owner == self._owner

        def work(db: Connection) -> Claimed:
            if ended:
                db.execute(delete(claims).where(is_own, _CLAIMS.key.in_(ended)))
            now = _now(db)
            foreign = select(_CLAIMS.key, _CLAIMS.owner, _CLAIMS.until > now)
            rows = db.execute(foreign.where(_CLAIMS.key.in_(keys), ~is_own)).all()
            dead_owners = _gone({owner for _, owner, _ in rows})
            free = {key for key, owner, is_live in rows if owner in dead_owners or not is_live}
            if free:
                is_left = or_(_CLAIMS.until <= now, _CLAIMS.owner.in_(dead_owners))
                db.execute(delete(claims).where(_CLAIMS.key.in_(free), is_left))
            # In one order, lest two that claim at once wait for each other.
            rows_to_claim = [{"key": key, "owner": self._owner} for key in sorted(keys)]
            insert_rows(db, claims, rows_to_claim, until=now + LASTS)
            claimed = select(_CLAIMS.key).where(_CLAIMS.key.in_(keys), is_own)
            claimed_keys = frozenset(db.scalars(claimed))
            return Claimed(claimed_keys, claimed_keys & free)

        return self._database.do(work, write=True)

    def renew(self) -> None:
        """Say that one is still at it."""
        query = update(claims).where(_CLAIMS.owner == self._owner)
        self._database.do(lambda db: db.execute(query.values(until=_now(db) + LASTS)), write=True)

    def close(self) -> None:
        """Claim nothing more."""
        query = delete(claims).where(_CLAIMS.owner == self._owner)
        if self._owner:
            self._database.do(lambda db: db.execute(query), write=True, waits=())


def _now(db: Connection) -> ColumnElement[float]:
    return literal_column(_CLOCKS[db.dialect.name])


def _machine() -> str:
    """A name of where a process number means something."""
    space = ""
    with suppress(OSError):  # a container has numbers of its own
        space = str(Path("/proc/self/ns/pid").stat().st_ino)
    return f"{socket.gethostname()}:{space}"


def _gone(owners: Iterable[str]) -> set[str]:
    """Those of whom the process has ended, as far as can be seen from here."""
    gone: set[str] = set()
    for owner in owners:
        machine, number, _ = owner.rsplit("/", 2)
        if machine == _machine() and os.name == "posix":
            try:
                os.kill(int(number), 0)
            except ProcessLookupError:
                gone.add(owner)
            except (OSError, ValueError):  # it is somebody else's, or no number
                pass
    return gone


# -- batches ---------------------------------------------------------------------------------


_OPEN = ("planned", "submitted")


@dataclass(frozen=True)
class SubmittedBatch:
    """A batch as the store knows it.

    Attributes:
        uid: ours.
        planned_at: when it was planned, in UTC (ISO 8601).
        state: how far it is.
        about: how it was asked for: client, dialect, rubrics by their digests, the most that all of
            it can take, and about how many tokens a question has.
        detail: what was last learned: the provider's id, its status, what went wrong.
    """

    uid: str
    planned_at: str
    state: str
    about: Mapping[str, Any]
    detail: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The provider's, or ours before there is one."""
        return str(self.detail.get("id") or self.uid)

    @property
    def model(self) -> str:
        """The model that it asks."""
        return str(self.about["client"]["model"])

    @property
    def most(self) -> Used:
        """What its answers may take at most."""
        return Used(**self.about["most"])

    @property
    def is_open(self) -> bool:
        """Whether its answers are still to come: it holds its questions."""
        return self.state in _OPEN


class Register:
    """The batches of an opened store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def batches(self) -> list[SubmittedBatch]:
        """All of them, oldest first."""
        names = ("uid", "planned_at", "state", "about", "detail")
        return [
            SubmittedBatch(uid, planned_at, state, json.loads(about), json.loads(detail))
            for uid, planned_at, state, about, detail in self._database.rows("batches", names)
        ]

    def keys(self, batch: SubmittedBatch) -> set[str]:
        """The keys of the questions of a batch."""
        rows = self._database.rows("batch_questions", ["key"], "uid", [batch.uid])
        return {key for (key,) in rows}

    def pending(self, keys: Collection[str]) -> dict[str, Judgement]:
        """What stands for the answers that open batches are to give to these questions."""
        uids = self._database.do(lambda db: _in_open_batches(db, keys))
        where = {
            batch.uid: f"in {batch.id}, submitted {batch.planned_at}"
            for batch in (self.batches() if uids else ())
        }
        return {key: in_batch(key, where[uid]) for key, uid in uids.items()}

    def plan(
        self, uid: str, about: Mapping[str, Any], keys: Collection[str], *, again: bool
    ) -> set[str]:
        """Take questions into a new batch if all of them are free; those that are, are returned.

        Not free is what has a grade by now, what an open batch has, and what somebody is asking;
        of these the last two are where `again` is set.
        """

        def work(db: Connection) -> set[str]:
            if db.dialect.name == "postgresql":  # an SQLite file has one writer at a time
                names = ", ".join(f"{SCHEMA.name}.{table.name}" for table in (batches, claims))
                db.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
            # A claim goes after its answer has come: this order misses neither.
            busy: set[str] = set()
            if not again:
                live = select(_CLAIMS.key, _CLAIMS.owner).where(_CLAIMS.until > _now(db))
                claimed = db.execute(live).all()
                dead_owners = _gone({owner for _, owner in claimed})
                busy = {key for key, owner in claimed if owner not in dead_owners}
                busy |= _in_open_batches(db, keys, but=uid).keys()
            graded = select(attempts.c.key).where(attempts.c.grade.is_not(None))
            free = set(keys) - busy
            free -= {key for (key,) in rows_of(db, graded, attempts.c.key, free)}
            if len(free) == len(keys):
                row = {"uid": uid, "state": "planned", "about": json.dumps(about), "detail": "{}"}
                insert_rows(db, batches, [{**row, "planned_at": now(), "since": now()}])
                insert_rows(db, batch_questions, [{"uid": uid, "key": key} for key in keys])
            return free

        return self._database.do(work, write=True)

    def move(self, uid: str, before: str, after: str, **detail: Any) -> bool:
        """Say how far a batch is; False, and nothing said, if somebody has moved it elsewhere."""

        def work(db: Connection) -> bool:
            is_it = batches.c.uid == uid
            query = select(batches.c.state, batches.c.detail).where(is_it).with_for_update()
            state, known = db.execute(query).one()
            if state == before:
                text = json.dumps(json.loads(known) | detail)
                values = {"state": after, "since": now(), "detail": text}
                db.execute(update(batches).where(is_it).values(values))
            # Asked again, as a server's answer got lost, it stands there already.
            return state in (before, after)

        return self._database.do(work, write=True)


def _in_open_batches(db: Connection, keys: Iterable[str], but: str = "") -> dict[str, str]:
    """The uids of the open batches (but this one) that have these keys, by key."""
    columns = batch_questions.c
    query = select(columns.key, columns.uid).join(batches, batches.c.uid == columns.uid)
    query = query.where(batches.c.state.in_(_OPEN), columns.uid != but)
    return dict(map(tuple, rows_of(db, query, columns.key, keys)))
