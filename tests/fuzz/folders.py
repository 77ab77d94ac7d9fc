"""Result folders that somebody has changed."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import yaml

from tests.fuzz import mutate
from tests.fuzz.running import run
from tests.fuzz.trial import SEEDS, Trial


@cache
def made() -> tuple[Path, dict[str, object]]:
    """A result folder as `kragx run` writes it, and its means."""
    folder = Path(tempfile.mkdtemp(prefix="kragx-fuzz-")).resolve()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("gold.jsonl", "first.jsonl"):
        shutil.copy(SEEDS / "results.jsonl", folder / name)
    config = yaml.safe_load((SEEDS / "kragx.yaml").read_text())
    config["retrievers"]["second"] = {"results": "gold.jsonl"}
    config["match"] = {"method": "overlap", "threshold": 0.6}
    (folder / "kragx.yaml").write_text(yaml.safe_dump(config))
    before = Path.cwd()
    os.chdir(folder)
    try:
        ran = run("run", "kragx.yaml", "--output", "out")
        assert ran.code == 0, ran.err
        report = run("report", "out", "--format", "json")
    finally:
        os.chdir(before)
    return folder, report.json


def folders(trial: Trial) -> None:
    """A folder with a file gone, cut, exchanged or changed, or with others; then read."""
    random = trial.random
    folder, _ = made()
    shutil.copytree(folder, trial.folder, dirs_exist_ok=True)
    for _ in range(random.choice((1, 1, 2))):
        _change(trial)
    command = random.choice((("report", "out"), ("report", "out"), ("compare", "out", "before")))
    if command[0] == "compare":
        shutil.copytree(folder / "out", trial.folder / "before")
    read = trial.run(*command, "--format", "json")
    if read.code in (0, 1) and command[0] == "report":
        check_same(trial, read.json)
    other = random.choice((("explain", "out", "-q", "q1"), ("threshold", "sweep", "out")))
    trial.run(*other)


def check_same(trial: Trial, report: dict[str, object]) -> None:
    """Numbers from a changed folder are those of the folder as it was."""
    _, known = made()
    for name, value in (("evaluations", report["evaluations"]),):
        trial.claim(value == known[name], f"{name} of a changed folder are others")


def _change(trial: Trial) -> None:
    random = trial.random
    files = sorted(path for path in (trial.folder / "out").rglob("*") if path.is_file())
    path, other = random.choice(files), random.choice(files)
    match random.randrange(7):
        case 0:
            path.unlink()
        case 1:
            path.write_bytes(mutate.raw(random, path.read_bytes()))
        case 2 | 3:
            path.write_bytes(mutate.any_of(random, path.read_bytes()))
        case 4:
            path.write_bytes(other.read_bytes())
        case 5:
            new = path.with_name(random.choice(("notes.txt", "a.jsonl", ".env", "gold.jsonl.bak")))
            new.write_bytes(other.read_bytes())
        case _:
            path.unlink()
            path.mkdir()
