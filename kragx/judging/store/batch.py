"""A batch as the store knows it: read from rows that are only added.

A batch is planned before anything is sent, so that whoever comes after a killed submit knows what
may have been made: ``planned`` (nothing can run yet), ``uploaded`` (it may run), ``submitted`` (it
does); then one of ``collected``, ``failed`` and ``given up``, which let go of its questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kragx.errors import DataError, UsageError, shorten
from kragx.judging.budget import Used
from kragx.printing import phrase

OPEN = ("planned", "uploaded", "submitted")
"""States in which a batch holds its questions."""


@dataclass(frozen=True)
class Batch:
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
        """Whether its answers are still to come."""
        return self.state in OPEN


def in_order(rows: Iterable[tuple[str, str, str, str]], path: str) -> list[Batch]:
    """The batches of rows of uid, time, state and detail, oldest first.

    Raises:
        DataError: a row is none that kragx wrote.
    """
    batches: dict[str, Batch] = {}
    for uid, at, state, text in rows:
        before = batches.get(uid)
        try:
            detail = dict(json.loads(text))
            batches[uid] = _moved(before, at, state, detail) if before else _first(uid, at, detail)
        except (ValueError, TypeError, LookupError, UsageError):
            raise DataError(
                f"a batch that kragx did not write: {shorten(text)}", path=path
            ) from None
    return list(batches.values())


def _first(uid: str, at: str, about: Mapping[str, Any]) -> Batch:
    """A batch as it was planned, if what it says of itself can be used."""
    batch = Batch(uid, at, "planned", at, about, {})
    about["client"]["model"], about["rubrics"], Used() + batch.most
    return batch


def _moved(before: Batch, at: str, state: str, detail: Mapping[str, Any]) -> Batch:
    since = before.since if before.state == state else at
    return replace(before, state=state, since=since, detail={**before.detail, **detail})


def waiting(batches: Iterable[Batch]) -> str:
    """How many batches are open, and since when."""
    made = sorted(batch.made[:16].replace("T", " ") for batch in batches if batch.is_open)
    if len(made) == 1:
        return phrase("1 batch that was submitted {when} UTC", when=made[0])
    if not made:
        return phrase("no batch")
    return phrase("{n} batches, the first submitted {when} UTC", n=len(made), when=made[0])
