"""`kragx judge nuggets`, and a run that uses what it wrote."""

from __future__ import annotations

import json

import pytest

from kragx import read_gold
from tests.judging.batch_server import Batches
from tests.judging.server import running, serving
from tests.judging.test_nuggets import M, config

LIMIT = ("--set", "judge.budget={calls: 3}")


def test_dry_run_and_budget(kragx, here):
    """A dry run counts and asks nothing; a budget stops, keeps what was got, and can go on."""
    with serving() as server:
        config(here, server.base_url, n=5)
        code, out, _ = kragx("judge", "nuggets", "c.yaml", "--dry-run")
        assert (code, server.requests) == (0, [])
        assert "in all 5 calls to " in out
        code, out, _ = kragx("judge", "nuggets", "c.yaml", "-o", "f.jsonl", *LIMIT)
        assert (code, len(server.requests)) == (4, 3)
        assert kragx("judge", "nuggets", "c.yaml", "-o", "f.jsonl").code == 0
        assert len(server.requests) == 5
        code, _, problems = kragx("judge", "nuggets", "c.yaml", "-o", "f.jsonl")
        assert (code, "somebody may have gone over" in problems) == (2, True)


@pytest.mark.integration
def test_submitted(kragx, here, monkeypatch):
    """What lists of facts are asked of a context goes through batches, and is found by a run."""
    with running(Batches(here / "provider", quick=True)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-" + "b" * 20)
        config(here, server.base_url, n=3)
        assert kragx("judge", "nuggets", "c.yaml", "-o", "facts.jsonl").code == 0
        assert len(list(read_gold(here / "facts.jsonl"))) == len(server.requests) == 3
        lines = (
            {"query_id": f"q{at}", "retrieved": [{"id": "d", "text": f"it was {at}"}]}
            for at in range(3)
        )
        (here / "none.jsonl").write_text("\n".join(map(json.dumps, lines)))
        (here / "c.yaml").write_text(
            (here / "c.yaml").read_text().replace("gold.jsonl", "facts.jsonl")
            + f"match: id\nfacts_match: nuggets\nmetrics: [{M}@1]\noutput: out\n"
        )
        code, out, _ = kragx("judge", "submit", "c.yaml")
        assert (code, "3 questions submitted" in out) == (0, True), out
        assert kragx("judge", "collect", "c.yaml").code == 0
        code, out, _ = kragx("run", "c.yaml")
        assert code == 0, out
        assert len(server.requests) == 3
        text = (here / "out/report.md").read_text()
        assert "| `context_completeness@1` | 0.5000" in text  # "it", but for the number
        assert "facts: judged: 3 of 3" in text
    code, out, _ = kragx("report", "out", "--trust")  # what was said is in the store
    assert (code, "0.5000" in out) == (0, True), out
