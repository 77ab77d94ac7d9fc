"""A Ray cluster on this machine: the same numbers as one process, also where a worker is killed."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from kragx import evaluate
from kragx.adapters import ray as cluster_module
from kragx.adapters.ray import Ray
from kragx.data import read_results
from kragx.data.writing import write_results
from kragx.errors import UsageError, WorkerError
from kragx.evaluation import parts
from kragx.evaluation.parts import engine_of
from kragx.matchers import BaseMatcher
from tests.local_cluster import two_workers

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster():
    """Two workers."""
    with two_workers() as ray:
        yield ray


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A results file of 20 parts, and of things that are odd."""
    monkeypatch.setattr(parts, "PART_BYTES", 2_500)
    rows = []
    for number in range(200):
        text = f"passage {number} says what nobody else says of number {number}"
        docs = [{"id": f"d{n}", "text": text.replace(str(number), str(n))} for n in (7, number)]
        row = {"query_id": f"q{number}", "gold": [{"text": text}], "retrieved": docs}
        if number % 11 == 3:
            row |= {"retrieved": [], "error": "timed out"}
        rows.append(row)
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert 15 <= path.stat().st_size // 2_500 <= 25
    return str(path)


def test_a_cluster_gives_the_numbers_of_one_process(cluster, file):
    """Bit for bit, with coverage, whose spans are read there too."""
    metrics = ["ndcg@10", "map@5", "coverage@2"]
    here = evaluate(file, metrics=metrics)
    there = evaluate(file, metrics=metrics, workers={"ray": {"address": "auto"}})
    assert there.to_dict(queries=True) == here.to_dict(queries=True)
    assert there.failures == here.failures
    for name in ("pair_doc", "pair_gold", "pair_score", "doc_start", "grade"):
        assert getattr(there.table, name).tobytes() == getattr(here.table, name).tobytes()


@pytest.fixture
def tables(file, tmp_path, monkeypatch):
    """The same questions as two Parquet files in a folder that workers know by its whole path."""
    rows = Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "data").mkdir()
    for name, own in (("a", rows[:90]), ("b", rows[90:])):
        half = tmp_path / f"{name}.jsonl"
        half.write_text("".join(own), encoding="utf-8")
        write_results(*read_results(half), tmp_path / "data" / f"{name}.parquet")
    monkeypatch.chdir(tmp_path)
    return "data/*.parquet"


def test_parquet_files_give_the_numbers_of_one_process(cluster, tables):
    """Bit for bit, although workers have another working directory; a table for each part too."""
    here = evaluate(tables, metrics=["ndcg@10", "coverage@2"])
    there = evaluate(tables, metrics=["ndcg@10", "coverage@2"], workers=Ray())
    assert there.to_dict(queries=True) == here.to_dict(queries=True)
    assert there.table.pair_score.tobytes() == here.table.pair_score.tobytes()


