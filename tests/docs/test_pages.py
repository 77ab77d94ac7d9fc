"""What a page shows runs from top to bottom, with what it says to install and nothing else."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.environments import made, needed

from .support import ROOT, TWINS, Block, Document

ELSEWHERE = "elsewhere"
"""The name of a block of commands that no test can run: for a server, or a hosted model."""

_INSTALL = re.compile(r"-m pip --python \.venv install ([^`\n#&]+)")
_SETS_UP = re.compile(r"-m (pip|venv|pytest)\b|activate$")
_EXTRAS = re.compile(r"\.\[([\w,]+)\]")
_EXIT = re.compile(r"\s+# exit (\d+)\b.*$")


def installed(document: Document) -> tuple[list[str], list[str]]:
    """The extras that a page's reader has, and the packages of others, as far as they are here."""
    extras: dict[str, None] = {}
    packages: dict[str, None] = {}
    for line in _INSTALL.findall(document.text):
        for word in shlex.split(line):
            if names := _EXTRAS.fullmatch(word):
                extras |= dict.fromkeys(names[1].split(","))
            elif not word.startswith("-"):
                packages[word] = None
    named = [name for name in extras if _is_here(f"kragx[{name}]")]
    return named, [name for name in packages if _is_here(name)]


def commands(block: Block) -> Iterator[tuple[str, int]]:
    """Each command of a block that installs nothing, with the code that it is said to end with."""
    for line in block.text.replace("\\\n", " ").splitlines():
        code = _EXIT.search(line)
        steps = [
            step
            for step in _EXIT.sub("", line).split(" && ")
            if step.strip() and not step.startswith("#") and not _SETS_UP.search(step)
        ]
        if steps:
            yield " && ".join(steps), int(code[1]) if code else 0


def _is_here(name: str) -> bool:
    try:
        needed([name])
    except PackageNotFoundError:
        return False
    return True


class Reader:
    """Somebody in the project's folder, who does what a page says.

    Args:
        packages: what the page says to install, from `made`.
        folder: where a copy of the project's folder is made.
    """

    def __init__(self, packages: Path, folder: Path) -> None:
        self.place = self.folder = folder / "kragx"
        for part in ("configs", "examples"):
            shutil.copytree(ROOT / part, self.place / part)
        scripts = self.place / ".venv" / "bin"
        scripts.mkdir(parents=True)
        for name, module in (("kragx", "-m kragx"), ("python", "")):
            script = scripts / name
            script.write_text(f'#!/bin/sh\nexec {sys.executable} -S {module} "$@"\n')
            script.chmod(0o755)
        self.environment = {
            "PATH": os.pathsep.join([str(scripts), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)]),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
        }

    def run(self, arguments: list[str], place: Path) -> subprocess.CompletedProcess[str]:
        """What a program does and says in a folder."""
        return subprocess.run(
            arguments,
            cwd=place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )

    def command(self, command: str) -> subprocess.CompletedProcess[str]:
        """What a line of a shell does and says, in the folder where the line before it ended."""
        ended = self.place.parent / "ended"
        script = f'{command}\nstatus=$?\npwd > "{ended}"\nexit $status'
        done = self.run(["bash", "-c", script], self.folder)
        if ended.exists():
            self.folder = Path(ended.read_text(encoding="utf-8").strip())
        return done

    def follow(self, blocks: list[Block]) -> Iterator[str]:
        """Do what each block says; what went wrong."""
        printed = ""
        for block, previous in zip(blocks, [None, *blocks]):
            if block.language == "sh" and block.name != ELSEWHERE:
                printed = ""
                for command, code in commands(block):
                    done = self.command(command)
                    printed += done.stdout
                    if done.returncode != code:
                        yield f"{block.line}: {command}: {done.returncode}\n{done.stdout[-3000:]}"
            elif block.name and block.name != ELSEWHERE:
                path = self.place / block.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                alone = self.place / f"block-{block.line}"
                alone.mkdir()
                (alone / "document.py").write_text(block.text, encoding="utf-8")
                done = self.run([str(self.place / ".venv/bin/python"), "document.py"], alone)
                if done.returncode:
                    yield f"{block.line}: {done.stdout[-3000:]}"
            elif block.language == "text" and previous and previous.language == "sh":
                lines = [] if previous.name == ELSEWHERE else [*missing(block.text, printed)]
                if lines:
                    shown = "\n".join(lines)
                    yield f"{block.line}: is not printed:\n{shown}\nbut:\n{printed[-6000:]}"


def missing(shown: str, printed: str) -> Iterator[str]:
    """The lines of what a page shows that a command did not print, however they are broken.

    What is left out stands as ``...`` or ``…``.
    """
    whole = "".join(printed.split())
    for line in shown.splitlines():
        if not all(part in whole for part in re.split(r"\.\.\.|…", "".join(line.split()))):
            yield line


def runs(block: Block) -> bool:
    """Whether a reader does anything with a block but to write it into a file."""
    if block.language == "sh":
        return block.name != ELSEWHERE and any(commands(block))
    return block.language == "python" and not block.name


PAGES = [document for document in map(Document, TWINS) if any(map(runs, document.blocks))]
Environments = Callable[[Document], Path]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """The environment of a page; those that say to install the same share it."""
    folders: dict[str, Path] = {}

    def environment(document: Document) -> Path:
        extras, packages = installed(document)
        key = repr((sorted(extras), sorted(packages)))
        if key not in folders:
            folders[key] = made(tmp_path_factory.mktemp("packages"), extras, packages)
        return folders[key]

    return environment


@pytest.mark.integration
@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_a_page_runs_with_what_it_says_to_install(
    document: Document, tmp_path: Path, environments: Environments
) -> None:
    """Its files are written and its commands and blocks of Python run, from top to bottom; each
    command ends with the code that the page names, and prints what stands below it.
    """
    problems = [*Reader(environments(document), tmp_path).follow(document.blocks)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("shown", "printed", "lines"),
    [
        ("a  b\n...\nc", "a b and\nmore, c", []),
        ("took 3 s … long", "took 3 s, not long", []),
        ("recall 0.5", json.dumps({"recall": 0.5}), ["recall 0.5"]),
    ],
)
def test_what_is_missing(shown: str, printed: str, lines: list[str]) -> None:
    """White space and line breaks are no difference, other signs are."""
    assert [*missing(shown, printed)] == lines
