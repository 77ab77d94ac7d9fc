"""Type checkers know the type of every name, and each of them the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.integration
def test_every_type_is_known():
    """Pyright's type completeness is 100 %: no name's type is unknown or left to inference.

    By basedpyright, whose wheel brings what it runs on; pyright's own loads that.
    """
    pytest.importorskip("basedpyright", reason="pip install 'kragx[integration]'")
    command = [sys.executable, "-m", "basedpyright", "--verifytypes", "kragx", "--ignoreexternal"]
    # It asks the first Python on the path for its packages, and does not find an editable one.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    outcome = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    problems = [line for line in outcome.stdout.splitlines() if " error: " in line]
    assert not problems, "\n".join(problems[:20])
    assert "Type completeness score: 100%" in outcome.stdout
