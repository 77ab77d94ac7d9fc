"""One input: its files, the commands that read them, and what was wrong with any of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.running import Outcome, run

SEEDS = Path(__file__).with_name("seeds")


@dataclass
class Trial:
    """Input number `number` of a kind, in a folder of its own.

    Attributes:
        random: all that is by chance comes from it.
        folder: where files are written and commands are started.
        outcomes: of the commands, in order.
        wrong: what should not have happened.
    """

    kind: str
    number: int
    folder: Path
    outcomes: list[Outcome] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(f"{self.kind}:{self.number}")

    def write(self, name: str, content: bytes | str) -> str:
        """Write a file of the input; the name is given back."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def run(
        self,
        *args: object,
        names: tuple[str, ...] = (),
        writes: tuple[str, ...] = (),
        stdin: bytes = b"",
    ) -> Outcome:
        """Run the command; it may change and make what `writes` lists, folders with all in them."""
        before = _contents(self.folder)
        outcome = run(*args, stdin=stdin)
        self.outcomes.append(outcome)
        self.wrong += outcome.complaints(names)
        after = _contents(self.folder)
        changed = {name for name in before | after if before.get(name) != after.get(name)}
        for name in sorted(changed):
            if not any(name == known or name.startswith(f"{known}/") for known in writes):
                self.wrong.append(f"{' '.join(outcome.args)[:200]}: has touched {name}")
        return outcome

    def claim(self, holds: object, otherwise: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.wrong.append(otherwise)


def _contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            with contextlib.suppress(OSError):
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def attempt(kind: str, number: int, make: Callable[[Trial], None]) -> Trial:
    """Try one input in a new folder, which is removed where nothing was wrong."""
    folder = Path(tempfile.mkdtemp(prefix=f"kragx-{kind}-{number}-")).resolve()
    trial = Trial(kind, number, folder / "work")
    trial.folder.mkdir()
    before = Path.cwd()
    os.chdir(trial.folder)
    try:
        make(trial)
        trial.claim([*folder.iterdir()] == [trial.folder], "has written outside of its folder")
    finally:
        os.chdir(before)
        if not trial.wrong:
            shutil.rmtree(folder)
    return trial
