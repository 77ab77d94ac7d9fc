"""A process that dies at its n-th change of the file system, for real or as far as a test can."""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

_CHANGES = (
    *("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "link", "write", "fsync", "chmod"),
)


class Killed(BaseException):
    """What stands for a kill where the test's own process has to go on."""


class Changes:
    """Counts writes, renamings and the like; from one of them on nothing reaches the disk.

    Args:
        deadly: which one is not done; None for none.
        die: is called there.
    """

    def __init__(self, deadly: int | None = None, die: Callable[[], object] = str) -> None:
        self.deadly, self.die, self.n = deadly, die, 0

    @property
    def over(self) -> bool:
        """Whether the process would be dead."""
        return self.deadly is not None and self.n >= self.deadly

    def count(self) -> None:
        """One more."""
        self.n += 1
        if self.over:
            self.die()
            raise Killed

    @contextmanager
    def counted(self) -> Iterator[Changes]:
        """Within this block every change is counted."""
        changes, real_open, real_os_open = self, io.open, os.open

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                if changes.over:  # buffers that are emptied after death
                    return len(data)
                changes.count()
                return super().write(data)

        def opened(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if not {*mode} & {*"wax+"}:
                return real_open(file, mode, *args, **options)
            changes.count()
            raw = Raw(file, mode.replace("b", "").replace("t", ""))
            size = 512
            buffer = io.BufferedRandom(raw, size) if "+" in mode else io.BufferedWriter(raw, size)
            if "b" in mode:
                return buffer
            names = ("buffering", "encoding", "errors", "newline")
            known = {**dict(zip(names, args)), **options}
            known.pop("buffering", None)
            return io.TextIOWrapper(buffer, **known)

        def os_opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & os.O_CREAT:
                changes.count()
            return real_os_open(path, flags, *args, **options)

        def counting(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **options: Any) -> Any:
                changes.count()
                return real(*args, **options)

            return call

        patches = {name: counting(getattr(os, name)) for name in _CHANGES}
        with (
            mock.patch.multiple(os, open=os_opened, **patches),
            mock.patch.object(io, "open", opened),
            mock.patch.object(builtins, "open", opened),
        ):
            yield self


def kill_at(*places: int) -> None:
    """Kill `kragx run` at each of these changes, and keep what `kragx report` says then.

    For a process of its own, in the folder of run.yaml and kept, the results before: it imports
    what is needed once, and each run is a child that really ends. ``said/<place>.json`` is what is
    reported, ``said/<place>-next.json`` after another run, for every fifth.
    """
    # Once here, so that all that is imported and made at first use is not for each child.
    for arguments in (["run", "run.yaml", "--output", "first"], ["report", "first"]):
        _command(*arguments)
    Path("said").mkdir()
    for number, place in enumerate(places):
        shutil.rmtree("out", ignore_errors=True)
        shutil.rmtree("out.unfinished", ignore_errors=True)
        shutil.copytree("kept", "out")
        assert _in_child("run", "run.yaml", deadly=place) == 9
        report = ("report", "out", "--format", "json")
        assert _in_child(*report, out=f"said/{place}.json") == 0
        if number % 5 == 0:
            assert _in_child("run", "run.yaml") == 0
            assert _in_child(*report, out=f"said/{place}-next.json") == 0


def _in_child(*arguments: str, deadly: int | None = None, out: str = os.devnull) -> int:
    """The exit code of a command; killed at a change of the file system, if one is given."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT, 0o666), 1)
    code = 1
    with suppress(BaseException), Changes(deadly, lambda: os._exit(9)).counted():
        code = _command(*arguments)
    os._exit(code)


def _command(*arguments: str) -> int:
    """The exit code of a command in this process."""
    from kragx.app.commands.main import main as command

    sys.argv = ["kragx", *arguments]
    try:
        command()
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        sys.stdout.flush()
    return 0
