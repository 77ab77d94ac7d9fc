"""Single keys from a terminal, characters from anything else."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?")


@contextmanager
def keyboard() -> Iterator[Callable[[], str]]:
    """A function that waits for the next key; the terminal is as before afterwards.

    Ctrl-C raises KeyboardInterrupt. Where standard input is no terminal its characters are keys,
    white space left out, and its end raises EOFError.
    """
    if not sys.stdin.isatty():
        yield _from_pipe
        return
    try:
        import termios
        import tty
    except ImportError:
        yield _from_windows
        return
    where = sys.stdin.fileno()
    before = termios.tcgetattr(where)
    try:
        tty.setcbreak(where)
        yield _Terminal(where).key
    finally:
        termios.tcsetattr(where, termios.TCSADRAIN, before)


class _Terminal:
    """Keys of a terminal; what arrows and the like send is passed over as a whole."""

    def __init__(self, where: int) -> None:
        self._where = where
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: deque[str] = deque()

    def key(self) -> str:
        """The next key."""
        while not self._waiting:
            sent = os.read(self._where, 256)
            if not sent:
                raise EOFError
            self._waiting.extend(_ESCAPE.sub("", self._decoder.decode(sent)))
        key = self._waiting.popleft()
        if key == "\x04":  # Ctrl-D
            raise EOFError
        return key


def _from_pipe() -> str:
    while True:
        key = sys.stdin.read(1)
        if not key:
            raise EOFError
        if not key.isspace():
            return key


def _from_windows() -> str:
    import msvcrt

    key: str = msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]  # Windows alone has it
    if key in "\x00\xe0":  # an arrow or the like: its second half says which
        msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]
        return " "
    if key == "\x03":
        raise KeyboardInterrupt
    return key


__all__ = ["keyboard"]
