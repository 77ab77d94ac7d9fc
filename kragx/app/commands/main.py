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

from kragx.app.commands.process import ended_by_signals, ending, open_streams, report, show_warning
from kragx.ground import plugins
from kragx.ground.printing import message

GRACE = 10.0
"""Seconds that what a retriever has left at work may take to end by itself."""


def process() -> None:
    """Run the command as a process of its own, which ends when the command does.

    A retriever that hangs or works on in a thread is left to itself: Python would wait for it, or
    be taken down around it, where compiled code (faiss, torch, Kiwi) would abort the process, and
    its exit code would be none of kragx's.
    """
    codes: list[int] = []

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(codes[0])

    def leave_late() -> None:
        from multiprocessing import active_children  # which the command line does without

        main_thread = threading.main_thread()
        names = [t.name for t in threading.enumerate() if not t.daemon and t is not main_thread]
        names += [child.name for child in active_children()]
        listing = ", ".join(names)
        report(message("done; what does not end is not waited for: {names}", names=listing))
        leave()

    late = threading.Timer(GRACE, leave_late)
    late.daemon = True

    def end() -> None:
        if codes and any(thread.daemon for thread in threading.enumerate() if thread is not late):
            leave()

    atexit.register(end)  # what is registered first is called last
    try:
        main()
    except SystemExit as error:
        codes.append(error.code if isinstance(error.code, int) else bool(error.code))
        # An interrupt at the very end, when nothing is left to lose, ends without a word.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        late.start()
        raise


def main() -> None:
    """Run the command."""
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
