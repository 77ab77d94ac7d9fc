"""The command `kragx` as a process: its streams, its signals, and how it ends.

It loads next to nothing, so that it is there before all else.
"""

import errno
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from kragx.ground.errors import DataError, JudgingError, KragxError, UsageError
from kragx.ground.printing import in_language, joined, message, say
from kragx.ground.printing.terminal import let_go

_PACKAGE = Path(__file__).parents[2]  # kragx

# What the machine refuses, whoever asks: errors of these kinds are no mistake of any program.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOMEM}
_FULL_OF_SQLITE = {7, 10, 13}  # SQLITE_NOMEM, SQLITE_IOERR, SQLITE_FULL
_FULL_OF_POSTGRESQL = {"53100", "53200"}  # disk_full, out_of_memory
_OF_THE_MACHINE = {
    *_FULL,
    errno.EROFS,
    errno.EMFILE,
    errno.ENFILE,
    # Of a file that was named: what looking at it raises before it is opened.
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.EACCES,
    errno.EPERM,
}


@contextmanager
def ending() -> Iterator[None]:
    """Around the command: whatever ends it becomes one line and its exit code."""
    try:
        yield
    except KragxError as error:
        is_full = isinstance(error, (DataError, JudgingError)) and _is_full(error)
        _fail(str(error), UsageError.exit_code if is_full else error.exit_code)
    except _Ended as error:
        _fail(error.args[0], 128 + error.signal)
    except KeyboardInterrupt as error:
        _fail(error.args[0] if error.args else message("interrupted"), 130)
    except BrokenPipeError:
        # The reader (head, less) went away; there is nobody left to tell.
        let_go(sys.stdout)
        raise SystemExit(0) from None
    except MemoryError:
        _fail(message("the memory is used up; try a part of the data"), UsageError.exit_code)
    except OSError as error:
        if error.errno not in _OF_THE_MACHINE:
            _fail(*_describe_unexpected(error))
        # Files say their names where they are written and read; standard output has none.
        output = error.filename or "standard output"
        let_go(sys.stdout)
        _fail(f"{output}: {error.strerror}", UsageError.exit_code)
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("typer", "click"):
            raise  # so they say what is wrong with arguments
        _fail(*_describe_unexpected(error))


def _fail(wording: str, code: int) -> NoReturn:
    report(wording)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        let_go(sys.stdout)
    raise SystemExit(code) from None


def _is_full(error: BaseException) -> bool:
    """Whether it came of a disk, or memory, that a file or a database found full.

    SQLite and psycopg are not imported for this: their errors are known by their codes.
    """
    cause: BaseException | None = error
    while cause is not None:
        # An extended code of SQLite's has the plain one in its lowest byte.
        sqlite_code = getattr(cause, "sqlite_errorcode", None) or 0
        if (
            (isinstance(cause, OSError) and cause.errno in _FULL)
            or sqlite_code & 0xFF in _FULL_OF_SQLITE
            or getattr(cause, "sqlstate", None) in _FULL_OF_POSTGRESQL
        ):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


# -- what nobody expects ----------------------------------------------------------------------


def _describe_unexpected(error: Exception) -> tuple[str, int]:
    """What to say of an error that has no type of kragx's, and its exit code.

    It belongs to whose code is the innermost in its traceback, packages of others aside: to a
    retriever, matcher or the like of the user's, or to kragx. Where kragx itself holds something
    of the user's at that place, what that takes or returns is wrong: Python blames the caller.
    """
    description = f"{type(error).__name__}: {error}".replace("\n", " ")
    location, origin = "", "this is a mistake in kragx, please report it"
    code = KragxError.exit_code
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        file = Path(frame.f_code.co_filename)
        if _is_installed(file):
            continue
        location = f"{file.name}:{line}: "
        if not _is_kragxs(file):
            origin, code = "raised by code that is not kragx's", UsageError.exit_code
        elif isinstance(error, (TypeError, AttributeError, RecursionError)) and (
            user := next(filter(None, map(_users, _frame_values(frame))), "")
        ):
            origin, code = f"raised with {user}, which is not kragx's", UsageError.exit_code
        break
    text = _without_secrets("".join(traceback.format_exception(error)))
    return f"{location}{description}; {origin}; the traceback is in {_save_traceback(text)}", code


