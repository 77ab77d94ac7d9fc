"""What `kragx run` writes of weighted questions, and what other commands read of that."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.report.test_page import parts

ASKS = [9.0, 1.0, 1.0, 4.0, 1.0, 2.0]
CONFIG = """
dataset: gold.jsonl
retrievers: {mine: {results: mine.jsonl}, other: {results: other.jsonl}}
match: id
metrics: [hit_rate@1, mrr@5]
baseline: other
slices: [query_type]
statistics: {resamples: 200}
"""


TOY = """
class Asked:
    def __init__(self, way):
        self.way = way

    def retrieve(self, question):
        number = int(question.split()[-1])
        right = (number % 6 in (0, 3)) == (self.way == "frequent")
        return [{"id": f"g{number}" if right else "x", "text": "a text"}]
"""
GRID = """
dataset: gold.jsonl
retrievers: {mine: {class: 'toy_asked:Asked', args: {grid: {way: [rare, frequent]}}}}
match: id
metrics: [hit_rate@1]
"""


@pytest.fixture
def folder(kragx, jsonl, here):
    """Run on 24 questions; `mine` finds the gold of those in `first` at rank 1, else at rank 2."""

    def write(name, first):
        rows = []
        for i in range(24):
            own = {"query_id": f"q{i}", "query": f"question {i}", "weight": ASKS[i % 6]}
            own |= {"gold": [{"id": f"g{i}"}], "query_type": "ab"[i % 2]}
            docs = [{"id": f"g{i}"}, {"id": f"x{i}"}]
            rows.append({**own, "retrieved": docs if i % 6 in first else docs[::-1]})
        jsonl(*rows, name=f"{name}.jsonl")
        return rows

    def call(to, first, *options):
        rows = write("mine", first)
        write("other", (1, 2))
        jsonl(*({k: v for k, v in r.items() if k != "retrieved"} for r in rows), name="gold.jsonl")
        (here / "run.yaml").write_text(CONFIG, encoding="utf-8")
        return kragx("run", "run.yaml", "-o", to, *options)

    return call


def test_numbers_of_asks_in_every_file(folder, kragx, here):
    """Means and weights stand in report.json, CSV, Markdown and the page alike."""
    assert folder("out", (0, 3)).code == 0
    report = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))
    (comparison,) = report["comparisons"]
    means = comparison["overall"]["means"]
    assert means["mine"]["hit_rate@1"]["value"] == pytest.approx(13 / 18)
    assert means["other"]["hit_rate@1"]["value"] == pytest.approx(2 / 18)
    assert comparison["n_asks"] == 72
    csv = (here / "out" / "means.csv").read_text(encoding="utf-8-sig").splitlines()
    assert csv[0].startswith("retriever,match,n_queries,n_asks,n_failed,")
    assert "mine,id,24,72,0,0.7222" in csv[1]
    queries = (here / "out" / "queries.csv").read_text(encoding="utf-8-sig").splitlines()
    assert queries[0].split(",")[6] == "weight"
    assert queries[1].split(",")[6] == "9.0"
    markdown = (here / "out" / "report.md").read_text(encoding="utf-8")
    assert "72 asks, as sure as 12 questions that weigh alike" in markdown
    assert "a (n = 12)" in markdown
    assert "Student's of the ratio of sums, else from 200 resamples" in markdown
    index = parts(here / "out" / "report.html")["index"]
    assert index["queries"]["weights"][:6] == ASKS
    assert index["standings"]["id"]["n_asks"] == 72


def test_a_gate_that_so_few_effective_questions_cannot_pass(folder):
    """Before anything is asked: 24 questions of these weights are as sure as 12.46 (Kish)."""
    outcome = folder("out", (0, 3), "--set", 'gates={hit_rate@1: "surely >= 0.8"}')
    assert f"only be surely at least {0.025 ** (1 / (72**2 / 416)):.4f}" in outcome.err


def test_a_grid_of_a_config_is_tuned_by_asks(kragx, folder, module, here, monkeypatch):
    """The setting that serves frequent questions is taken, though most get worse."""
    monkeypatch.syspath_prepend(str(here))
    module("toy_asked", TOY)
    assert folder("out", (0,)).code == 0
    (here / "grid.yaml").write_text(GRID, encoding="utf-8")
    assert kragx("run", "grid.yaml", "-o", "tuned").code == 0
    report = json.loads((here / "tuned" / "report.json").read_text(encoding="utf-8"))
    assert report["tunings"][0]["best"] == "mine[way=frequent]"


def test_folders_and_baselines_are_compared_by_asks(folder, kragx, here):
    """What one reads of a folder, of a baseline is the difference of all asks."""
    terms = [9] * 4 + [-1] * 8
    ways = [abs(sum(map(int.__mul__, way, terms))) for way in product((1, -1), repeat=12)]
    p = sum(way >= sum(terms) for way in ways) / len(ways)
    assert folder("old", (1, 2), "--save-baseline", "old.json").code == 0
    assert folder("new", (0,)).code == 0
    for earlier in ("old", "old.json"):
        (change,) = [
            change
            for change in kragx("compare", earlier, "new", "--format", "json").json()["changes"]
            if change["retriever"] == "mine"
        ]
        (difference,) = [
            own
            for own in change["comparison"]["overall"]["differences"]
            if own["metric"] == "hit_rate@1"
        ]
        assert difference["value"] == pytest.approx((9 - 2) / 18)
        assert (difference["wins"], difference["losses"]) == (4, 8)
        assert difference["p"] == pytest.approx(p, abs=0.05)  # of 200 ways; unweighted .39


def test_without_weights_nothing_is_said_of_asks(folder, kragx, jsonl, here):
    """Where all questions weigh alike no file has a word more than without weights."""
    assert folder("out", (0, 3)).code == 0
    gold = [json.loads(line) for line in (here / "gold.jsonl").read_text().splitlines()]
    jsonl(*({**row, "weight": 3} for row in gold), name="gold.jsonl")
    assert kragx("run", "run.yaml", "-o", "alike").code == 0
    for name in ("report.json", "report.md", "means.csv", "queries.csv"):
        text = (here / "alike" / name).read_text(encoding="utf-8-sig")
        assert "asks" not in text
        assert "Student" not in text
        assert '"weights"' not in text
        assert '"share"' not in text
    assert "weights" not in parts(here / "alike" / "report.html")["index"]["queries"]


def test_asks_are_of_the_questions_compared(kragx, jsonl, here):
    """Where gold sets differ the heading has the asks of those compared, not of the first file."""
    rows = [
        {"query_id": f"q{i}", "query": f"question {i}", "weight": weight}
        | {"gold": [{"id": f"g{i}"}], "retrieved": [{"id": f"g{i}"}]}
        for i, weight in enumerate([100, 9, 1, 4])
    ]
    jsonl(*rows, name="one.jsonl")
    jsonl({**rows[0], "gold": [{"id": "x"}]}, *rows[1:], name="other.jsonl")
    outcome = kragx("score", "one.jsonl", "other.jsonl", "--match", "id")
    assert "numbers of 14 asks, by 3 questions" in outcome.out
