"""A gold set in which some questions have no answer, from the config to the folder and back."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from kragx.app import pipeline

GOLD = [
    {"query_id": "q", "query": "when?", "gold": [{"text": "the ferry leaves at nine"}]},
    {"query_id": "u", "query": "who?", "gold": [], "answerable": False},
    {"query_id": "v", "query": "why?", "gold": [], "answerable": False},
]
ANSWERS = {"q": ["the ferry leaves at nine"], "u": ["tickets", "pets"], "v": []}
LINE = "unanswerable questions: 2 (left out); nothing retrieved for 1, 2 documents for 1"


def test_from_config_to_report(kragx, here, jsonl):
    """Screen, Markdown, JSON, CSV and `explain` say it, and a folder that is read again does."""
    answered = [
        {
            **row,
            "retrieved": [{"text": text, "score": 0.5} for text in ANSWERS[str(row["query_id"])]],
        }
        for row in GOLD
    ]
    jsonl(*GOLD, name="gold.jsonl")
    jsonl(*answered)
    Path("kragx.yaml").write_text(
        "dataset: gold.jsonl\nretrievers: {mine: {results: results.jsonl}}\n"
        "metrics: [recall@1, judged@1, abstention]\nno_gold: error\n"
        "gates: {abstention: 'surely >= 0.9'}\noutput: out\n",
        encoding="utf-8",
    )
    ended = kragx("run", "kragx.yaml")
    assert ended.code == 1
    assert "1 of 3 queries scored, 2 unanswerable" in ended.out
    # Of the two that it is of, not of all three.
    assert "cannot be decided with 2 questions" in ended.err
    assert LINE in Path("out/report.md").read_text(encoding="utf-8").replace("\\", "")
    (own,) = json.loads(Path("out/report.json").read_text(encoding="utf-8"))["evaluations"]
    assert own["mean"] == {"recall@1": 1.0, "judged@1": 1.0, "abstention": 0.5}
    assert own["counts"]["unanswerable"]["n_documents"] == 2
    with Path("out/queries.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["query_id"]: row for row in csv.DictReader(file)}
    assert [row["answerable"] for row in rows.values()] == ["", "False", "False"]
    assert [row["abstention"] for row in rows.values()] == ["", "0.0", "1.0"]
    (again,) = pipeline.recompute(Path("out")).evaluations
    assert again.mean == own["mean"]
    assert LINE in again.remarks
    assert "marked unanswerable" in kragx("explain", "out", "-q", "u").out
