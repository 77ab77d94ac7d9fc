"""Who is asking which question right now, so that nobody pays for it a second time.

Whoever is about to ask claims the key, and renews the claim until the answer is stored. A process
that is killed renews nothing, and others take over after `LASTS` seconds; on the same machine they
see at once that it is gone.
"""

import os
import socket
import uuid
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, delete, literal_column, or_, select, update

from kragx.data.databases.database import Database, insert_rows
from kragx.judging.store.tables import claims

LASTS = 30.0
"""Seconds without renewal after which a claim is nobody's."""

# Of the database, as the clocks of several machines differ.
_CLOCKS = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "extract(epoch from clock_timestamp())",
}
_OWN = claims.c


@dataclass(frozen=True)
class Claimed:
    """What came of claiming keys.

    Attributes:
        keys: those that are one's own now.
        inherited: those of them that somebody has left without an end.
    """

    keys: frozenset[str]
    inherited: frozenset[str]


class Claims:
    """The claims of one run, of which a process may have several.

    Attributes:
        ended: keys that need no claim any more; these go with the next ones that are claimed.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.ended: deque[str] = deque()  # which several threads may use at once
        self._owner = f"{_machine()}/{os.getpid()}/{uuid.uuid4().hex}"

    def claim(self, keys: Sequence[str]) -> Claimed:
        """Claim what nobody else has claimed."""
        ended = [self.ended.popleft() for _ in range(len(self.ended))]
        return self._database.do(lambda db: self._claim(db, keys, ended), write=True)

    def _claim(self, db: Connection, keys: Sequence[str], ended: Sequence[str]) -> Claimed:
        is_own = _OWN.owner == self._owner
        if ended:
            db.execute(delete(claims).where(is_own, _OWN.key.in_(ended)))
        now = _now(db)
        foreign = select(_OWN.key, _OWN.owner, _OWN.until > now).where(_OWN.key.in_(keys), ~is_own)
        rows = db.execute(foreign).all()
        dead_owners = {owner for owner in {owner for _, owner, _ in rows} if _is_gone(owner)}
        free = {key for key, owner, is_live in rows if owner in dead_owners or not is_live}
        if free:
            is_left = or_(_OWN.until <= now, _OWN.owner.in_(dead_owners))
            db.execute(delete(claims).where(_OWN.key.in_(free), is_left))
        # In one order, lest two that claim at once wait for each other.
        rows_to_claim = [{"key": key, "owner": self._owner} for key in sorted(keys)]
        insert_rows(db, claims, rows_to_claim, until=now + LASTS)
        claimed = frozenset(db.scalars(select(_OWN.key).where(_OWN.key.in_(keys), is_own)))
        return Claimed(claimed, claimed & free)

    def renew(self) -> None:
        """Say that one is still at it."""

        def work(db: Connection) -> None:
            until = _now(db) + LASTS
            db.execute(update(claims).where(_OWN.owner == self._owner).values(until=until))

        self._database.do(work, write=True)

    def close(self) -> None:
        """Claim nothing more."""
        query = delete(claims).where(_OWN.owner == self._owner)
        self._database.do(lambda db: db.execute(query), write=True, waits=())


def live(db: Connection) -> set[str]:
    """The keys that somebody is about to ask, or is asking."""
    now = _now(db)
    rows = db.execute(select(_OWN.key, _OWN.owner).where(_OWN.until > now)).all()
    dead_owners = {owner for owner in {owner for _, owner in rows} if _is_gone(owner)}
    return {key for key, owner in rows if owner not in dead_owners}


def _now(db: Connection) -> ColumnElement[float]:
    return literal_column(_CLOCKS[db.dialect.name])


def _machine() -> str:
    """A name of where a process number means something."""
    space = ""
    with suppress(OSError):  # a container has numbers of its own
        space = str(Path("/proc/self/ns/pid").stat().st_ino)
    return f"{socket.gethostname()}:{space}"


def _is_gone(owner: str) -> bool:
    """Whether the process of a claim has ended, as far as can be seen from here."""
    machine, number, _ = owner.rsplit("/", 2)
    if machine != _machine() or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):
        return False
    return False
