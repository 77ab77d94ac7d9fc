"""Agents from the command line: where their gold is lost, and a question explained by its steps."""

from __future__ import annotations

import json

import pytest

from kragx import write_gold, write_results
from tests.report.searching import dataset, runs

CONFIG = """
dataset: {path: gold.jsonl}
retrievers:
  thorough: {results: thorough.jsonl}
  quick: {results: quick.jsonl}
match: id
metrics: [evidence_recall, first_search, waste]
"""


@pytest.fixture
def folder(tmp_path):
    """Two agents' results files, and a config that compares them."""
    write_gold(dataset(), tmp_path / "gold.jsonl")
    for name in ("thorough", "quick"):
        write_results(dataset(), runs()[name], tmp_path / f"{name}.jsonl")
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


@pytest.mark.integration
def test_a_run(kragx, folder):
    """The whole report says where gold is lost, the short one in a line; the folder keeps it."""
    full = kragx("run", folder / "config.yaml", "--output", folder / "out", "--full")
    assert full.code == 0, full.err
    assert "retrieved, not read" in full.out
    assert "handbook > rerank" in full.out
    assert "0.5000 (median: step 2)" in full.out
    assert "in vain: 3" in full.out
    short = kragx("report", folder / "out")
    assert "quick: 3 of 12 gold items reached the answer" in " ".join(short.out.split())
    losses = json.loads((folder / "out" / "report.json").read_text())["losses"]
    assert [loss["k"] for loss in losses] == [None, None]
    assert losses[0]["items"][0]["reason"] == "unread"
    explained = kragx("explain", folder / "out", "-q", "q0", "--format", "json").json()
    by_name = {run["retriever"]: run for run in explained["runs"]}
    assert any(doc["matches"] for doc in by_name["thorough"]["retrieved"])


def test_a_file(kragx, folder):
    """A results file alone is explained the same way."""
    explained = kragx("explain", folder / "quick.jsonl", "-q", "q0", "--match", "id")
    assert explained.code == 0, explained.err
    assert "matches gold" in explained.out
