"""Child processes that can be interrupted."""

from __future__ import annotations

import signal


def heeded() -> None:
    """For `preexec_fn`: background jobs ignore interrupts, and so do their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
