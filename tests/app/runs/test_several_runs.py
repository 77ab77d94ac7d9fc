"""`runs: r`: retrievers that answer otherwise each time are asked several times."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

GOLD = [
    {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"id": f"g{n}", "text": f"text {n}"}]}
    for n in range(1, 5)
]
AGENT = """
from pathlib import Path

def make():
    return ask

def ask(question):
    n, log = question[9:], Path("asked.txt")
    times = (log.read_text() if log.exists() else "").split().count(n)
    if question == "question 3" and times == 1 and Path("deadly").exists():
        import os
        os.kill(os.getpid(), 9)
    with log.open("a") as file:
        file.write(n + " ")
    if question == "question 4" and times == 2 and Path("limit").exists():
        raise RuntimeError("the limit of 20 searches")
    # Question n is found in its first n - 1 runs.
    return [{"id": f"g{n}" if times < int(n) - 1 else "x", "text": f"text {n} {times}"}]

def steady(question):
    return [{"id": f"g{question[9:]}", "text": "always"}]
"""
CONFIG = """
dataset: gold.jsonl
runs: 3
retrievers:
  agent:
    class: toy_agent:make
  single:
    class: toy_agent:steady
    runs: 1
match: id
metrics: [recall@3, mrr@3, seconds_p50, throughput]
output: out
"""


@pytest.fixture
def prepared(jsonl, module, here, monkeypatch):
    """Gold set, agent and config in the test's own folder."""
    monkeypatch.syspath_prepend(str(here))
    jsonl(*GOLD, name="gold.jsonl")
    module("toy_agent", AGENT)
    (here / "run.yaml").write_text(CONFIG)
    return here


def report(folder, name="out"):
    """What report.json holds of each retriever."""
    rows = json.loads((folder / name / "report.json").read_text())["evaluations"]
    return {row["retriever"]: row for row in rows}


def test_means_over_runs(prepared, kragx):
    """Found in 0, 1, 2 and 3 of 3 runs: 0, 1/3, 2/3, 1; the runs' means are 3/4, 2/4, 1/4."""
    done = kragx("run", "run.yaml")
    assert done.code == 0
    rows = report(prepared)
    agent = rows["agent"]
    values = [row["recall@3"] for row in agent["queries"].values()]
    assert values == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert agent["mean"]["recall@3"] == pytest.approx(0.5)
    assert agent["runs"]["mean"]["recall@3"] == [0.75, 0.5, 0.25]
    assert (agent["runs"]["n"], agent["counts"]["n_queries"]) == (3, 4)
    assert "runs" not in rows["single"]
    assert "runs: 0.2500 to 0.7500" in done.out
    assert "asked several times: agent (3)" in done.out
    assert "runs: 0.2500 to 0.7500" in (prepared / "out/report.md").read_text()


def test_folder_is_read_again(prepared, kragx):
    """All runs stand in the folder; its report, and a config that has `runs` written out, agree."""
    kragx("run", "run.yaml")
    files = sorted(path.name for path in (prepared / "out/results").glob("*.jsonl"))
    assert files == ["agent (run 2).jsonl", "agent (run 3).jsonl", "agent.jsonl", "single.jsonl"]
    again = kragx("report", "out", "--format", "json")
    assert again.code == 0
    first, second = report(prepared), json.loads(again.out)["evaluations"]
    assert {row["retriever"]: row["mean"] for row in second} == {
        name: row["mean"] for name, row in first.items()
    }
    assert second[0]["runs"] == first["agent"]["runs"]


