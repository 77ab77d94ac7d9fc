"""docs/data.md: what its files hold, and what its commands say of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .support import ROOT, Document

PAGE = Document("docs/data.md")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the page and the examples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    for block in PAGE.blocks:
        if block.name and block.name != "elsewhere":
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
    return tmp_path


@pytest.mark.filterwarnings("default::kragx.matchers.items.MatchWarning")
def test_every_command_of_the_page_works(kragx: Callable[..., Any], here: Path) -> None:
    """Each command ends well, and says what was left out and what is not decided."""
    lines = [
        line
        for block in PAGE.blocks
        if block.language == "sh" and block.name != "elsewhere"
        for line in block.text.splitlines()
        if "parquet" not in line  # an extra, which the integration tests install
    ]
    said = {line: kragx(*shlex.split(line)[1:]) for line in lines}
    assert {line: done.err for line, done in said.items() if done.code} == {}
    scored, compared, of_texts, of_ids = (
        said[line].out for line in lines if line.startswith("kragx score")
    )
    assert "queries without gold: 1 (left out; add gold, or answerable: false" in scored
    assert "questions with short gold: 2 (looked for as a phrase)" in scored
    assert "The data does not say which retriever is best in mrr@5" in compared
    assert "2 of 2 queries scored" in of_texts
    assert "match: id" in of_ids
    assert (here / "results/own/report.html").is_file()


def test_tables_of_documents(kragx: Callable[..., Any], here: Path) -> None:
    """The page's tables join by their questions: texts with gold texts, ids with grades."""
    named = ("--column", "query=search_query", "--column", "doc_id=number")
    for files, options in (
        (("engine_a.csv", "gold.csv"), ()),
        (("engine_b.csv", "labels.csv"), named),
    ):
        line = ("score", files[0], "--gold", files[1], *options, "-m", "mrr@5", "--format", "json")
        done = kragx(*line).json()
        assert done["mean"] == {"mrr@5": 0.5}
        assert done["counts"]["n_missing"] == 0
