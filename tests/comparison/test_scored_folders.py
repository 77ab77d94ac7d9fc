"""Folders of `kragx score --out`: compared as any others, and their page with a sample of texts."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from kragx.comparison import sampling
from kragx.comparison.sampling import sampled
from kragx.evaluation.part_tables import evaluate_in_parts
from kragx.evaluation.parts import part as parts_module
from kragx.matchers.rouge import RougeMatcher
from tests.app.commands.conftest import here, kragx
from tests.report.test_page import parts

__all__ = ["here", "kragx"]

pytest.importorskip("pyarrow")


def write(path, luck):
    """Results of 120 questions, Korean ones; every so many the gold stands at some rank."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(120):
            texts = [f"다른 문서 {number} {other} 아무 말이나 하는 글" for other in range(4)]
            if number % luck:
                texts[number % 4] = f"질문 {number}의 답은 바로 여기에 있다는 글"
            row = {
                "query_id": f"q{number}",
                "query": f"질문 {number}의 답은?",
                "gold": [{"text": f"질문 {number}의 답은 바로 여기에 있다"}],
                "query_type": ("lookup", "list")[number % 2],
                "retrieved": [{"text": text} for text in texts],
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


@pytest.fixture
def scored(here, monkeypatch):
    """Three folders of about ten parts each; a luck of 2 is the worst."""
    monkeypatch.setattr(parts_module, "PART_BYTES", 8_000)
    for name, luck in (("half", 2), ("most", 5), ("some", 3)):
        write(here / f"{name}.jsonl", luck)
        evaluate_in_parts(f"{name}.jsonl", here / f"s-{name}", metrics=["mrr@5", "recall@1"])
    return here


def test_slices_have_the_names_that_they_have_in_a_run(kragx, here):
    """Truth values and numbers as YAML has them; what is no field to slice by is not offered."""
    for name in ("one", "two"):
        rows = (
            {
                "query_id": f"q{number}",
                "gold": [{"text": "a b"}],
                "retrieved": [{"text": "a b"}],
                "metadata": {"easy": number % 2 == 0, "level": 1.0},
            }
            for number in range(6)
        )
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (here / f"{name}.jsonl").write_text(text, encoding="utf-8")
        evaluate_in_parts(f"{name}.jsonl", here / f"s-{name}", metrics=["mrr@5"])
    compared = ("compare", "s-one", "s-two", "--slice")
    (change,) = kragx(*compared, "easy", "--slice", "level", "--format", "json").json()["changes"]
    values = [part["value"] for part in change["comparison"]["slices"]]
    assert values == ["false", "true", "1.0"]
    refused = kragx(*compared, "deep")
    assert "of 'deep'; valid: query_type, metadata.easy, metadata.level\n" in refused.err


@pytest.mark.integration
def test_several_of_them(kragx, scored):
    """Best first, with slices, verdicts and gates, from tables alone."""
    folders = ("s-half", "s-most", "s-some")
    outcome = kragx("compare", *folders, "--slice", "query_type", "--format", "json")
    (comparison,) = outcome.json()["comparisons"]
    assert comparison["retrievers"] == ["most", "some", "half"]
    assert [part["value"] for part in comparison["slices"]] == ["list", "lookup"]
    verdicts = {
        own["retriever"]: own["verdict"] for own in comparison["overall"]["differences"][:2]
    }
    assert verdicts["half"] == "worse"
    gated = kragx("compare", *folders, "--gate", "mrr@5: >= 0.4")
    assert gated.code == 1


@pytest.mark.integration
def test_the_page_has_texts_of_a_sample(kragx, scored, monkeypatch):
    """Numbers are of all questions; texts, ranks and values of those that differ, and some more."""
    monkeypatch.setattr(sampling, "MOST", 70)
    outcome = kragx("compare", "s-half", "s-most", "--slice", "query_type", "--html", "page.html")
    assert outcome.code == 0
    assert "written: page.html" in outcome.err
    blocks = parts(scored / "page.html")
    index = blocks["index"]
    # Found by one alone: even numbers that no 5 divides (48), and 5, 15, ... (12).
    assert index["queries"]["sample"] == {
        "n": 120,
        "n_differing": 60,
        "n_differing_held": 60,
        "matched": True,
    }
    assert len(index["queries"]["ids"]) == 70
    assert index["whole"] is False
    half, most = index["cells"][0]
    assert index["retrievers"] == ["half", "most"]
    row = index["queries"]["ids"].index("q2")
    assert index["queries"]["texts"][row] == "질문 2의 답은?"
    assert (half["values"]["mrr@5"][row], most["values"]["mrr@5"][row]) == (0, 0.333333)
    assert (half["first"][row], most["first"][row]) == ([0], [3])
    assert most["mean"]["mrr@5"] == pytest.approx(
        np.mean([1 / (i % 4 + 1) if i % 5 else 0 for i in range(120)])
    )
    assert not most["curves"]
    assert most["histogram"] is None
    texts = json.dumps([own for name, own in blocks.items() if "texts" in name], ensure_ascii=False)
    assert "질문 2의 답은 바로 여기에 있다는 글" in texts
    rows = {own["value"]: own["rows"] for own in index["standings"]["overlap"]["slices"]}
    assert sorted(rows["lookup"] + rows["list"]) == list(range(70))


def changed(here):
    """Another file under the old name."""
    write(here / "most.jsonl", 4)


def gone(here):
    """No file."""
    (here / "most.jsonl").unlink()


def given_in_python(here):
    """Scored by a matcher that is an object."""
    options = {"match": RougeMatcher("rouge1"), "metrics": ["mrr@5", "recall@1"]}
    for name in ("half", "most"):
        evaluate_in_parts(f"{name}.jsonl", here / f"s-{name}", **options)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (changed, r"most.jsonl from line \d+ on: is not what was scored any more"),
        (gone, r"cannot be read: No such file"),
        (given_in_python, "match was given in Python"),
    ],
)
@pytest.mark.filterwarnings("ignore:gold of one template")
def test_else_ids_alone(kragx, scored, change, reason):
    """A plain sentence says why, and nothing is said of ranks that nobody knows."""
    change(scored)
    outcome = kragx("compare", "s-half", "s-most", "--html", "page.html")
    assert outcome.code == 0
    assert re.search(f"shown by their ids alone: .*{reason}", outcome.err)
    index = parts(scored / "page.html")["index"]
    assert index["queries"]["sample"]["matched"] is False
    assert index["kept"]["texts"] is False
    assert set(index["queries"]["texts"]) == {None}
    assert set(index["cells"][0][0]["first"]) == {None}
    row = index["queries"]["ids"].index("q2")
    assert index["cells"][0][1]["values"]["mrr@5"][row] == 0.333333


