"""The notebooks for Colab run as they are."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from .support import ROOT, Document

NOTEBOOK, FROM_RAGAS = (ROOT / "examples" / f"{name}.ipynb" for name in ("kragx", "from_ragas"))
EACH = pytest.mark.parametrize(
    ("path", "extra"), [(NOTEBOOK, "[bm25]"), (FROM_RAGAS, "")], ids=["kragx", "from_ragas"]
)


@EACH
def test_it_is_kept_without_outputs(path: Path, extra: str) -> None:
    """What a cell shows comes from the kragx that is there, so none of it is stored."""
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") for cell in notebook.cells)


@EACH
def test_it_installs_what_there_is(
    path: Path, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without kragx: the clone it lies in; elsewhere the repository that pyproject.toml names."""
    nbformat = pytest.importorskip("nbformat")
    transformers = pytest.importorskip("IPython.core.inputtransformer2")
    cell = next(own for own in nbformat.read(path, as_version=4).cells if "%pip" in own.source)
    code = transformers.TransformerManager().transform_cell(cell.source)
    names: dict[str, Any] = {}
    installed: list[str] = []

    class Shell:
        def run_line_magic(self, magic: str, line: str) -> None:
            assert magic == "pip"
            installed.append(line.format(**names))

    def version(name: str) -> str:
        if not installed:
            raise PackageNotFoundError(name)
        return "0"

    names["get_ipython"] = Shell
    monkeypatch.setattr("importlib.metadata.version", version)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "bm25" in project["optional-dependencies"]
    repository = f"kragx{extra} @ git+{project['urls']['Homepage']}"
    for folder, source in ((ROOT / "examples", f"{ROOT}{extra}"), (tmp_path, repository)):
        installed.clear()
        monkeypatch.chdir(folder)
        exec(code, names)
        assert installed == [f'install --quiet "{source}"']


def outputs_of(path: Path, folder: Path) -> list[Any]:
    """What the cells of a notebook show, run in a folder; none of it is an error."""
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources=resources
    ).execute()
    outputs = [own for cell in notebook.cells for own in cell.get("outputs", ())]
    assert not [own for own in outputs if own.output_type == "error"]
    return outputs


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # what the packages of the notebook warn of themselves
def test_it_runs(tmp_path: Path) -> None:
    """Each cell runs; tables, a reason for what is missed, Korean and the page are there."""
    outputs = outputs_of(NOTEBOOK, tmp_path)
    shown = [own.data for own in outputs if own.output_type == "execute_result"]
    assert sum("<table>" in data.get("text/html", "") for data in shown) >= 2
    assert "no match" in "".join(data.get("text/html", "") for data in shown)
    printed = "".join(
        own.get("text", "") or own.get("data", {}).get("text/plain", "") for own in outputs
    )
    assert "질문 8개 중 8개 채점" in printed
    assert (tmp_path / "kragx.html").stat().st_size > 10_000


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_the_one_from_ragas_shows_what_the_page_does(tmp_path: Path) -> None:
    """The values of docs/ragas.md, why a text is no match, and what to write for old names."""
    outputs = outputs_of(FROM_RAGAS, tmp_path)
    texts = [
        own.get("text", "") or own.data.get("text/html", own.data["text/plain"]) for own in outputs
    ]
    shown = " ".join(" ".join(texts).split())  # however its lines are broken
    page = Document("docs/ragas.md").text
    values = re.findall(r"^\[\[.*\]\]$", page, re.MULTILINE)
    assert len(values) == 2
    for text in (*values, "another text of one template", "map(norm=hits)", "it judges answers"):
        assert text in shown
