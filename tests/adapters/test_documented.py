"""What docs/report.md shows of packages that the tests of documents do not have."""

from __future__ import annotations

import pytest

from tests.docs.support import Document
from tests.environments import PackageNotFoundError, made, run

from .test_langsmith import EXAMPLES, served

__all__ = ["served"]

BLOCKS = [block.text for block in Document("docs/report.md").blocks if block.language == "py"]


def block(package: str) -> str:
    """The example of a package."""
    (text,) = (own for own in BLOCKS if f"adapters.{package} " in own)
    return text


LOGGED = """
(run,) = mlflow.search_runs(output_format="list")
assert run.data.metrics["recall_at_5"] == 0.5
"""


@pytest.mark.integration
def test_mlflow(tmp_path):
    """The example logs what it says, in an empty folder, with what the extra installs alone."""
    try:
        packages = made(tmp_path / "packages", ["mlflow"])
    except PackageNotFoundError as error:
        pytest.skip(f"not installed here: {error}")
    place = tmp_path / "place"
    place.mkdir()
    done = run(packages, block("mlflow") + LOGGED, place)
    assert done.returncode == 0, done.stderr


@pytest.mark.integration
def test_langsmith(served, monkeypatch):
    """The example reads a dataset and makes an experiment of it."""
    server, client = served(*EXAMPLES)
    monkeypatch.setattr("langsmith.Client", lambda: client)
    exec(block("langsmith"), {})
    (project,) = server.projects.values()
    assert project["name"].startswith("bm25-")
    assert len(server.runs) == len(EXAMPLES)