@pytest.mark.integration
def test_a_page_is_of_scored_folders(kragx, scored):
    """A folder of a run has one already, and one folder is none to compare."""
    (scored / "run").mkdir()
    (scored / "run" / "manifest.json").write_text("{}", encoding="utf-8")
    assert kragx("compare", "s-half", "run", "--html", "page.html").code != 0
    alone = kragx("compare", "s-half", "--html", "page.html")
    assert alone.code == 2
    assert "name two folders" in alone.err


def test_the_rule_by_hand(monkeypatch):
    """Of each part some that differ, by turns, then others; of few all."""
    monkeypatch.setattr(sampling, "A_PART", 2)
    ids = [f"q{row}" for row in range(30)]
    one, other = np.ones(30), np.ones(30)
    other[[*range(10), 10, 20, 21]] = 0  # ten in the first part, one and two in the others
    scores = [
        SimpleNamespace(table=lambda metrics, query_ids, own=own: own[:, None])
        for own in (one, other)
    ]
    comparison = SimpleNamespace(primary="recall@1", query_ids=ids, n_queries=30)
    for most, in_parts in ((5, (2, 1, 2)), (7, (4, 1, 2)), (13, (10, 1, 2))):
        monkeypatch.setattr(sampling, "MOST", most)
        found = sampled(comparison, scores, [10, 20, 30])
        assert np.bincount(found.rows // 10, minlength=3).tolist() == list(in_parts)
        assert (found.n, found.n_differing, found.n_differing_held) == (30, 13, most)
    monkeypatch.setattr(sampling, "MOST", 20)
    found = sampled(comparison, scores, [10, 20, 30])
    assert len(found.rows) == 20
    assert found.n_differing_held == 13


@pytest.mark.integration
def test_one_that_failed_is_shown_as_such(kragx, scored):
    """It lacks questions, too: means are of those compared, and it neither wins nor loses."""
    lines = (scored / "some.jsonl").read_text(encoding="utf-8").splitlines()[:100]
    rows = [json.loads(line) for line in lines]
    for row in rows[::10]:
        row |= {"retrieved": [], "error": "timed out"}
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (scored / "failing.jsonl").write_text(text, encoding="utf-8")
    evaluate_in_parts("failing.jsonl", scored / "s-failing", metrics=["mrr@5", "recall@1"])
    folders = ("s-half", "s-most", "s-failing", "--anyway", "--html", "page.html")
    assert kragx("compare", *folders).code == 5
    index = parts(scored / "page.html")["index"]
    assert index["standings"]["overlap"]["not_comparable"] == ["failing"]
    assert index["retrievers"] == ["most", "half", "failing"]
    values = index["cells"][0][2]["values"]["mrr@5"]
    assert values[index["queries"]["ids"].index("q110")] is None
    tolerated = kragx("compare", *folders, "--max-failed", "0.2")
    assert tolerated.code == 0
    index = parts(scored / "page.html")["index"]
    most = index["cells"][0][index["retrievers"].index("most")]
    assert index["queries"]["sample"]["n"] == 100
    assert most["mean"]["mrr@5"] == pytest.approx(
        np.mean([1 / (i % 4 + 1) if i % 5 else 0 for i in range(100)])
    )
