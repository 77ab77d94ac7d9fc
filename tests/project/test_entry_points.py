"""A package that declares entry points adds one of each thing, found by name wherever names are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import get_args

import pytest

from kragx.app.commands.root import _command
from kragx.ground.entry_points import Group, _scanned, plugins
from tests.app.commands.conftest import Outcome

TOY = Path(__file__).with_name("toy")
Look = Callable[[], None]
Command = Callable[..., Outcome]
QUESTION = {"query_id": "q1", "query": "섬에 무엇이 있나?", "gold": [{"text": "섬에는 등대가"}]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as an installer leaves it: its module, and what it declares."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copy(TOY / "kragx_toy.py", folder)
    metadata = folder / "kragx_toy-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kragx-toy\nVersion: 1.0\n")
    shutil.copy(TOY / "entry_points.txt", metadata)
    return folder


def process(installed: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """What a command says, in a process of its own, where the package is installed."""
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "kragx", *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def look(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Has this process find the package, as it is now."""

    def forget() -> None:
        for cached in (_scanned, plugins, _command):
            cached.cache_clear()
        sys.modules.pop("kragx_toy", None)

    def find() -> None:
        forget()
        monkeypatch.syspath_prepend(installed)
        monkeypatch.setenv("COLUMNS", "200")

    yield find
    monkeypatch.undo()
    forget()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a gold set, and results in the package's format."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.jsonl").write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    row = {"toy_id": "q1", "toy_gold": "섬에는 등대가", "toy_found": ["배", "섬에는 등대가 있다"]}
    (tmp_path / "toy.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return tmp_path


def test_a_matcher_a_metric_and_a_format(installed: Path, folder: Path) -> None:
    """A file in the added format, by the added matcher and metric: found by hand at rank 2."""
    done = process(
        *(installed, folder, "score", "toy.jsonl", "--match", "starts_with"),
        *("--metric", "first_grade", "--metric", "mrr@5", "--format", "json"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mean"] == {"first_grade": 0.0, "mrr@5": 0.5}


def test_a_retriever_and_a_judge_of_a_config(look: Look, kragx: Command, folder: Path) -> None:
    """A config names the retriever alone, and the judge's client by its name."""
    config = {
        "dataset": "gold.jsonl",
        "retrievers": {"found": "island"},
        "match": {"method": "starts_with", "threshold": 0.9},
        "relevance_match": "llm",
        "judge": {"client": "always_relevant"},
        "metrics": ["first_grade", "precision_judged@1"],
        "output": "out",
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    look()
    done = kragx("run", "config.yaml")
    assert done.code == 0, done.err
    report = json.loads((folder / "out/report.json").read_text("utf-8"))
    assert report["evaluations"][0]["mean"] == {"first_grade": 1.0, "precision_judged@1": 1.0}
    assert report["evaluations"][0]["settings"]["match"]["threshold"] == 0.9


def test_a_command_and_what_help_shows(look: Look, kragx: Command, folder: Path) -> None:
    """Help lists the command with its package, the matcher and the metric."""
    look()
    assert kragx("greet").out == "hello from a package\n"
    assert "greet  kragx-toy" in kragx("--help").out
    assert "starts_with, id, " in kragx("score", "--help").out
    assert "first_grade" in kragx("metrics", "--all").out
    assert "starts_with" in kragx("schema").out


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("--match", "starts_wiht"), "perhaps you meant 'starts_with'?"),
        (("--metric", "first_grad"), "perhaps you meant 'first_grade'?"),
    ],
)
def test_errors_know_the_names(
    look: Look, kragx: Command, folder: Path, args: tuple[str, str], hint: str
) -> None:
    """A name that is nearly one of the package's is an error that says so."""
    look()
    done = kragx("score", "toy.jsonl", *args)
    assert (done.code, hint in done.err) == (2, True), done.err


def test_a_stranger_s_folder_runs_none_of_it(
    look: Look, kragx: Command, installed: Path, folder: Path
) -> None:
    """What a result folder names by a package's name is code, which reading it does not import."""
    config = {
        "dataset": "gold.jsonl",
        "retrievers": {"found": "island"},
        "metrics": ["first_grade"],
        "output": "out",
    }
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    look()
    assert kragx("run", "config.yaml").code == 0
    (installed / "kragx_toy.py").write_text("raise SystemExit('it was imported')\n")
    look()
    done = kragx("report", "out")
    shutil.copy(TOY / "kragx_toy.py", installed)
    assert done.code == 2
    assert "it was imported" not in done.out + done.err


def test_the_heavy_parts_are_declared_and_found() -> None:
    """What pyproject.toml declares is what the installed kragx has, and each of it is there."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    groups = {f"kragx.{group}" for group in get_args(Group)}
    for group, written in project["entry-points"].items():
        assert group in groups
        points = entry_points(group=group)
        own = {point.name: point.value for point in points if point.value.startswith("kragx.")}
        assert own == written, "install kragx again: pip install --no-deps -e ."
        for plugin in plugins(group.removeprefix("kragx.")).values():
            assert callable(plugin.load())


def test_no_package_changes_what_a_name_of_kragx_means(
    look: Look, kragx: Command, installed: Path, folder: Path
) -> None:
    """A package that declares kragx's names, of a command and of an engine, is not heard."""
    metadata = installed / "kragx_toy-1.0.dist-info/entry_points.txt"
    text = metadata.read_text("utf-8")
    others = "\n[kragx.engines]\nray = kragx_toy:greet\n"
    metadata.write_text(f"{text}gold = kragx_toy:greet\nscore = kragx_toy:greet\n{others}", "utf-8")
    look()
    try:
        assert "validate" in kragx("gold", "--help").out
        assert "Score results" in kragx("score", "--help").out
        done = kragx("score", "toy.jsonl", "--engine", "ray", "--address", "")
        assert "engine.ray.address: a cluster's address is expected" in done.err
    finally:
        metadata.write_text(text, "utf-8")


def test_a_command_of_a_group(
    look: Look,
    kragx: Command,
    installed: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name with a dot adds a command to a group, beside kragx's own."""
    from kragx.app.commands.judge import judge

    metadata = installed / "kragx_toy-1.0.dist-info/entry_points.txt"
    text = metadata.read_text("utf-8")
    metadata.write_text(f"{text}judge.greet = kragx_toy:greet\n", "utf-8")
    monkeypatch.setattr(judge, "registered_commands", [*judge.registered_commands])
    look()
    try:
        assert kragx("judge", "greet").out == "hello from a package\n"
        help_text = kragx("--help").out
        assert "judge.greet" not in help_text.replace("judge.greet  kragx-toy", "")
        assert "Submit a run" in kragx("judge", "--help").out
    finally:
        metadata.write_text(text, "utf-8")


def test_an_engine_that_nobody_has(kragx: Command, folder: Path) -> None:
    """An engine's name is looked up where engines are declared; the error names those there are."""
    done = kragx("score", "toy.jsonl", "--engine", "rya")
    assert (done.code, "perhaps you meant 'ray'?" in done.err) == (2, True), done.err
