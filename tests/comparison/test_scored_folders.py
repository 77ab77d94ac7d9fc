"""Folders of `kragx score --out`: compared as any others."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kragx.evaluation import parts as parts_module
from kragx.evaluation.part_tables import evaluate_in_parts
from tests.app.commands.conftest import here, kragx

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
    assert "of 'deep'; valid: metadata.easy, metadata.level\n" in refused.err


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
def test_one_that_failed_is_shown_as_such(kragx, scored):
    """It lacks questions, too: means are of those compared, and it neither wins nor loses."""
    lines = (scored / "some.jsonl").read_text(encoding="utf-8").splitlines()[:100]
    rows = [json.loads(line) for line in lines]
    for row in rows[::10]:
        row |= {"retrieved": [], "error": "timed out"}
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (scored / "failing.jsonl").write_text(text, encoding="utf-8")
    evaluate_in_parts("failing.jsonl", scored / "s-failing", metrics=["mrr@5", "recall@1"])
    folders = ("s-half", "s-most", "s-failing", "--anyway", "--format", "json")
    refused = kragx("compare", *folders)
    assert refused.code == 5
    (comparison,) = json.loads(refused.out)["comparisons"]
    assert comparison["not_comparable"] == ["failing"]
    assert comparison["retrievers"] == ["most", "half"]
    tolerated = kragx("compare", *folders, "--max-failed", "0.2")
    assert tolerated.code == 0
    (comparison,) = tolerated.json()["comparisons"]
    assert comparison["overall"]["n"] == 100
    assert comparison["overall"]["means"]["most"]["mrr@5"]["value"] == pytest.approx(
        np.mean([1 / (i % 4 + 1) if i % 5 else 0 for i in range(100)])
    )
