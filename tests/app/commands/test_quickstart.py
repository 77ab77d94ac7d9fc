"""configs/quickstart.yaml: the first thing that a new user runs; and its English twin."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from kragx.app import config, pipeline

QUICKSTART = Path(__file__).parents[3] / "configs" / "quickstart.yaml"


@pytest.fixture(
    scope="module",
    params=["quickstart.yaml", pytest.param("quickstart-en.yaml", marks=pytest.mark.integration)],
)
def report(request):
    """One run of each."""
    return pipeline.run(config.load(QUICKSTART.with_name(request.param)), progress=False)


@pytest.mark.integration
def test_runs_from_any_folder(kragx, here):
    """The quickstart runs from any folder and writes where -o says."""
    outcome = kragx("run", QUICKSTART, "-o", "out")
    assert (outcome.code, outcome.err) == (0, "written to out; open out/report.html\n")
    assert "138 of 150 queries scored" in outcome.out
    written = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))
    assert [evaluation["retriever"] for evaluation in written["evaluations"]] == [
        "words",
        "letter-pairs",
        "rechunked",
    ]
    assert sorted(path.name for path in here.iterdir()) == ["out"]


def test_retrievers_differ(report):
    """Every metric lies strictly between 0 and 1, and differs between any two in some question."""
    for evaluation in report.evaluations:
        assert all(0 < value < 1 for value in evaluation.mean.values())
        assert evaluation.counts["n_failed"] == evaluation.counts["n_missing"] == 0
    for one, other in itertools.combinations(report.evaluations, 2):
        assert one.mean.keys() == other.mean.keys()
        for name in one.mean:
            assert [scores[name] for scores in one.queries.values()] != [
                scores[name] for scores in other.queries.values()
            ]


def test_one_difference_is_certain_and_one_is_not(report):
    """The first metric cannot tell two of the three apart, and puts the third behind both."""
    names = report.comparisons[0].retrievers
    leader = report.comparisons[0].leader
    assert (leader.best, leader.tied) == (names[2], (names[1],))
    verdict = report.comparisons[0].recommendations[0].text
    assert f"cannot be told from {names[1]}" in verdict
    assert f"{names[2]} is better than words: the difference is" in verdict


@pytest.mark.integration
@pytest.mark.parametrize("name", ["quickstart.yaml", "quickstart-en.yaml"])
def test_three_lines_below_the_table(kragx, here, name):
    """Below the table stand its legend and at most three lines, each something to do."""
    _, below = kragx("run", QUICKSTART.with_name(name), "-o", "out").out.split("└")
    legend, *advice = below.splitlines()[1:]
    assert legend.startswith("with each mean")
    assert 0 < len(advice) <= 3
    assert all(line.startswith("- ") for line in advice)


def test_no_chunk_id_is_a_gold_id(report):
    """No chunk has the id of a gold passage, so that only texts can decide."""
    gold = {item.id for query in report.dataset for item in query.gold}
    chunks = {
        doc.id
        for run in report.runs.values()
        for query_id in run
        for doc in run[query_id].documents
    }
    assert None not in gold | chunks
    assert len(chunks) > 100
    assert not gold & chunks


@pytest.mark.integration
def test_deterministic(report):
    """A second run gives the same lists and the same numbers, query by query."""
    again = pipeline.run(report.config, progress=False)
    for first, second in zip(report.evaluations, again.evaluations, strict=True):
        assert first.mean == second.mean
        assert first.queries == second.queries
    for name, run in report.runs.items():
        for query_id in run:
            assert again.runs[name][query_id].documents == run[query_id].documents


def test_the_english_one_is_english(report):
    """The twin compares the same metrics, and nobody has to read Korean in its report."""
    texts = [query.text for query in report.dataset]
    texts += [doc.text for run in report.runs.values() for own in run for doc in run[own].documents]
    is_korean = any("가" <= letter <= "힣" for text in texts for letter in text or "")
    assert is_korean == (report.config.file.name == "quickstart.yaml")
    assert list(report.evaluations[0].mean) == list(config.load(QUICKSTART).metrics)
