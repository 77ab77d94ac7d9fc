"""The Dockerfile, as far as it can be held to anything without Docker."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEPS = [
    tuple(line.split(maxsplit=1))
    for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
"""Each instruction stands on one line: its name and what follows."""


def test_what_is_copied_is_there_and_not_ignored():
    """Every file that the build copies exists, and `.dockerignore` lets it in."""
    admitted = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [
        name
        for step, rest in STEPS
        if step == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    ]
    assert "kragx" in copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in admitted, name


def test_what_the_build_needs_is_copied():
    """Readme and licence, which pyproject.toml names, are part of the wheel's metadata."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = " ".join(rest for step, rest in STEPS if step == "COPY").split()
    assert {project["readme"], *project["license-files"]} <= {*copied}


def test_extras_exist():
    """The extras that the image installs are pyproject.toml's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r'"\.\[(.+?)\]"', " ".join(rest for _, rest in STEPS))
    assert {*extras.split(",")} <= {*project["optional-dependencies"]}


def test_not_root():
    """The last stage runs as a user that it makes, and starts the command."""
    last = STEPS[max(place for place, (step, _) in enumerate(STEPS) if step == "FROM") :]
    assert [rest for step, rest in last if step == "USER"] == ["kragx"]
    assert "useradd --create-home kragx" in dict(last)["RUN"]
    assert dict(last)["ENTRYPOINT"] == '["kragx"]'
