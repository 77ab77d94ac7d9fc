"""The command `kragx`.

What reads arguments is imported within, so that an interrupt meanwhile ends the command as any
other does.
"""

import atexit
import gc
import signal
import warnings
from contextlib import suppress
from pathlib import Path

from kragx.app.commands.process import ended_by_signals, ending, open_streams, show_warning
from kragx.ground import plugins

_MANY_OBJECTS = 20_000
"""After so many new objects the garbage collector looks for circles."""


def main() -> None:
    """Run the command."""
    # An interrupt at the very end, when nothing is left to lose, ends without a word.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with ended_by_signals(), ending():
        open_streams()
        warnings.showwarning = show_warning
        from kragx.app.commands.root import app

        # What was imported stays, and documents come in hundreds of thousands: looking through all
        # of it after every few hundred takes a tenth of the time.
        gc.freeze()
        gc.set_threshold(_MANY_OBJECTS)
        folder = None
        with suppress(FileNotFoundError):  # it was removed meanwhile
            folder = Path.cwd()
        # A user's own retrievers and matchers are found in the folder where kragx was started.
        with plugins.looking_in(folder):
            app()


if __name__ == "__main__":
    main()
