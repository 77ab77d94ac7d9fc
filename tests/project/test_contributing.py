"""CONTRIBUTING.md is followed to the letter: each recipe, in a copy of the package, works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = {
    title.strip(): text
    for title, text in re.findall(
        r"^## Recipe: (.*?)\n(.*?)(?=^## |\Z)",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}
BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block of a recipe: its language, and the file that it makes or, of a ``diff``, changes."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package, to be changed, with what is compiled of it: only changes are compiled anew."""
    for folder in ("kragx", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def add(file: Path, diff: str) -> None:
    """Put ``+`` lines behind the one before them, which stands once in the file; ``-`` lines go."""
    lines = file.read_text(encoding="utf-8").split("\n")
    position = -1
    for line in diff.splitlines():
        if line.startswith("+"):
            position += 1
            lines.insert(position, line[1:])
        else:
            assert lines.count(line[1:]) == 1, f"{file.name} has not one line {line[1:]!r}"
            position = lines.index(line[1:])
            if line.startswith("-"):
                del lines[position]
                position -= 1
    file.write_text("\n".join(lines), encoding="utf-8")


def follow(recipe: str, copy: Path) -> set[str]:
    """Make and change the files of a recipe; their names."""
    files = set()
    for language, name, text in BLOCK.findall(recipe):
        file = copy / name
        files.add(name)
        if language == "diff":
            add(file, text)
        else:
            assert not file.exists(), name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return files


def succeeds(copy: Path, *command: str) -> None:
    """Run a module of Python in the copy."""
    outcome = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.integration
@pytest.mark.parametrize("title", RECIPES)
def test_recipe(title: str, copy: Path) -> None:
    """A recipe's files are made and added to, at most four of them, and its test passes."""
    files = follow(RECIPES[title], copy)
    assert 1 < len(files) <= 4, files
    (tests,) = (name for name in files if Path(name).name.startswith("test_"))
    succeeds(copy, "pytest", "-q", "-p", "no:cacheprovider", tests)


@pytest.mark.integration
def test_all_recipes_together(copy: Path) -> None:
    """What the recipes add to kragx is typed and clean, and fits what holds for all of its kind."""
    for tool in ("ruff", "mypy"):
        pytest.importorskip(tool, reason="pip install 'kragx[dev]'")
    for name in ("pyproject.toml", "tests", ".mypy_cache"):  # what mypy knows of the package itself
        if (ROOT / name).exists():
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    for recipe in RECIPES.values():
        follow(recipe, copy)
    succeeds(copy, "ruff", "check", "kragx", "my_package")
    succeeds(copy, "ruff", "format", "--check", "kragx", "my_package")
    succeeds(copy, "mypy")
    tests = ("tests/report/test_page.py", "tests/metrics/test_claims.py")
    names = "meaning or says_so"
    succeeds(copy, "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", names)


def test_every_seam_has_a_recipe() -> None:
    """There is a recipe for each kind of thing that people add."""
    assert list(RECIPES) == [
        "a metric",
        "a matcher",
        "a tokenizer",
        "a file format",
        "a retriever",
        "a judge client",
        "a report column",
        "a button of the workshop",
    ]
