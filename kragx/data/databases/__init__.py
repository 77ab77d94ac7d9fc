"""Databases in SQLite files or in PostgreSQL, of which rows are only added: judgements, workshops.

Here stands where one is, a file or a PostgreSQL database, whose password nobody is shown;
`database`, which loads SQLAlchemy, has its tables and statements.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from kragx.ground.errors import DataError, UsageError
from kragx.ground.secrets import Secrets

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.I)  # of one letter it is a drive
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")


class NoStoreError(DataError):
    """There is no such database at an address."""


class StoreFailedError(DataError):
    """A database cannot be read or takes nothing: a full disk, a server that does not answer."""


_ANSWER_BY: ContextVar[float | None] = ContextVar("answer_by", default=None)


@contextmanager
def answering(*, within: float) -> Iterator[None]:
    """Let databases that others hold fail so many seconds after this began, as somebody waits."""
    token = _ANSWER_BY.set(time.monotonic() + within)
    try:
        yield
    finally:
        _ANSWER_BY.reset(token)


def seconds_left() -> float | None:
    """How long a database may still be waited for; None: as long as it takes."""
    deadline = _ANSWER_BY.get()
    return None if deadline is None else max(0.0, deadline - time.monotonic())


@dataclass(frozen=True)
class Address:
    """A file or a URL; its text shows no password.

    Attributes:
        shown: what messages and results say.
        path: the file; None for a database.
        url: the database's, with its password; empty for a file.
    """

    shown: str
    path: Path | None = None
    url: str = field(default="", repr=False)

    @classmethod
    def of(cls, value: object) -> Address:
        """The address that a path or a URL is.

        Raises:
            UsageError: it is neither, or a URL of something else than PostgreSQL or SQLite.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, (str, Path)) or not str(value).strip():
            raise UsageError("{value!r} is neither a file nor a postgresql:// URL", value=value)
        text = str(value)
        scheme = _SCHEME.match(text)
        if scheme is None:
            return cls(text, Path(value))
        login = text[scheme.end() :].partition("?")[0].rpartition("@")[0]
        if re.search(r"[/@]", login):  # which is not shown, as nobody knows where it ends
            raise UsageError("write / and @ in the user or password of a URL as %2F and %40")
        url = Secrets().mask(text)
        if scheme[1].lower() not in _POSTGRESQL or isinstance(value, Path):
            raise UsageError(
                "{url!r}: a store is a file, named by its path, or a postgresql:// URL, which is a "
                "text",
                url=url,
            )
        return cls(url, url=f"postgresql+psycopg://{text[scheme.end() :]}")

    def __str__(self) -> str:
        return self.shown


def is_url(value: object) -> bool:
    """Whether a text is a URL, not a path."""
    return isinstance(value, str) and _SCHEME.match(value) is not None