def test_rules_of_a_file_that_workers_do_not_find(cluster, file, tmp_path, monkeypatch):
    """They are the first line of a file whose lines are sent, and no question."""
    rules = {"forbidden": {"old": {"metadata.state": {"in": ["old"]}}}}
    lines = (
        Path(file)
        .read_text(encoding="utf-8")
        .replace('"text"', '"metadata": {"state": "new"}, "text"')
    )
    (tmp_path / "ruled.jsonl").write_text(json.dumps(rules) + "\n\n" + lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    here = evaluate("ruled.jsonl", metrics=["leak@3"])
    there = evaluate("ruled.jsonl", metrics=["leak@3"], workers=Ray())
    assert there.to_dict(queries=True) == here.to_dict(queries=True)


@dataclass(frozen=True)
class Deadly(BaseMatcher):
    """Kills the process that it is asked in, so often."""

    folder: str = ""
    times: int = 1

    def scores(self, items, notes):
        """All match, where nobody dies."""
        for number, item in enumerate(items):
            if number == 2:
                left = [place for place in range(self.times) if self._first(place)]
                if left:
                    os.kill(os.getpid(), signal.SIGKILL)
            yield np.ones(item.shape)

    def _first(self, place):
        try:
            Path(self.folder, str(place)).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


def test_a_killed_worker_changes_nothing(cluster, file, tmp_path):
    """Its part is tried again."""
    folder = tmp_path / "deaths"
    folder.mkdir()
    there = evaluate(file, match=Deadly(folder=str(folder)), workers=Ray())
    assert [*folder.iterdir()] == [folder / "0"]
    here = evaluate(file, match=Deadly(folder=str(folder)))
    assert there.to_dict(queries=True) == here.to_dict(queries=True)


@dataclass(frozen=True)
class Hopeless(BaseMatcher):
    """Kills whatever process it is asked in."""

    def scores(self, items, notes):
        """None are given."""
        os.kill(os.getpid(), signal.SIGKILL)
        return iter(())


def test_a_part_that_kills_every_worker_is_named(cluster, file):
    """After all attempts, and nothing else goes on."""
    named = rf"worked on {re.escape(file)} from line 1 on;"
    with pytest.raises(WorkerError, match=rf"a worker died \(\w+, 4 times\) while it {named}"):
        evaluate(file, match=Hopeless(), workers=Ray())


def test_json_while_a_worker_is_killed(tmp_path):
    """Ray says on standard error that a worker died; standard output is the result alone."""
    rows = [
        {"query_id": f"q{n}", "gold": [{"text": f"text {n}"}], "retrieved": [{"text": f"text {n}"}]}
        for n in range(20)
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code = (
        "import os, signal\nfrom pathlib import Path\nimport numpy as np\n"
        "from kragx.matchers import BaseMatcher\n\n\n"
        "class Deadly(BaseMatcher):\n"
        "    def scores(self, items, notes):\n"
        "        for item in items:\n"
        "            if not Path('FOLDER/died').exists():\n"
        "                Path('FOLDER/died').touch()\n"
        "                os.kill(os.getpid(), signal.SIGKILL)\n"
        "            yield np.ones(item.shape)\n"
    )
    (tmp_path / "deadly.py").write_text(code.replace("FOLDER", str(tmp_path)))
    command = [sys.executable, "-m", "kragx", "score", "results.jsonl", "--format", "json"]
    command += ["--match", "{method: 'deadly:Deadly'}", "--engine", "ray", "--address", "local"]
    root = str(Path(__file__).parents[3])
    own = {"PYTHONPATH": os.pathsep.join([root, str(tmp_path)]), "RAY_AUTH_MODE": "disabled"}
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "died").exists()
    assert json.loads(done.stdout)["mean"]["recall@10"] == 1
    assert "(raylet)" in done.stderr


@pytest.mark.parametrize("address", ["local", "10.0.0.1:6379"])
def test_a_cluster_that_cannot_start(file, monkeypatch, address):
    """Whatever Ray raises, bare exceptions too, it is wrong use with a remedy."""
    ray = pytest.importorskip("ray")

    def init(*_, **__):
        raise Exception("The current node timed out during startup.\nmore of it")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(UsageError, match="current node timed out during startup") as caught:
        evaluate(file, workers=Ray(address))
    assert caught.value.exit_code == 2
    assert caught.value.remedy
    assert caught.value.field == "engine.ray.address"
    assert "\n" not in str(caught.value)
    before = sys.stdout
    with pytest.raises(UsageError):
        Ray(address).begin()
    assert sys.stdout is before


def test_a_cluster_that_fails(cluster, file, monkeypatch):
    """So is one whose machines go away before the work."""

    def resources():
        raise cluster.exceptions.RaySystemError("the GCS is gone")

    monkeypatch.setattr(cluster, "cluster_resources", resources)
    with pytest.raises(UsageError, match=r"the Ray cluster fails: .*the GCS is gone"):
        evaluate(file, workers=Ray())


def test_another_environment_is_refused_before_work(cluster, file, monkeypatch):
    """A worker with other versions would give other numbers."""
    monkeypatch.setattr(cluster_module, "versions", lambda: {"kragx": "0"})
    with pytest.raises(UsageError, match="has another version of kragx, Python or numpy"):
        evaluate(file, workers=Ray())


def test_options_of_the_engine_are_checked():
    """As those of anything else."""
    with pytest.raises(UsageError, match=r"engine\.ray\.adress: unknown key; perhaps"):
        engine_of({"ray": {"adress": "auto"}}, BaseMatcher())
    with pytest.raises(UsageError, match=r"engine\.ray\.n: "):
        engine_of({"ray": {"n": 0}}, BaseMatcher())
