"""How these tests call the command and write its files."""

from __future__ import annotations

import importlib
import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kragx.app.commands.main import main
from kragx.app.config import ConfigWarning
from kragx.data.problems import DataWarning
from kragx.matchers import MatchWarning


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as one JSON value; the command must have succeeded."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def lines(self) -> list[Any]:
        """Standard output as JSON Lines; the command must have succeeded."""
        assert self.code == 0, self.err
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def kragx(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Call the command in this process: `kragx("score", path)`."""
    # As for an installed command, the current folder is not on the path by itself.
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def call(*args: object, stdin: str | None = None, terminal: bool = False) -> Outcome:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["kragx", *map(str, args)])
        if stdin is not None:
            piped = io.BufferedReader(io.BytesIO(stdin.encode()))
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(piped))
        if terminal:
            monkeypatch.setenv("TERM", "xterm-256color")
            monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        # `main` replaces `warnings.showwarning`; leaving this block puts it back.
        with warnings.catch_warnings():
            for category in (MatchWarning, ConfigWarning, DataWarning):
                warnings.simplefilter("always", category)
            with pytest.raises(SystemExit) as ended:
                main()
        out, err = capsys.readouterr()
        code = ended.value.code or 0
        assert isinstance(code, int)
        return Outcome(code, out, err)

    return call


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Write records to a JSON Lines file in the test's own folder."""

    def write(*records: object, name: str = "results.jsonl") -> Path:
        path = tmp_path / name
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        path.write_text("".join(lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own folder, made the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def module(here: Path) -> Iterator[Callable[[str, str], None]]:
    """Write a Python module into the current folder; it is forgotten after the test."""
    names: list[str] = []

    def write(name: str, source: str) -> None:
        (here / f"{name}.py").write_text(source, encoding="utf-8")
        importlib.invalidate_caches()
        names.append(name)

    yield write
    for name in names:
        sys.modules.pop(name, None)
