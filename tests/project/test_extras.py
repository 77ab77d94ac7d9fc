"""What is said where an optional package is missing is true for the kragx that runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kragx.ground import errors


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names this Python, whatever folder one is in, and the extra alone."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "executable", "/a b/bin/python")
    line = 'python3 -m pip --python "/a b/bin/python" install "kragx[korean]"'
    assert errors.installing("korean") == line
    assert str(errors.MissingExtraError("x", "korean")) == f"x needs an optional package: {line}"
    monkeypatch.setattr(sys, "platform", "win32")
    assert errors.installing("korean").startswith("py -m pip ")


@pytest.mark.integration
def test_what_is_installed_stays() -> None:
    """Pip takes the kragx that is there, a clone's too, and asks no index for another."""
    base = getattr(sys, "_base_executable", sys.executable)
    command = [base, "-m", "pip", "--python", sys.executable, "install", "--dry-run", "--no-index"]
    done = subprocess.run([*command, "kragx[bm25]"], capture_output=True, text=True, check=False)
    if "No module named pip" in done.stderr:
        pytest.skip("this Python has no pip")
    assert "Requirement already satisfied: kragx[bm25]" in done.stdout
