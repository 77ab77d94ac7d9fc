"""What a page shows runs with what the page says to install, and nothing else."""

from __future__ import annotations

import re
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.environments import EXTRAS, PackageNotFoundError, made, run

from .support import TWINS, Block, Document
from .test_docs import FOLLOWING_ON, FOREIGN

_NAMED = r"(extras?\b[^.\n]{0,60}`NAME`|\[[\w,]*\bNAME\b[\w,]*\]\")"
_RUNS = """
import os, sys, tempfile, traceback, types
for name, code in {blocks!r}:
    sys.modules["document"] = types.ModuleType("document")
    os.chdir(tempfile.mkdtemp())
    try:
        exec(compile(code, name, "exec"), vars(sys.modules["document"]))
    except BaseException:
        print("==", name, traceback.format_exc(), file=sys.stderr)
        os.environ["FAILED"] = "1"
sys.exit("FAILED" in os.environ)
"""
"""Each block by itself, as a module in an empty folder."""


def _section(document: Document, block: Block) -> str:
    """What stands below the same heading."""
    lines = document.text.splitlines()
    heads = [at for at, line in enumerate(lines) if re.match("#+ [A-Z]", line)]
    start = max((at for at in heads if at < block.line), default=0)
    return "\n".join(lines[start : min((at for at in heads if at > start), default=len(lines))])


def _groups() -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, str]]]:
    """Blocks by the extras that their sections name, and the packages that their readers have."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[str, str]]] = {}
    for document in map(Document, TWINS):
        for block in document.blocks:
            if block.language == "python" and document.name not in FOLLOWING_ON:
                section = _section(document, block)
                extras = (
                    name for name in EXTRAS if re.search(_NAMED.replace("NAME", name), section)
                )
                others = (
                    name
                    for name in FOREIGN
                    if re.search(rf"^(from|import) {name}\b", block.text, re.MULTILINE)
                )
                place = f"{document.name}:{block.line}"
                groups.setdefault((tuple(extras), tuple(others)), []).append((place, block.text))
    return groups


@pytest.mark.integration
@pytest.mark.parametrize(
    ("installed", "blocks"),
    _groups().items(),
    ids=[" ".join(("kragx", *extras, *others)) for extras, others in _groups()],
)
def test_with_its_extras_alone(
    installed: tuple[tuple[str, ...], tuple[str, ...]],
    blocks: list[tuple[str, str]],
    tmp_path: Path,
) -> None:
    """Every block of Python runs where kragx and the extras that its section names are installed,
    with the packages of others that it is about.
    """
    extras, others = installed
    owners = packages_distributions()
    try:
        packages = made(tmp_path / "packages", extras, [owners[name][0] for name in others])
    except (KeyError, PackageNotFoundError) as error:
        pytest.skip(f"not installed here: {error}")
    place = tmp_path / "blocks"
    place.mkdir()
    done = run(packages, _RUNS.format(blocks=blocks), place, TMPDIR=str(place))
    assert done.returncode == 0, done.stderr
