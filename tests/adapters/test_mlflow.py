"""Results in MLflow."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from kragx import GoldDataset, Run, UsageError, evaluate
from kragx.adapters.mlflow import _renamed, log

GOLD = {f"q{n}": [f"gold {n}"] for n in range(8)}


def found(n: int) -> dict:
    """The gold of the first n questions at rank 1."""
    return {name: [golds[0] if at < n else "x"] for at, (name, golds) in enumerate(GOLD.items())}


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """MLflow with a store of its own, and the run of an id."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a file store needs no database
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mlflow's own
        mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
        yield mlflow
        mlflow.end_run()


@pytest.mark.integration
def test_one_retriever(mlflow):
    """Means, intervals and counts are metrics, settings parameters; the run ends with the call."""
    result = evaluate(GOLD, found(6), match="exact", metrics=["recall@1", "mrr@5"], name="bm25")
    run_id = log(result, run_name="nightly", figures=False)
    assert mlflow.active_run() is None
    run = mlflow.get_run(run_id)
    assert run.info.run_name == "nightly"
    assert run.data.metrics["recall_at_1"] == 0.75
    low, high = result.intervals["recall@1"]
    ends = [run.data.metrics[f"recall_at_1.{end}"] for end in ("low", "high")]
    assert ends == [low, high]
    assert run.data.metrics["n_failed"] == 0
    files = mlflow.artifacts.list_artifacts(run_id=run_id, artifact_path="kragx")
    assert {own.path for own in files} == {"kragx/result.json", "kragx/report.md"}
    path = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path="kragx/result.json")
    (own,) = json.loads(Path(path).read_text(encoding="utf-8"))["evaluations"]
    assert own["queries"] == result.queries


@pytest.mark.integration
def test_several_in_a_run_of_ones_own(mlflow):
    """Below each retriever's name, in the active run, which goes on; who failed has no means."""

    def broken(question):
        raise RuntimeError("no index")

    def half(question):
        return ["gold 0"] if question == "question 0" else ["x"]

    gold = GoldDataset.from_documents(GOLD, queries=[f"question {n}" for n in range(8)])
    retrievers = {"bm25": Run.from_documents(found(6)), "dense v2": half, "broken": broken}
    result = evaluate(gold, retrievers, match="exact")
    with mlflow.start_run() as active:
        run_id = log(result, step=3)
        assert run_id == active.info.run_id == mlflow.active_run().info.run_id
    metrics = mlflow.get_run(run_id).data.metrics
    assert (metrics["bm25/recall_at_10"], metrics["dense v2/recall_at_10"]) == (0.75, 0.125)
    assert (metrics["broken/n_failed"], "broken/recall_at_10" in metrics) == (8, False)
    history = mlflow.MlflowClient().get_metric_history(run_id, "bm25/recall_at_10")
    assert [own.step for own in history] == [3]


def test_names():
    """Names that MLflow takes; two that become one are refused, not mixed."""
    assert _renamed([("bm25/recall@5(need=all)", 1.0)]) == {"bm25/recall_at_5_need_all_": 1.0}
    with pytest.raises(UsageError, match="'a=b' and 'a:b' are both 'a_b' in MLflow"):
        _renamed([("a=b", 1), ("a:b", 2)])
