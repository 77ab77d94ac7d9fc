"""What an import loads: nothing heavy that is not used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import kragx
from tests.thoroughness import all_cases

PROBE = """
import json, sys
try:
{code}
finally:
    names = [name if name[:6] == "kragx." else name.partition(".")[0] for name in sys.modules]
    sys.stderr.write(json.dumps(names))
"""
HEAVY = {
    *("httpx", "langchain_core", "matplotlib", "openai", "pandas", "psycopg", "rouge_score"),
    "sqlalchemy",
}
"""Packages that nothing loads before it uses them."""
COMMAND = """
sys.argv = ["kragx", *{arguments}]
from kragx.app.commands.main import main
main()
"""


def loaded(code):
    """What a fresh interpreter has loaded after `code`: packages, and modules of kragx."""
    indented = "\n".join("    " + line for line in code.strip().splitlines())
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(code=indented)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


def test_import_kragx_is_light():
    """`import kragx` loads none of the packages that kragx depends on."""
    packages = loaded("import kragx")
    assert "kragx" in packages
    others = {"numpy", "pydantic", "rapidfuzz", "rich", "sqlite3", "typer", "yaml"}
    assert not packages & (HEAVY | others)


def test_import_of_the_command_is_light():
    """The command begins with next to nothing; its tree loads what reads arguments alone."""
    packages = loaded("import kragx.app.commands.main")
    assert not packages & {"kragx.data", "rich", "typer"}
    packages = loaded("import kragx.app.commands.root")
    assert "typer" in packages
    assert not packages & (HEAVY | {"numpy", "pydantic", "rapidfuzz", "yaml"})


def test_help_is_light():
    """`kragx --help` says a line about every command and imports none of them."""
    packages = loaded(COMMAND.format(arguments=["--help"]))
    others = {"numpy", "pydantic", "kragx.app.commands.score", "kragx.data"}
    assert not packages & (HEAVY | others)


@pytest.mark.integration
def test_score_loads_only_what_it_uses(tmp_path):
    """`kragx score` with overlap loads no retriever, judge, plot or optional package."""
    path = tmp_path / "results.jsonl"
    lists = [["a b c"], ["x", "a b c"], ["x"]]  # an interval of MRR takes Student's t
    records = [
        {
            "query_id": f"q{i}",
            "gold": [{"text": "a b c"}],
            "retrieved": [{"text": t} for t in texts],
        }
        for i, texts in enumerate(lists)
    ]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    packages = loaded(COMMAND.format(arguments=["score", str(path)]))
    assert "numpy" in packages
    rooms = {"kragx.comparison", "kragx.app.config", "kragx.judging", "kragx.evaluation.retrieve"}
    assert not packages & (HEAVY | rooms | {"bm25s", "kiwipiepy", "sqlite3"})


@all_cases("name", [*kragx.__all__, "__version__"])
def test_public_names(name):
    """Every public name resolves, and dir() lists it."""
    assert getattr(kragx, name) is not None
    assert name in dir(kragx)


def test_all_is_sorted_and_complete():
    """`__all__` is sorted, without repeats, and dir() lists nothing else but the version."""
    assert list(kragx.__all__) == sorted(set(kragx.__all__))
    assert set(dir(kragx)) == {*kragx.__all__, "__version__"}


def test_star_import():
    """`from kragx import *` gives every public name."""
    names = {}
    exec("from kragx import *", names)
    assert set(kragx.__all__) <= set(names)


def test_unknown_name():
    """A name that kragx does not have is an AttributeError that names it."""
    with pytest.raises(AttributeError, match="'kragx' has no attribute 'evalute'"):
        kragx.evalute  # noqa: B018