def _frame_values(frame: FrameType) -> Iterator[object]:
    """What stands in the variables of a frame, and in attributes of kragx's own objects there."""
    for value in frame.f_locals.values():
        yield value
        if type(value).__module__.startswith("kragx."):
            yield from getattr(value, "__dict__", {}).values()


def _users(value: object) -> str:
    """The name of an object's class, or of a function, whose code is a user's; else empty."""
    module = getattr(value, "__module__", None)
    file = getattr(sys.modules.get(module), "__file__", None) if isinstance(module, str) else None
    if file is None or _is_kragxs(Path(file)) or _is_installed(Path(file)):
        return ""
    return f"{module}.{getattr(value, '__qualname__', type(value).__qualname__)}"


def _is_kragxs(file: Path) -> bool:
    return _PACKAGE in file.parents


def _is_installed(file: Path) -> bool:
    """Whether a file belongs to Python or to another installed package, or is none at all."""
    packages = {"site-packages", "dist-packages"}.intersection(file.parts)
    # What is frozen into Python, or was typed in, has no path.
    is_pythons = Path(os.__file__).parent in file.parents or not file.is_absolute()
    return not _is_kragxs(file) and (bool(packages) or is_pythons)


def _save_traceback(text: str) -> str:
    """Write a traceback where it can be found, and say where."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="kragx-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.write(text)
    except OSError as error:
        say(text)
        return f"the lines above (no file could be written: {error.strerror})"
    return file.name


# -- streams ----------------------------------------------------------------------------------


def open_streams() -> None:
    """Make standard streams that are closed empty, and such that every text can be printed."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # Else the next file that is opened would take its number, and prints would end in it.
            with suppress(OSError):
                if (null := os.open(os.devnull, os.O_RDWR)) != number:
                    os.dup2(null, number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        # A pipe on Windows would otherwise take the local code page, which not all text fits.
        as_told = sys.stdout.isatty() or "PYTHONIOENCODING" in os.environ
        encoding = None if as_told else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="replace")


_WARNING = message("warning")


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Say a warning of Python's as kragx says all else: in one line, for `warnings`."""
    # A phrase stays one, to be said in another language.
    text = message.args[0] if isinstance(message, Warning) and message.args else message
    report(joined(": ", [_WARNING, text if isinstance(text, str) else str(message)]))


def report(wording: str) -> None:
    """Say on standard error how the command ends, or what it is warned of."""
    with suppress(UsageError):  # the variable names no language
        wording = in_language(wording)
    say(f"kragx: {_without_secrets(wording)}")


def _without_secrets(text: str) -> str:
    from kragx.ground.secrets import Secrets  # loads what only a message needs

    return Secrets.of().mask(text)


# -- signals ----------------------------------------------------------------------------------


class _Ended(KeyboardInterrupt):
    """The process is told to end, and does what it does at an interrupt."""

    def __init__(self, number: int) -> None:
        self.signal = number
        is_told = number == signal.SIGTERM
        super().__init__(message("terminated") if is_told else message("the terminal is gone"))


def _end(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # whoever says it twice means at once
    raise _Ended(number)


_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within, being told to end is an interrupt."""
    with suppress(ValueError):  # not in the main thread
        for number in _SIGNALS:
            if signal.getsignal(number) == signal.SIG_DFL:  # what is ignored (nohup) stays so
                signal.signal(number, _end)
    try:
        yield
    finally:
        _end_plainly()


def _end_plainly() -> None:
    """Have signals end the process as they end any other."""
    with suppress(ValueError):
        for number in _SIGNALS:
            if signal.getsignal(number) is _end:
                signal.signal(number, signal.SIG_DFL)


def _begin_child() -> None:
    _end_plainly()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


# A pool that a retriever forks ends its processes by a signal. There it must be none that kragx
# handles, nor come before that is so: Python forgets what came while it forked. (With a handler
# that looks whose process it is instead, one of 1,200 pools that were closed at once never ended.)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=partial(signal.pthread_sigmask, signal.SIG_BLOCK, _SIGNALS),
        after_in_parent=partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _SIGNALS),
        after_in_child=_begin_child,
    )