@pytest.mark.integration
def test_interrupted(prepared):
    """Killed in the second run, the next one asks what was not answered, and nothing twice."""
    command = [sys.executable, "-m", "kragx", "run", "run.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(prepared), *sys.path])}
    (prepared / "deadly").touch()
    killed = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (prepared / "asked.txt").read_text().split() == [*"1234", *"12"]
    (prepared / "deadly").unlink()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (prepared / "asked.txt").read_text().split() == [*"1234"] * 3
    assert "6 of 12 answers are kept" in done.stderr
    agent = report(prepared)["agent"]
    assert agent["runs"]["mean"]["recall@3"] == [0.75, 0.5, 0.25]


def test_limit(prepared, kragx):
    """A run that hits its limit has failed: not comparable, unless tolerated; the others count."""
    (prepared / "limit").touch()
    done = kragx("run", "run.yaml")
    assert done.code == 5
    assert "agent failed on 1 of 4 questions" in done.out + done.err
    (prepared / "asked.txt").unlink()
    done = kragx("run", "run.yaml", "--set", "max_failed=0.25", "--fresh")
    assert done.code == 0
    agent = report(prepared)["agent"]
    assert agent["queries"]["q4"]["recall@3"] == pytest.approx(2 / 3)
    assert agent["counts"]["runs"] == {"n": 3, "n_failed": 1, "n_missing": 0, "n_empty": 0}
    assert agent["failures"] == {"q4": "RuntimeError: the limit of 20 searches"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (["retrievers.agent.repeat=5"], "retrievers.agent.repeat: each run asks for answers"),
        (["retrievers.agent.runs=2", "retrievers.agent.repeat=5"], "repeat: each run asks"),
        (["runs=0"], "runs"),
    ],
)
def test_refused(prepared, kragx, changes, problem):
    """Times that are taken again within each run are refused, and so is no run at all."""
    done = kragx("run", "run.yaml", *(part for change in changes for part in ("--set", change)))
    assert done.code == 2
    assert problem in done.err
    assert not (prepared / "asked.txt").exists()


def test_not_asked(prepared, kragx, jsonl):
    """A results file is not asked, so it has no runs; those of all leave it alone."""
    jsonl(*({**row, "retrieved": []} for row in GOLD), name="results.jsonl")
    (prepared / "run.yaml").write_text(
        "dataset: gold.jsonl\nruns: 2\nretrievers: {file: results.jsonl}\nmatch: id\n"
    )
    assert kragx("run", "run.yaml").code == 0
    text = "dataset: gold.jsonl\nretrievers: {file: {results: results.jsonl, runs: 2}}\nmatch: id\n"
    (prepared / "run.yaml").write_text(text)
    done = kragx("run", "run.yaml")
    assert (done.code, "'runs' belongs to 'class'" in done.err) == (2, True)


def test_explained(prepared, kragx):
    """Why a question's gold was found in one run and not in another, each under its name."""
    kragx("run", "run.yaml")
    done = kragx("explain", "out", "-q", "q2", "--retriever", "agent", "--format", "json")
    assert done.code == 0
    names = [each["retriever"] for each in json.loads(done.out)["runs"]]
    assert names == ["agent", "agent (run 2)", "agent (run 3)"]


def test_logged_runs(prepared, kragx, jsonl):
    """Results files of several runs are one retriever, as those that are asked, and stand again."""
    for number, found in enumerate(("g1", "x"), start=1):
        rows = ({**row, "retrieved": [{"id": found}]} for row in GOLD)
        jsonl(*rows, name=f"run{number}.jsonl")
    text = "dataset: gold.jsonl\nmatch: id\nmetrics: [recall@1]\noutput: out\n"
    files = "retrievers: {logged: {results: [run1.jsonl, run2.jsonl]}}\n"
    (prepared / "run.yaml").write_text(text + files)
    assert kragx("run", "run.yaml").code == 0
    logged = report(prepared)["logged"]
    assert (logged["mean"]["recall@1"], logged["runs"]["mean"]["recall@1"]) == (0.125, [0.25, 0])
    again = json.loads(kragx("report", "out", "--format", "json").out)["evaluations"]
    assert again[0]["runs"] == logged["runs"]
    (prepared / "run.yaml").write_text(text + "retrievers: {logged: {results: [run1.jsonl]}}\n")
    done = kragx("run", "run.yaml")
    assert (done.code, "retrievers.logged.results" in done.err) == (2, True)


def test_more_runs_keep_those_before(prepared, kragx):
    """How many runs there are is no part of what an answer depends on."""
    from kragx.app.config import RetrieverConfig
    from kragx.app.retrieving.fingerprint import Fingerprints

    two, five = (
        Fingerprints(prepared).of(RetrieverConfig.read({"class": "toy_agent:make", "runs": n}))
        for n in (2, 5)
    )
    assert two == five
