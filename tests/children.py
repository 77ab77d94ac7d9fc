"""Child processes that close a stream, may write little, or can be interrupted.

Without `preexec_fn`: for that Python forks itself, and what its threads do meanwhile (those of
gRPC, once a vector store has loaded it) is written into the child's standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence


def after(statement: str, command: Sequence[str]) -> list[str]:
    """A command that takes the place of a process which has run a statement of Python."""
    code = f"import os, sys; {statement}; os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-IS", "-c", code, *command]


def heeding(command: Sequence[str]) -> list[str]:
    """One that interrupts end: background jobs ignore them, and so do their children."""
    if os.name != "posix":
        return [*command]
    return after("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)", command)


def closing(streams: Iterable[int], command: Sequence[str]) -> list[str]:
    """One without some standard streams, which are named by their numbers."""
    closed = "; ".join([f"os.close({number})" for number in streams])
    return after(closed, command) if closed else [*command]


def limited(most: int, command: Sequence[str]) -> list[str]:
    """One that writes files of so many bytes at most (`resource.RLIM_INFINITY`: of any size)."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, resource.RLIM_INFINITY))"
    return after(f"import resource; {limit}", command)
