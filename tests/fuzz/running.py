"""The command, called in this process, and what every end of it has to look like."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.app.commands.main import main

SECONDS = 10
BYTES = 2 * 1024**3

CODES = {
    0: "a result",
    1: "a gate fails",
    2: "wrong usage",
    3: "bad data",
    4: "judgements missing",
    5: "a retriever failed",
}
"""The exit codes that are documented, but for 70, a mistake of kragx itself."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Outcome:
    """What a command left behind; `code` is None where it ended with an exception."""

    args: tuple[str, ...]
    code: int | None
    out: str
    err: str
    seconds: float

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    def complaints(self, names: Sequence[str] = ()) -> Iterator[str]:
        """What is wrong with this end, whatever it is of; an error of data names one of `names`."""
        shown = " ".join(self.args)[:200]
        if self.code not in CODES:
            yield f"{shown}: ended with {self.code}: {self.err[-600:]}{self._traceback()}"
        if "Traceback (most recent call last)" in self.err + self.out:
            yield f"{shown}: a traceback: {self.err[-600:]}"
        if self.seconds > SECONDS:
            yield f"{shown}: took {self.seconds:.0f} s"
        if self.code in (2, 3, 4) and not re.search(r"^(kragx: |Error: )", self.err, re.MULTILINE):
            reported = "error: " in self.out or '"n_errors"' in self.out
            if not reported:
                yield f"{shown}: ended with {self.code} and does not say why: {self.err[-300:]!r}"
        places = (*names, "query '")  # of what is read well and cannot be matched, its query
        if self.code == 3 and names and not any(name in self.err + self.out for name in places):
            yield f"{shown}: does not say where: {self.err[-300:]!r}"
        for stream, text in (("standard output", self.out), ("standard error", self.err)):
            if control := _CONTROL.search(text):
                around = text[max(0, control.start() - 40) : control.end() + 40]
                yield f"{shown}: {stream} holds a control character: {around!r}"

    def _traceback(self) -> str:
        """What an error of kragx itself has left in a file, which is removed."""
        kept = re.search(r"the traceback is in (\S+\.txt)", self.err)
        if kept is None:
            return ""
        file = Path(kept[1])
        text = file.read_text(errors="replace")
        file.unlink()
        return text[-1500:]


def bounded() -> None:
    """For all that comes in this process: bounded memory, and neither processes nor connections."""
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))

    def refuse(event: str, args: tuple[object, ...]) -> None:
        if event in _NEVER and args[0] != "git":  # which says what state a config is in
            raise AssertionError(f"{event} {args}")

    sys.addaudithook(refuse)


_NEVER = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec"}
"""What no file that is read may bring about, as Python's audit events call it."""


def run(*args: object, stdin: bytes = b"") -> Outcome:
    """Run the command in this process, in the current folder."""
    said = tuple(map(str, args))
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", how) for how in ("strict", "backslashreplace")
    )
    start = time.process_time()
    with _as_started(["kragx", *said], io.TextIOWrapper(io.BytesIO(stdin), "utf-8"), out, err):
        try:
            with _limited():
                main()
            code: int | None = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:
            code = None
            traceback.print_exc(file=err)
    seconds = time.process_time() - start
    return Outcome(said, code, _text(out), _text(err), seconds)


@contextlib.contextmanager
def _as_started(
    argv: list[str], stdin: io.TextIOWrapper, out: io.TextIOWrapper, err: io.TextIOWrapper
) -> Iterator[None]:
    """What a new process would have, put back at the end."""
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.path[:], dict(os.environ)
    modules = set(sys.modules)
    sys.argv, sys.stdin, sys.stdout, sys.stderr = argv, stdin, out, err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)  # of numpy: a number that went wrong
        try:
            yield
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr, sys.path[:], env = before
            os.environ.clear()
            os.environ.update(env)
            here = str(Path.cwd())
            for name in set(sys.modules) - modules:
                if (getattr(sys.modules[name], "__file__", None) or "").startswith(here):
                    del sys.modules[name]


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """A `TimeoutError` after twice `SECONDS` of processor time, where a signal can be had."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {2 * SECONDS} s")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _text(stream: io.TextIOWrapper) -> str:
    with contextlib.suppress(ValueError, UnicodeEncodeError):
        stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", "replace")
