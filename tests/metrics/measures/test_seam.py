"""Measures stand beside the metrics: one parser, one table, one JSON."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, UsageError, evaluate
from kragx.metrics import METRICS, MetricSpec
from kragx.metrics.measures import (
    MEASURES,
    Described,
    MeasureScores,
    MeasureSpec,
    higher_is_better,
    parse,
)

TEXT = "gift cards do not expire"
DATASET = GoldDataset((Query("q", "?", (Gold(text=TEXT),)),))
RUN = Run({"q": Retrieved((Doc(text=TEXT, metadata={"source": "s"}),), 0.5)})


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Source-Diversity@5", "source_diversity@5"),
        ("source_diversity @ 5 ( key = source )", "source_diversity@5"),
        ("source_diversity(key=url)", "source_diversity(key=url)"),
        ("seconds_p95", "seconds_p95"),
        ("nDCG@5", "ndcg@5"),
        ("ndcg_cut_5", "ndcg@5"),
    ],
)
def test_canonical_names(text, canonical):
    """A name is read however it is written, and printed in one way, which reads back the same."""
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize("name", [*METRICS, *MEASURES])
def test_one_parser(name):
    """The parser knows every metric and measure, and which is which."""
    assert isinstance(parse(name), MetricSpec if name in METRICS else MeasureSpec)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("source_diversty@5", "'source_diversity'"),
        ("ndgc@5", "'ndcg'"),
        ("judged@0", "whole number"),
        ("judged@5(rel=2)", "takes none"),
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
    assert higher_is_better("seconds_mean") is False
    assert higher_is_better("throughput") is True
    assert higher_is_better("source_diversity@5(key=url)") is None
    assert higher_is_better("redundancy@5") is False


def test_measures_alone():
    """A list of measures alone computes no metric."""
    result = evaluate(DATASET, RUN, match="text", metrics=["judged@5"])
    assert result.mean == {"judged@5": 1.0}
    assert result.settings["metrics"] == ["judged@5"]


def test_in_json_and_per_query():
    """Means, per-query values and the DataFrame hold both kinds."""
    result = evaluate(DATASET, RUN, match="text", metrics=["judged@5", "mrr@5", "seconds_mean"])
    assert set(result.to_dict(queries=True)["queries"]["q"]) == {
        "judged@5",
        "mrr@5",
        "seconds_mean",
    }
    pytest.importorskip("pandas")
    assert set(result.to_pandas().columns) == {"judged@5", "mrr@5", "seconds_mean"}


def test_other_metrics_and_thresholds_later():
    """`with_metrics` and `at_threshold` compute measures anew, from the documents kept for them."""
    result = evaluate(DATASET, RUN, match="overlap", metrics=["judged@5", "mrr@5"])
    assert result.with_metrics(["source_diversity", "mrr@1"]).mean == {
        "mrr@1": 1.0,
        "source_diversity": 0.0,
    }
    assert result.at_threshold(1.0)["judged@5"] == 1.0
    plain = evaluate(DATASET, RUN, match="overlap", metrics=["mrr@5"])
    with pytest.raises(UsageError, match="name it when you call evaluate"):
        plain.with_metrics(["judged@5"])


def test_a_measure_of_ones_own(monkeypatch):
    """A measure by import path stands in the results like any other."""

    def lengths(evidence, spec):
        values = np.array([float(len(each.docs)) for each in evidence.answers])
        return MeasureScores(spec, values, float(values.mean()))

    module = ModuleType("toy_measures")
    module.Length = Described("length", "How long?", "n", lengths, (0.0, None), "neither")
    monkeypatch.setitem(sys.modules, "toy_measures", module)
    result = evaluate(DATASET, RUN, match="text", metrics=["mrr", "toy_measures:Length@5"])
    assert result.mean == {"mrr": 1.0, "toy_measures:Length@5": 1.0}


def test_results_file_as_a_stream(tmp_path):
    """A results file alone gives measures and a content hash, as the same data in memory does."""
    from kragx import read_dataset, write_results

    path = tmp_path / "results.jsonl"
    write_results(DATASET, RUN, path)
    metrics = ["mrr@5", "seconds_mean", "judged@5"]
    result = evaluate(str(path), match="text", metrics=metrics)
    assert result.mean == evaluate(DATASET, RUN, match="text", metrics=metrics).mean
    assert result.settings["dataset"]["hash"] == DATASET.content_hash
    assert read_dataset(path).content_hash == DATASET.content_hash
