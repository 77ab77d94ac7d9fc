"""The same searches give the same numbers, whoever records them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.environments import ROOT

ELSEWHERE = ("langgraph>=1.0", "mcp-types>=2.0")
"""Packages that no extra of kragx has; with what they need beyond these, five megabytes."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each way heard, and its numbers; KRAGX_AGENTS names a Python that has the packages."""
    folder = tmp_path_factory.mktemp("agents")
    python = os.environ.get("KRAGX_AGENTS") or environment(folder / "venv")
    done = subprocess.run(
        [python, "-W", "ignore", "-m", "tests.evaluation.calls", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def environment(folder: Path) -> str:
    """A Python that has the packages, beside those of this one; without a network it is skipped."""
    venv.create(folder, symlinks=True)
    (library,) = folder.glob("lib/python*/site-packages")
    here = [path for path in sys.path if path.endswith("-packages")]
    (library / "here.pth").write_text("\n".join(here), encoding="utf-8")
    base = getattr(sys, "_base_executable", sys.executable)  # an environment may be without pip
    options = ("-q", "--no-compile", "--disable-pip-version-check")
    command = [base, "-m", "pip", "--python", str(folder), "install", *options, *ELSEWHERE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the packages of others cannot be installed: {done.stderr[-300:]}")
    return str(folder / "bin" / "python")


@pytest.mark.integration
def test_the_same_searches(report: dict[str, Any]) -> None:
    """LangGraph (asked one by one, at once, awaited), OpenInference's traces in any order, a loop
    by hand, messages of LangChain and Anthropic, and MCP give the same to the last bit: parallel,
    retried, nested and failed calls are neither lost nor counted twice.
    """
    expected = report["graph"]
    assert expected["searches"] == {
        "q1": [
            [1, "sql", "count", False, None, []],
            [1, "handbook", "summer", False, ["summer"], []],
            [1, "handbook", "winter hut", False, ["winter", "hut"], []],
            [2, "handbook", "hut opening", False, ["hut", "opening"], []],
        ],
        "q2": [
            [1, "shaky", "boats lake", True, [], []],
            [1, "shaky", "boats lake", False, ["boats", "lake"], []],
            [2, "handbook", "hire boats", False, ["hire", "boats"], []],
        ],
        "q3": [],
        "q4": [[1, "notes", "door key", False, ["door", "key"], [["door", "key"]]]],
    }
    assert expected["failures"] == {}
    assert expected["mean"]["evidence_recall@1"] == 0.375
    for name in ("graph at once", "graph awaited", "traces", "by hand", "by hand awaited"):
        assert report[name] == expected, name
    # Messages do not show what happens within a tool; these answer with the documents.
    for name in ("anthropic", "mcp"):
        (*_, stages) = report[name]["searches"]["q4"][0]
        assert stages == []
        report[name]["searches"]["q4"][0][-1] = [["door", "key"]]
        assert report[name] == expected, name
    # Of words alone nobody knows what was found.
    messages = report["messages"]
    assert messages["searches"].pop("q4") == [[1, "notes", "door key", False, None, []]]
    assert messages["queries"]["q4"]["evidence_recall"] is None
    for query_id, searches in messages["searches"].items():
        assert searches == expected["searches"][query_id]
        assert messages["queries"][query_id] == expected["queries"][query_id]
