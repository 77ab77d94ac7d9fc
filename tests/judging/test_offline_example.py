"""configs/judge.yaml and examples/judge.py, as the documentation says they work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path):
    """A copy of what the example needs, so that its store is a new one."""
    for folder in ("configs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def run(clone, *command):
    """Run a command there, without a key or proxy; its output."""
    keep = {name: value for name, value in os.environ.items() if "OPENAI" not in name}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=clone,
        env=keep,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_config(clone):
    """It prints coverage, bounds, cost and calls saved; a second run makes no call."""
    pytest.importorskip("bm25s")
    kragx = ("-m", "kragx")
    plan = run(clone, *kragx, "run", "configs/judge.yaml", "--dry-run")
    planned = sum(map(int, re.findall(r"in all (?:at most )?(\d+) calls to ", plan)))
    first = run(clone, *kragx, "run", "configs/judge.yaml", "--full")
    assert len(re.findall(r"coverage 9\d\.\d%", first)) == 2
    assert re.search(r"0\.\d{4} \[0\.\d{4}, 0\.\d{4}\]", first)
    assert len(re.findall(r"cost: 0\.0\d\d\d USD for", first)) == 2
    assert all(int(n) > 300 for n in re.findall(r"calls saved by cheaper matchers: (\d+)", first))
    calls = re.findall(r"calls: (\d+) \(0 retries\)", first)
    assert sum(map(int, calls)) == planned > 100
    second = run(clone, *kragx, "run", "configs/judge.yaml", "--full")
    assert re.findall(r"calls: (\d+) \(0 retries\)", second) == ["0", "0"]
    table = re.compile(r"^[│┃].*$", re.M)
    assert table.findall(first) == table.findall(second)
    stats = run(
        clone, *kragx, "judge", "store", "stats", "--store", "results/judge/judgements.sqlite"
    )
    assert "support-ko-1" in stats
    assert "refusal" in stats


def test_script(clone):
    """The script asks nothing the second time."""
    pytest.importorskip("bm25s")
    assert "calls: 77" in run(clone, "examples/judge.py")
    assert "calls: 0" in run(clone, "examples/judge.py")


def test_probe(clone):
    """Its verdict is that the stand-in only guesses, and what fools it."""
    pytest.importorskip("bm25s")
    printed = run(clone, "-m", "kragx", "judge", "probe", "configs/judge.yaml")
    flat = " ".join(printed.split())
    assert "this judge cannot be told from one that guesses" in flat
    assert "fooled by query (29 of 29), words (29 of 29), keywords (30 of 30)" in flat
