"""The keys of a terminal, one by one."""

import codecs
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

_NO_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[\x00\xe0].")
"""What an arrow or the like sends; on Windows two characters, of which this is the first."""


@contextmanager
def keyboard() -> Iterator[Iterator[str]]:
    """The keys as they are pressed; the terminal is as before afterwards.

    Ctrl-C raises KeyboardInterrupt, Ctrl-D ends. Where standard input is no terminal its characters
    are keys, white space left out.
    """
    if not sys.stdin.isatty():
        yield (key for key in iter(lambda: sys.stdin.read(1), "") if not key.isspace())
        return
    try:
        import termios
        import tty
    except ImportError:
        import typer

        yield _keys(iter(typer.getchar, ""))
        return
    # typer.getchar would do here too, but it throws away what is typed while a pair is drawn.
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        tty.setcbreak(terminal)
        yield _keys(map(decoder.decode, iter(lambda: os.read(terminal, 256), b"")))
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _keys(sent: Iterable[str]) -> Iterator[str]:
    """The keys in what was sent; one without a character of its own is passed over as a whole."""
    with suppress(EOFError):  # Ctrl-Z on Windows
        for characters in sent:
            for key in _NO_KEY.sub("", characters):
                if key == "\x04":  # Ctrl-D
                    return
                yield key
