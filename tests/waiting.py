"""Waiting for other processes and threads, however busy the machine is."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

PATIENCE = 120  # seconds; only what never comes takes them


def wait_until(true: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    """Wait until something is true; fails where it never is, or a process has ended before."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert process is None or process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < end, f"not so in {PATIENCE} s"
        time.sleep(0.02)


def free_port() -> int:
    """A port that nobody listens to, and that no connection takes meanwhile.

    Systems give outgoing connections, and servers that ask for port 0, higher ones.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with closing(socket.socket()) as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
