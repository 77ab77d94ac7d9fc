"""One concept of a metric: of matches, documents or times, one parser, one table, one JSON."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, UsageError, evaluate
from kragx.metrics import METRICS, Metric, metric, parse
from tests.thoroughness import all_cases

TEXT = "gift cards do not expire"
DATASET = GoldDataset((Query("q", "?", (Gold(text=TEXT),)),))
RUN = Run({"q": Retrieved((Doc(text=TEXT, metadata={"source": "s"}),), 0.5)})


@all_cases(
    ("text", "canonical"),
    [
        ("Source-Diversity@5", "source_diversity@5"),
        ("source_diversity @ 5 ( key = source )", "source_diversity@5"),
        ("source_diversity(key=url)", "source_diversity(key=url)"),
        ("seconds_p95", "seconds_p95"),
        ("nDCG@5", "ndcg@5"),
        ("ndcg_cut_5", "ndcg_cut_5"),
    ],
)
def test_canonical_names(text, canonical):
    """A name is read however it is written, and printed in one way, which reads back the same."""
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@all_cases("name", METRICS)
def test_one_parser(name):
    """The parser knows every metric, and the spec knows its metric, however it is asked."""
    assert parse(name).metric is METRICS[name]
    assert metric(name) is METRICS[name]
    assert metric(f"{name}@10(x=y)") is METRICS[name]


@all_cases(
    ("text", "hint"),
    [
        ("source_diversty@5", "'source_diversity'"),
        ("ndgc@5", "'ndcg'"),
        ("judged@0", "whole number"),
        ("judged@5(rel=2)", "valid: of, order"),
        ("repeated(rel=2)", "takes none"),
        ("source_diversity(kye=x)", "'key'"),
        ("seconds_p95@5", "leave '@5' out"),
        ("throughput(", "name@k"),
        ("no_such_module_here:x", "no_such_module_here"),
    ],
)
def test_mistakes(text, hint):
    """A mistake is answered with the nearest name of either kind, or the remedy."""
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert hint in str(caught.value)


def test_directions():
    """Times are better low, throughput high, and diversity depends."""
    assert metric("seconds_mean").higher_is_better is False
    assert metric("throughput").higher_is_better is True
    assert metric("source_diversity@5(key=url)").higher_is_better is None
    assert metric("redundancy@5").higher_is_better is False


def test_judged_alone():
    """What is asked for is computed, and nothing beside it."""
    result = evaluate(DATASET, RUN, match="text", metrics=["judged@5"])
    assert result.mean == {"judged@5": 1.0}
    assert result.settings["metrics"] == ["judged@5"]


def test_in_json_and_per_query():
    """Means, per-query values and the DataFrame hold every kind in the order asked for."""
    result = evaluate(DATASET, RUN, match="text", metrics=["judged@5", "mrr@5", "seconds_mean"])
    assert set(result.to_dict(queries=True)["queries"]["q"]) == {
        "judged@5",
        "mrr@5",
        "seconds_mean",
    }
    pytest.importorskip("pandas")
    assert set(result.to_pandas().columns) == {"judged@5", "mrr@5", "seconds_mean"}


def test_other_metrics_and_thresholds_later():
    """`with_metrics` and `at_threshold` compute anew what looks at documents, which were kept."""
    result = evaluate(DATASET, RUN, match="overlap", metrics=["judged@5", "mrr@5"])
    assert result.with_metrics(["source_diversity", "mrr@1"]).mean == {
        "mrr@1": 1.0,
        "source_diversity": 0.0,
    }
    assert result.at_threshold(1.0)["judged@5"] == 1.0
    plain = evaluate(DATASET, RUN, match="overlap", metrics=["mrr@5"])
    with pytest.raises(UsageError, match="name it when you call evaluate"):
        plain.with_metrics(["judged@5"])


def test_a_metric_of_ones_own(monkeypatch):
    """A metric by import path stands in the results like any other, whatever it is made of."""

    def lengths(evidence, spec):
        return np.array([float(len(ranked.top(spec.k))) for ranked in evidence.lists])

    module = ModuleType("toy_metrics")
    words = {"question": "How long?", "formula": "n"}
    module.LENGTH = Metric("length", **words, from_evidence=lengths, range=(0.0, None))
    module.FOUND = Metric("found", **words, from_matches=lambda view, spec: view.found)
    module.NOTHING = object()
    monkeypatch.setitem(sys.modules, "toy_metrics", module)
    names = ["toy_metrics:LENGTH@5", "mrr", "toy_metrics:FOUND@1"]
    result = evaluate(DATASET, RUN, match="text", metrics=names)
    assert result.mean == dict.fromkeys(names, 1.0)
    assert result["toy_metrics:FOUND@1"] == 1.0
    with pytest.raises(UsageError, match=r"'toy_metrics:NOTHING' is no kragx\.metrics\.Metric"):
        parse("toy_metrics:NOTHING")


def test_a_metric_is_computed_in_one_way():
    """A metric that says nothing, or two things, of how it is computed is refused."""
    with pytest.raises(UsageError, match="give one of"):
        Metric("x", "?", "x")
    with pytest.raises(UsageError, match="give one of"):
        Metric("x", "?", "x", from_matches=lambda view, spec: view.found, from_run=len)


def test_results_file_as_a_stream(tmp_path):
    """A results file alone gives the values and content hash of the same data in memory."""
    from kragx import read_dataset, write_results

    path = tmp_path / "results.jsonl"
    write_results(DATASET, RUN, path)
    metrics = ["mrr@5", "seconds_mean", "judged@5"]
    result = evaluate(str(path), match="text", metrics=metrics)
    assert result.mean == evaluate(DATASET, RUN, match="text", metrics=metrics).mean
    assert result.settings["dataset"]["hash"] == DATASET.content_hash
    assert read_dataset(path).content_hash == DATASET.content_hash
