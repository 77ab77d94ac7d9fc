"""What is said where an optional package is missing is true for the kragx that runs."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from kragx.ground import errors

ROOT = Path(__file__).parents[2]
HOST = "https://example.org"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Kragx in an environment of its own, in the folder where one is."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "kragx" / "errors.py"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_in_a_clone(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its folder the page's line; from elsewhere, and without an environment, as true."""
    (environment / "pyproject.toml").touch()
    (line,) = (
        line
        for line in (ROOT / "docs/install.md").read_text("utf-8").splitlines()
        if line.startswith("python3 -m pip --python") and "korean" in line
    )
    assert errors.installing("korean,pandas") == line
    assert str(errors.MissingExtraError("x", "korean")).endswith(line.replace(",pandas", ""))
    (environment / "a b").mkdir()
    monkeypatch.chdir(environment / "a b")
    monkeypatch.setattr(sys, "prefix", str(environment / "a b c"))
    assert errors.installing("plot") == (
        f'python3 -m pip --python "{environment}/a b c" install -e "{environment}[plot]"'
    )
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sys, "platform", "win32")
    assert errors.installing("plot") == f'py -m pip install -e "{environment}[plot]"'


@pytest.mark.parametrize(
    ("noted", "what"),
    [
        ({"url": "file:///w/kragx.whl", "archive_info": {}}, " @ file:///w/kragx.whl"),
        (
            {"url": f"{HOST}/kragx", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
            f" @ git+{HOST}/kragx@0a1b",
        ),
        (None, ""),
    ],
    ids=["a wheel's file", "a repository", "an index"],
)
def test_installed(
    noted: object, what: str, environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An extra comes from where kragx came; the name alone only where that was a package index."""
    text = None if noted is None else json.dumps(noted)
    found = SimpleNamespace(read_text=lambda name: text)
    monkeypatch.setattr(metadata, "distribution", lambda name: found)
    assert errors.installing("plot") == (
        f'python3 -m pip --python .venv install "kragx[plot]{what}"'
    )
