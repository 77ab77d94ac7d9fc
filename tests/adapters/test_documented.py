"""What docs/adapters.md shows of packages that the tests of documents do not have."""

from __future__ import annotations

import warnings

import pytest

from tests.docs.support import Document

from .test_langsmith import EXAMPLES, served

__all__ = ["served"]

BLOCKS = [block.text for block in Document("docs/adapters.md").blocks if block.language == "py"]


def block(package: str) -> str:
    """The example of a package."""
    (text,) = (own for own in BLOCKS if f"adapters.{package} " in own)
    return text


@pytest.mark.integration
def test_mlflow(tmp_path, monkeypatch):
    """The example logs what it says."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mlflow's own
        mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
        exec(block("mlflow"), {})
        (run,) = mlflow.search_runs(output_format="list")
    assert run.data.metrics["recall_at_5"] == 0.5


@pytest.mark.integration
def test_langsmith(served, monkeypatch):
    """The example reads a dataset and makes an experiment of it."""
    server, client = served(*EXAMPLES)
    monkeypatch.setattr("langsmith.Client", lambda: client)
    exec(block("langsmith"), {})
    (project,) = server.projects.values()
    assert project["name"].startswith("bm25-")
    assert len(server.runs) == len(EXAMPLES)
