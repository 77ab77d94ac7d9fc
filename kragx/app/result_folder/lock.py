"""One at a time: a lock that the system lets go when its holder ends, however it ends."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kragx.data.formats.jsonl import refused
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import UsageError
from kragx.ground.printing import message
from kragx.report.record import UNFINISHED

if sys.platform == "win32":
    import msvcrt

    def _set(number: int, *, is_locked: bool) -> None:
        # Behind all content, as nobody else can read what is locked.
        os.lseek(number, 1 << 30, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_NBLCK if is_locked else msvcrt.LK_UNLCK, 1)
        os.lseek(number, 0, os.SEEK_SET)
else:
    import fcntl

    def _set(number: int, *, is_locked: bool) -> None:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB if is_locked else fcntl.LOCK_UN)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that a file stands for, which is gone afterwards.

    Raises:
        UsageError: another one holds it, in this process or in another; or the file cannot be made.
    """
    with refused(path, "locked"):
        number = _opened(path)
    try:
        yield
    finally:
        try:
            with suppress(OSError):  # on Windows nobody can remove a file that is open
                path.unlink()
        finally:
            # Not by closing alone: a child that was forked meanwhile has the file open, too.
            with suppress(OSError):
                _set(number, is_locked=False)
            os.close(number)


def _opened(path: Path) -> int:
    """The file, open and locked; a `UsageError` where another one has it."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A link is not followed: what it leads to is not ours to write in.
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FileNotFoundError:  # its former holder has just removed the folder
            continue
        try:
            _set(number, is_locked=True)
        except (BlockingIOError, PermissionError):
            os.close(number)
            folder = str(path.parent).removesuffix(UNFINISHED)
            raise UsageError("{folder}: in use by another run", folder=folder) from None
        except OSError as error:
            text = message(
                "this file system knows no locks ({reason}); let no two runs write to one folder",
                reason=error.strerror or error,
            )
            warn(text, UserWarning)
        # Its former holder may have removed the file that was opened here.
        if path.exists() and os.path.samestat(os.fstat(number), path.stat()):
            return number
        os.close(number)
