"""configs/quickstart.yaml: the first thing that a new user runs; and its English twin."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kragx.app import config, pipeline

QUICKSTART = Path(__file__).parents[3] / "configs" / "quickstart.yaml"


@pytest.fixture(scope="module", params=["quickstart.yaml", "quickstart-en.yaml"])
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
        "windows-150",
        "paragraphs",
    ]
    assert sorted(path.name for path in here.iterdir()) == ["out"]


@pytest.mark.integration
@pytest.mark.parametrize("readme", ["README.md", "README.ko.md"])
def test_the_readme_shows_what_it_prints(kragx, here, readme):
    """The table of the README is that of the run, line by line."""
    text = (QUICKSTART.parents[1] / readme).read_text(encoding="utf-8")
    shown = text.split("```text\n", 1)[1].split("```", 1)[0]
    assert shown.count("│") > 20
    assert shown in kragx("run", QUICKSTART, "-o", "out").out


def test_retrievers_differ(report):
    """Every metric lies strictly between 0 and 1, and differs between the two in some question."""
    first, second = report.evaluations
    for evaluation in (first, second):
        assert all(0 < value < 1 for value in evaluation.mean.values())
        assert evaluation.counts["n_failed"] == evaluation.counts["n_missing"] == 0
    assert first.mean.keys() == second.mean.keys()
    for name in first.mean:
        one, other = (
            [scores[name] for scores in each.queries.values()] for each in report.evaluations
        )
        assert one != other


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
