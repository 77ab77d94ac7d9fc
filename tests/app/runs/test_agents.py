"""Agents in a config: functions whose searches are heard, and answers with `searches`."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from kragx.comparison.history import PastRun

AGENTS = '''
import kragx
from kragx import Search, Searches

@kragx.searched(tool="index", tokens=len)
def search(query):
    if query == "down":
        raise ConnectionError("token=secret-1")
    return [{"id": word, "text": f"about {word}"} for word in query.split()]

def hears(question):
    """Searches functions, which are heard."""
    search("x y")
    try:
        search("down")
    except ConnectionError:
        pass
    search(question)
    return "I know."

def tells(question):
    """Says itself what it searched for."""
    searches = [
        {"query": "x y", "tool": "index", "retrieved": [{"id": "x"}], "tokens": 2},
        {"query": "sql"},
        {"query": question, "retrieved": [{"id": question, "text": "about it"}], "read": []},
    ]
    return {"searches": searches, "retrieved": searches[-1]["retrieved"]}

def limited(question):
    """Reaches a limit at the second question."""
    error = "limit of 1 search" if question == "g2" else None
    return Searches([Search("x", (), "index")], error=error)
'''
CONFIG = """
dataset: gold.jsonl
retrievers:
  hears: {class: 'agents_of_runs:hears'}
  tells: {class: 'agents_of_runs:tells'}
  limited: {class: 'agents_of_runs:limited'}
match: id
metrics: [evidence_recall, ndcg@10, first_search]
max_failed: 0.5
output: out
"""


@pytest.fixture
def agents(here, jsonl, module):
    """The config, its gold set and its agents."""
    module("agents_of_runs", AGENTS)
    jsonl(
        *({"query_id": f"q{i}", "query": f"g{i}", "gold": [{"id": f"g{i}"}]} for i in (1, 2)),
        name="gold.jsonl",
    )
    Path("kragx.yaml").write_text(CONFIG, encoding="utf-8")
    return Path("kragx.yaml")


def searches(name: str) -> list[list[tuple[object, ...]]]:
    """What a results file of the folder says of each question's searches."""
    lines = Path("out", "results", f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        [
            (made["query"], "retrieved" in made, made.get("error"), made.get("tokens"))
            for made in json.loads(line)["searches"]
        ]
        for line in lines
    ]


def test_answers_with_searches(agents, kragx):
    """Functions that are heard, and answers that say their searches, become searches in the folder;
    a limit fails the question, and its searches stay.
    """
    outcome = kragx("run", agents)
    assert outcome.code == 0, outcome.err
    hears, tells, limited = json.loads(Path("out", "report.json").read_text())["evaluations"]
    for evaluation in (hears, tells):
        mean = evaluation["mean"]
        assert (mean["evidence_recall"], mean["first_search"]) == (1, pytest.approx(1 / 3))
        assert mean["ndcg@10"] == 0  # of the first search
    assert limited["counts"]["n_failed"] == 1
    assert searches("hears")[0] == [
        ("x y", True, None, 2),
        ("down", False, "ConnectionError: token=secret-1", None),
        ("g1", True, None, 1),
    ]
    assert searches("tells")[1] == [
        ("x y", True, None, 2),
        ("sql", False, None, None),
        ("g2", True, None, None),
    ]
    assert searches("limited")[1] == [("x", True, None, None)]


def test_never_stays_never(here, jsonl, kragx, recwarn):
    """What is never is so when a folder is reported again, without a warning, and over time."""
    gold = [{"query_id": f"q{i}", "query": f"g{i}", "gold": [{"id": f"g{i}"}]} for i in range(9)]
    jsonl(*gold, name="gold.jsonl")
    found = [
        {"query": "x", "retrieved": [{"id": "g0" if i else "no"}], "tokens": 9 + i, "seconds": 1}
        for i in range(9)
    ]
    found[1]["retrieved"] = [{"id": "g1"}]
    jsonl(*({**row, "searches": [one]} for row, one in zip(gold, found)), name="agent.jsonl")
    config = {
        "dataset": "gold.jsonl",
        "retrievers": {"agent": "agent.jsonl"},
        "match": "id",
        "metrics": ["seconds_to_evidence_p90", "tokens_per_gold"],
        "html": False,
    }
    Path("kragx.yaml").write_text(json.dumps(config))
    assert kragx("run", "kragx.yaml", "-o", "results/out").code == 0
    again = kragx("report", "results/out")
    assert again.code == 0
    assert "when it was written" not in again.err + again.out
    assert not any("when it was written" in str(warning.message) for warning in recwarn)
    (run,) = Path("results").iterdir()
    past = PastRun.read("out", json.loads((run / "report.json").read_text()))
    (score,) = past.scores
    assert score.estimates["seconds_to_evidence_p90"].value == math.inf
    per_gold = score.estimates["tokens_per_gold"]
    assert per_gold.value == sum(range(9, 18))
    assert per_gold.low > 0
    assert (per_gold.high, per_gold.sure_high) == (math.inf, math.inf)
    assert "never" in kragx("history", "results").out
