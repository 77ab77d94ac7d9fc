"""Environments in which kragx, some of its extras and nothing else is installed.

They are made of what is installed here, a link for each file, within a second and without a
network: what a package needs is what its metadata says, and kragx's own is in pyproject.toml.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def needed(requirements: Iterable[str]) -> dict[str, Distribution]:
    """What pip would install for requirements, by name.

    Raises:
        PackageNotFoundError: something of it is not installed here.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    left = [(requirement, "") for requirement in requirements]
    while left:
        text, extra = left.pop()
        wanted = Requirement(text)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        for own in ("", *wanted.extras):
            if (name, own) in seen:
                continue
            seen.add((name, own))
            if name == PROJECT["name"]:
                left += [(inner, "") for inner in EXTRAS.get(own, ())]
            else:
                found[name] = distribution(name)
                left += [(inner, own) for inner in found[name].requires or ()]
    return found


def made(folder: Path, extras: Iterable[str], also: Iterable[str] = ()) -> Path:
    """A folder with what `kragx[extras]` needs, and the packages that a reader has `also`."""
    wanted = [*PROJECT["dependencies"], *(f"kragx[{name}]" for name in extras), *also]
    packages = [*needed(wanted).values(), distribution(PROJECT["name"])]
    for own in packages:
        for path in own.files or ():
            if ".." not in path.parts:  # else a command's script
                link = folder / path
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(Path(str(own.locate_file(path))))
    return folder


def run(
    folder: Path, code: str, place: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What Python says that finds its own library, what stands in `folder`, and kragx.

    Args:
        folder: from `made`.
        code: what is run.
        place: the folder in which it is.
        environment: variables besides.
    """
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-S", "-B", "-c", code],
        cwd=place,
        env={**kept, **paths, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


__all__ = ["EXTRAS", "PackageNotFoundError", "made", "needed", "run"]
