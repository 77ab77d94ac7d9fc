"""Whoever reads the terminal, the page or Markdown comes away with the same verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.report.test_page import parts

METRICS = ("mrr@5", "recall@3")
MARK = re.compile("[★=≈]")


@pytest.fixture
def run(kragx, jsonl, here):
    """Run retrievers by the rank at which each finds a question's gold, 0 for not at all."""

    def call(ranks, *, n=30, kind=lambda at: "all", seconds=lambda name, at: 0.01, extra=""):
        queries = [
            {
                "query_id": f"q{at}",
                "query": f"question {at}",
                "query_type": kind(at),
                "gold": [{"id": f"g{at}"}],
            }
            for at in range(n)
        ]
        jsonl(*queries, name="gold.jsonl")
        for name, rank in ranks.items():
            lists = [
                [*({"id": f"x{other}"} for other in range(max(rank(at), 1) - 1)), {"id": f"g{at}"}]
                if rank(at)
                else [{"id": "x"}]
                for at in range(n)
            ]
            answers = [
                {"query_id": f"q{at}", "retrieved": docs, "seconds": seconds(name, at)}
                for at, docs in enumerate(lists)
            ]
            jsonl(*answers, name=f"{name}.jsonl")
        retrievers = ", ".join(f"{name}: {{results: {name}.jsonl}}" for name in ranks)
        text = f"dataset: gold.jsonl\nretrievers: {{{retrievers}}}\nmatch: id\noutput: out\n"
        if "metrics:" not in extra:
            extra += f"metrics: [{', '.join(METRICS)}]\n"
        (here / "run.yaml").write_text(text + extra, "utf-8")
        outcome = kragx("run", "run.yaml")
        assert outcome.code == 0, outcome.err
        return outcome.out, kragx("report", "out", "--format", "markdown").out, page_of("out")

    return call


def page_of(folder):
    """What the page knows of the comparison."""
    (standing,) = parts(Path(folder, "report.html"))["index"]["standings"].values()
    return standing


def marks(text, metric, names):
    """The marks in the row of a metric, by retriever; the table has retrievers across."""
    row = next(line for line in text.splitlines() if re.search(rf"[│|] *`?{metric}`? *[│|]", line))
    cells = re.split(r"[│|]", row)[2:]
    return {name: "".join(MARK.findall(cell)) for name, cell in zip(names, cells)}


def in_english(text):
    """A text of the page, whose names are pieces of their own."""
    pieces = text["en"] if isinstance(text, dict) else text
    pieces = pieces if isinstance(pieces, list) else [pieces]
    return "".join(piece if isinstance(piece, str) else piece["name"] for piece in pieces)


def same_everywhere(outcome, names, expected):
    """Terminal, Markdown and page give each metric's retrievers the marks expected."""
    terminal, markdown, page = outcome
    for metric, of_metric in expected.items():
        whole = {name: of_metric.get(name, "") for name in names}
        assert marks(terminal, metric, names) == whole
        assert marks(markdown, metric, names) == whole
        heads = [in_english(head) for head in page["means"]["columns"]]
        rows = {in_english(row[0]["text"]): row for row in page["means"]["rows"]}
        cells = {name: in_english(rows[metric][heads.index(name)]["text"]) for name in names}
        assert {name: "".join(MARK.findall(cell)) for name, cell in cells.items()} == whole
    texts = [in_english(advice["text"]) for advice in page["advice"]]
    assert texts[0] in terminal.replace("\n", " ")
    assert texts == [
        advice["text"]
        for advice in json.loads(Path("out/report.json").read_text("utf-8"))["comparisons"][0][
            "recommendations"
        ]
    ]


def test_marks(run):
    """★, =, ≈ and nothing: a winner by the first metric, a tie of three by the second."""
    ranks = {"a": lambda at: 1, "b": lambda at: 1 + at % 2, "c": lambda at: 3 + (at < 2)}
    outcome = run(ranks)
    same_everywhere(
        outcome, ranks, {"mrr@5": {"a": "★"}, "recall@3": {"a": "=", "b": "=", "c": "≈"}}
    )
    assert "Use a: in mrr@5 it is better than every other" in outcome[0]


@pytest.mark.integration
def test_constant_retrievers(run):
    """Two that always find and one that never does: no winner, and nobody is marked the best."""
    ranks = {"a": lambda at: 1, "b": lambda at: 1, "never": lambda at: 0}
    outcome = run(ranks)
    tie = {"a": "=", "b": "="}
    same_everywhere(outcome, ranks, {"mrr@5": tie, "recall@3": tie})
    assert "Use" not in outcome[0]
    alike = run({"a": lambda at: 1, "b": lambda at: 1})
    same_everywhere(alike, "ab", {"mrr@5": {}, "recall@3": {}})
    assert "a and b have the same value for every query in mrr@5" in alike[0]


@pytest.mark.integration
def test_slices_of_one_question(run):
    """A question that is a slice of its own decides nothing, and no advice rests on it."""
    ranks = {"a": lambda at: 1 if at else 0, "b": lambda at: 1 + at % 2}
    outcome = run(ranks, kind=lambda at: "rare" if at == 0 else "usual")
    (comparison,) = json.loads(Path("out/report.json").read_text("utf-8"))["comparisons"]
    (rare,) = [part for part in comparison["slices"] if part["value"] == "rare"]
    assert rare["n"] == 1
    assert rare["leaders"]["mrr@5"]["best"] == "b"
    assert not rare["leaders"]["mrr@5"]["decided"]
    assert rare["p_worse"] is None
    kinds = {advice["kind"] for advice in comparison["recommendations"]}
    assert kinds.isdisjoint({"weak_slice", "routing"})
    assert "not decided, b 1.0000" not in outcome[1]  # it fills no line


@pytest.mark.integration
def test_slices_that_nobody_named(run):
    """Fields with a few values are slices in Markdown and on the page alike."""
    ranks = {"a": lambda at: 1, "b": lambda at: 2}
    for kind, there in ((lambda at: f"kind {at % 2}", True), (str, False)):
        _, markdown, page = run(ranks, kind=kind)
        assert ("## By query" in markdown) == there
        assert bool(page["slices"]) == there
        # A test a metric, over all and in two slices; and of each slice whether a is worse there.
        (comparison,) = json.loads(Path("out/report.json").read_text("utf-8"))["comparisons"]
        assert comparison["n_tests"] == 1
        assert comparison["n_tests_of_others"] == (1 + 2 * 2 + 2 if there else 1)


@pytest.mark.integration
def test_times_within_noise(run):
    """Nobody is called faster for less than a millisecond, in any metric of time."""
    extra = "metrics: [mrr@5, seconds_mean, seconds_p95]\n"
    ranks = {"a": lambda at: 1, "b": lambda at: 1 + (at == 0)}
    for factor, advised in ((1, False), (100, True)):

        def seconds(name, at, factor=factor):
            return factor * (0.0009 if name == "a" else 0.0001) + at / 1e6

        terminal, _, page = run(ranks, seconds=seconds, extra=extra)
        assert ("fastest" in terminal) == advised
        assert ("cost" in {advice["kind"] for advice in page["advice"]}) == advised
