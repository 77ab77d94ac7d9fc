"""The command `kragx`.

What reads arguments is imported within, so that an interrupt meanwhile ends the command as any
other does.
"""

import atexit
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path

from kragx.app.commands.process import ended_by_signals, ending, open_streams, show_warning
from kragx.ground import plugins


def process() -> None:
    """Run the command as a process of its own, which ends when the command does.

    A retriever that hangs or works on in a thread is left to itself. Were Python taken down around
    it, compiled code in that thread (faiss, torch, Kiwi) would abort the process, and its exit code
    would be none of kragx's.
    """
    codes: list[int] = []

    def end() -> None:
        if codes and any(thread.daemon for thread in threading.enumerate()):
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(codes[0])

    atexit.register(end)  # what is registered first is called last
    try:
        main()
    except SystemExit as error:
        codes.append(error.code if isinstance(error.code, int) else bool(error.code))
        raise


def main() -> None:
    """Run the command."""
    # An interrupt at the very end, when nothing is left to lose, ends without a word.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with ended_by_signals(), ending(), warnings.catch_warnings():
        open_streams()
        warnings.showwarning = show_warning
        from kragx.app.commands.root import app

        folder = None
        with suppress(FileNotFoundError):  # it was removed meanwhile
            folder = Path.cwd()
        # A user's own retrievers and matchers are found in the folder where kragx was started.
        with plugins.looking_in(folder):
            app()


if __name__ == "__main__":
    process()
