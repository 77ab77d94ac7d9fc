"""The command, as tests/app/commands calls it; result folders of two versions of a retriever."""

from __future__ import annotations

import pytest

from tests.app.commands.conftest import here, jsonl, kragx, module

__all__ = ["here", "jsonl", "kragx", "module"]

MARKUP = "<script>alert(1)</script> | *bold* \u202e 질문 3"
RETRIEVERS = """
def found(question, rank):
    number = question.split()[-1]
    docs = [{"id": f"other{at}", "text": "nothing of it"} for at in range(4)]
    docs.insert(rank - 1, {"id": f"g{number}", "text": f"gold {number}"})
    return docs

def number(question):
    return int(question.split()[-1])

def old(question):
    return found(question, 1 if number(question) % 3 else 4)

def new(question):
    return found(question, 2 if number(question) % 4 == 0 else 1)
"""
CONFIG = """
dataset: {path: gold.jsonl, version: "1"}
retrievers:
  mine: {class: 'toy_compared:VERSION'}
  other: {class: 'toy_compared:old'}
match: id
metrics: [mrr@5, recall@1, recall@5, seconds_p95]
baseline: other
slices: [query_type]
statistics: {resamples: 500}
MORE
"""


@pytest.fixture
def gold(jsonl):
    """A gold set of 24 queries, one of them with markup in its text."""
    records = [
        {
            "query_id": f"q{i}",
            "query": MARKUP if i == 3 else f"question {i}",
            "gold": [{"id": f"g{i}", "text": f"gold {i}"}],
            "query_type": ("lookup", "why")[i % 2],
        }
        for i in range(24)
    ]
    return jsonl(*records, name="gold.jsonl")


@pytest.fixture
def run(kragx, module, here, gold, monkeypatch):
    """Run a version of the retriever into a folder of its name; gives the command's outcome."""
    monkeypatch.syspath_prepend(str(here))
    module("toy_compared", RETRIEVERS)

    def call(version, *options, more="", folder=None, language="en"):
        text = CONFIG.replace("VERSION", version).replace("MORE", more)
        (here / "run.yaml").write_text(text, encoding="utf-8")
        command = ("run", "run.yaml", "-o", folder or version, *options)
        return kragx("--language", language, *command)

    return call
