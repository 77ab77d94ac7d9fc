"""The command `kragx`.

What reads arguments is imported within, so that an interrupt meanwhile ends the command as any
other does.
"""

import atexit
import signal
import warnings
from contextlib import suppress
from pathlib import Path

from kragx.app.commands.process import ended_by_signals, ending, open_streams, show_warning
from kragx.ground import plugins


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
    main()
