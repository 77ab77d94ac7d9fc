"""docs/own-results.md, followed from top to bottom."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .support import Document

PAGE = Document("docs/own-results.md")


@pytest.mark.filterwarnings("default::kragx.matchers.notes.MatchWarning")
def test_every_command_of_the_page_works(
    kragx: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables become results, which are scored, compared, swept, calibrated and gated as it says."""
    monkeypatch.chdir(tmp_path)
    said = {}
    for block in PAGE.blocks:
        if block.language == "python":
            exec(compile(block.text, PAGE.name, "exec"), {})
        elif block.language == "yaml":
            Path("kragx.yaml").write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            for line in block.text.splitlines():
                _, *words = shlex.split(line)
                said[line] = kragx(*words)
    assert {line: done.err for line, done in said.items() if done.code} == {}
    assert len(said) == 9
    scored, _, compared, *_ = (done.out for done in said.values())
    assert "queries without gold: 1 (left out)" in scored
    assert "questions with short gold: 2 (looked for as a phrase)" in scored
    assert re.search(r"The data does not say .* in mrr@5: ", compared)
    assert Path("results/now/report.html").is_file()


def test_the_table_of_the_page_is_converted(
    kragx: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that the text names reads the page's own table of questions and answers."""
    monkeypatch.chdir(tmp_path)
    (script,) = (block.text for block in PAGE.blocks if block.language == "python")
    exec(compile(script, PAGE.name, "exec"), {})
    (command,) = re.findall(r"`kragx (convert [^`]+)`", PAGE.prose)
    assert kragx(*shlex.split(command)).code == 0
    metric = ("-m", "mrr@5", "--format", "json")
    own = kragx("score", "before.jsonl", *metric).json()["mean"]
    assert kragx("score", "before.jsonl", "--gold", "gold.jsonl", *metric).json()["mean"] == own
