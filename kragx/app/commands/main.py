"""The command `kragx`.

What reads arguments is imported within, so that an interrupt meanwhile ends the command as any
other does.
"""

import atexit
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from kragx.app.commands.process import ended_by_signals, ending, open_streams, show_warning


def main() -> None:
    """Run the command."""
    # An interrupt at the very end, when nothing is left to lose, ends without a word.
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with ended_by_signals(), ending():
        open_streams()
        # A user's own retrievers and matchers are found in the folder where kragx was started.
        with suppress(FileNotFoundError):  # it was removed meanwhile
            if str(Path.cwd()) not in sys.path:
                sys.path.insert(0, str(Path.cwd()))
        warnings.showwarning = show_warning
        from kragx.app.commands.root import app

        app()


if __name__ == "__main__":
    main()
