"""How a run came about: date, duration, commit and uncommitted changes, resumed or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kragx import evaluate
from kragx.ground.printing import duration
from tests.report.test_page import parts
from tests.sealing import reseal
from tests.thoroughness import all_cases

GOLD = [
    {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"id": f"g{n}"}]} for n in range(1, 7)
]
RETRIEVERS = '''
import os
from pathlib import Path

def good(question):
    return [{"id": "g" + question.split()[1]}]

def killed(question):
    """Ends the process, as a kill does, at the fourth question."""
    if question == "question 4" and not Path("revived").exists():
        os._exit(9)
    return good(question)
'''
CONFIG = """
dataset: gold.jsonl
retrievers:
  one: {class: 'toy_record:NAME'}
  two: {class: 'toy_record:good'}
match: id
metrics: [mrr@5]
statistics: {seed: 7, resamples: 200}
output: out
"""


@pytest.fixture
def prepared(jsonl, module, here, monkeypatch):
    """Gold set, retrievers and config in the test's own folder, which is no repository."""
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(here.parent))
    jsonl(*GOLD, name="gold.jsonl")
    module("toy_record", RETRIEVERS)
    (here / "run.yaml").write_text(CONFIG.replace("NAME", "good"))
    return here


def git(folder: Path, *args: str) -> str:
    """What git prints."""
    named = [f"{part}.{key}=x" for part in ("user",) for key in ("name", "email")]
    options = [word for value in named for word in ("-c", value)]
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *args], capture_output=True, check=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(prepared):
    """The same, committed; the caches that Python leaves are not ignored."""
    git(prepared, "init", "-q", "-b", "work")
    git(prepared, "add", ".")
    git(prepared, "commit", "-q", "-m", "all of it")
    return prepared


def record(folder: Path = Path("out")):
    """The record of a result folder."""
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))["record"]


def everywhere(kragx, folder: Path = Path("out")) -> list[str]:
    """What Markdown says, as it was written and written again, and the terminal."""
    shown = (
        kragx("report", folder, "--full").out,
        kragx("report", folder, "--format", "markdown").out,
    )
    return [(folder / "report.md").read_text().replace("\\", ""), *shown]


def test_a_clean_commit(repository, kragx):
    """Date, duration, commit and no changes, not resumed: JSON, page, Markdown and terminal."""
    before = datetime.now(UTC).replace(microsecond=0)
    assert kragx("run", "run.yaml", "--max-failed", "0.5").code == 0
    run = record()
    assert before <= datetime.fromisoformat(run["date"]) <= before + timedelta(minutes=1)
    assert 0 < run["seconds"] < 60
    assert (run["resumed"], run["kept"], run["config"]) == (False, {}, "run.yaml")
    assert run["git"] == {
        "commit": git(repository, "rev-parse", "HEAD"),
        "branch": "work",
        "n_changed": 0,
        "dirty": False,
    }
    assert parts(repository / "out" / "report.html")["index"]["record"] == run
    said = (
        f"took {duration(run['seconds'])}, not resumed; config run.yaml; git: commit "
        f"{run['git']['commit'][:12]} on work, no uncommitted changes."
    )
    for text in everywhere(kragx):
        assert said in " ".join(text.split()).replace("\\", "")
    assert "seed 7; max_failed 0.5." in Path("out", "report.md").read_text().replace("\\", "")
    written = json.loads(Path("out", "report.json").read_text())["config"]
    assert (written["statistics"]["seed"], written["max_failed"]) == (7, 0.5)


@pytest.mark.integration
def test_what_runs_leave_is_no_change(repository, kragx):
    """Results and caches, wherever, leave a commit clean; sources of whatever name do not."""
    assert kragx("run", "run.yaml").code == 0
    assert kragx("run", "run.yaml", "-o", "kept/monday").code == 0
    git(repository, "add", "kept")
    git(repository, "commit", "-q", "-m", "results too")
    (repository / "kept" / "monday" / "report.md").write_text("changed by hand")
    assert kragx("run", "run.yaml").code == 0
    assert record()["git"]["dirty"] is False
    (repository / "new module.py").touch()
    (repository / "run.yaml").write_text(CONFIG.replace("NAME", "good") + "# changed\n")
    assert kragx("run", "run.yaml").code == 0
    assert record()["git"]["dirty"] is True
    assert record()["git"]["n_changed"] == 2
    (repository / "out2").mkdir()
    (repository / "out2" / "more.py").touch()
    (repository / "outer.py").touch()
    assert kragx("run", "run.yaml").code == 0
    assert record()["git"]["n_changed"] == 4
    (repository / "out2" / "more.py").unlink()
    (repository / "outer.py").unlink()
    assert kragx("run", "run.yaml").code == 0
    for text in everywhere(kragx):
        said = "with uncommitted changes (2)."
        assert said in " ".join(text.split()).replace("\\", "")


def test_the_page_of_an_evaluation_in_python(repository, monkeypatch):
    """When it was evaluated and the commit of the current folder; another threshold keeps both."""
    monkeypatch.chdir(repository)
    results = evaluate([["one"]], {"good": [["one"]], "other": [["two"]]}, metrics=["mrr@5"])

    def written(own=results):
        own.report("page.html")
        return parts(Path("page.html"))["index"]["record"]

    begun = datetime.fromisoformat(written()["date"])
    assert abs(datetime.now(UTC) - begun) < timedelta(hours=1)
    for own in (results, results.compared(resamples=200), results.at_threshold(0.7)):
        record = written(own)
        assert datetime.fromisoformat(record["date"]) == begun
        assert record["git"]["commit"] == git(repository, "rev-parse", "HEAD")
        assert record["git"]["dirty"] is False  # but for the page
    (repository / "new.py").write_text("")
    assert written()["git"]["n_changed"] == 1


def test_before_the_first_commit(prepared, kragx):
    """A repository without a commit has none to name, and is dirty."""
    git(prepared, "init", "-q", "-b", "work")
    assert kragx("run", "run.yaml").code == 0
    assert (record()["git"]["commit"], record()["git"]["dirty"]) == (None, True)
    assert "git: no commit yet on work" in (prepared / "out" / "report.md").read_text()


def test_a_commit_by_itself(repository, kragx):
    """Where no branch is checked out, as in CI, the commit is named alone."""
    git(repository, "checkout", "-q", "--detach")
    assert kragx("run", "run.yaml").code == 0
    assert record()["git"]["branch"] is None
    assert f"commit {record()['git']['commit'][:12]}, no" in Path("out", "report.md").read_text()


@pytest.mark.parametrize("absent", ["repository", "git"])
def test_without_git(prepared, kragx, monkeypatch, absent):
    """No repository, or no git at all: unknown, said so, and no error."""
    if absent == "git":
        git(prepared, "init", "-q")
        monkeypatch.setenv("PATH", str(prepared))
    assert kragx("run", "run.yaml").code == 0
    assert record()["git"] is None
    assert all("git: no git repository known." in text for text in everywhere(kragx))


def test_a_config_from_elsewhere(repository, kragx, tmp_path_factory, monkeypatch):
    """The config's folder counts, not the current one, nor what a hook's environment names."""
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    monkeypatch.chdir(other)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert kragx("run", repository / "run.yaml").code == 0
    monkeypatch.delenv("GIT_DIR")
    made = record(repository / "out")["git"]
    assert (made["commit"], made["dirty"]) == (git(repository, "rev-parse", "HEAD"), False)


@pytest.mark.integration
def test_resumed(prepared, kragx):
    """Answers of an interrupted run are counted, with when it began; later runs have none."""
    (prepared / "run.yaml").write_text(CONFIG.replace("NAME", "killed"))
    command = [sys.executable, "-m", "kragx", "run", "run.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(prepared), *sys.path])}
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == 9
    kept = Path("out.unfinished/answers/one.jsonl")
    begun = json.loads(kept.read_text().splitlines()[0])["begun"]
    (prepared / "revived").touch()
    outcome = kragx("run", "run.yaml")
    made = record()
    assert made["resumed"]
    kept = {"n_answers": 3, "n_queries": 6, "begun": begun}
    assert made["kept"] == {"one": kept}
    assert datetime.fromisoformat(begun) <= datetime.fromisoformat(made["date"])
    assert parts(prepared / "out" / "report.html")["index"]["record"] == made
    said = "one: 3 of 6 answers are kept from an interrupted run that began on "
    for text in [outcome.out, *everywhere(kragx)]:
        assert said in " ".join(text.split())
    assert kragx("run", "run.yaml").code == 0
    assert (record()["resumed"], record()["kept"]) == (False, {})


@pytest.mark.integration
def test_it_changes_no_number(repository, kragx):
    """Two runs leave the same bytes but for the record, and reading a folder leaves that too."""
    reports = []
    for _ in range(2):
        assert kragx("run", "run.yaml").code == 0
        reports.append(json.loads(Path("out/report.json").read_text()))
    again = kragx("report", "out", "--format", "json").json()
    assert again["record"] == reports[1]["record"]
    first, second, third = ({**of, "record": None} for of in (*reports, again))
    assert json.dumps(first) == json.dumps(second)
    assert third["evaluations"] == first["evaluations"]
    assert third["comparisons"] == first["comparisons"]
    assert first["config"]["statistics"]["seed"] == 7


@pytest.mark.integration
def test_a_folder_without_a_record(prepared, kragx):
    """Where nothing was recorded that is said, by report and compare; nothing is made up."""
    assert kragx("run", "run.yaml").code == 0
    report = json.loads(Path("out/report.json").read_text())
    del report["record"]
    Path("out/report.json").write_text(json.dumps(report))
    reseal(Path("out"))
    assert kragx("report", "out", "--format", "json").json()["record"] is None
    said = "When and from which commit these results come is not recorded."
    assert said in kragx("report", "out", "--format", "markdown").out
    assert kragx("run", "run.yaml", "-o", "new", "--earlier", "out").code == 0
    assert "not recorded" in Path("new", "report.md").read_text()
    compared = " ".join(kragx("compare", "out", "new").out.split())
    assert f"out: {said} new: Run on " in compared


@pytest.mark.integration
def test_compare_says_what_it_compares(repository, kragx):
    """Each folder's date and commit stand above what changed; in JSON by folder."""
    assert kragx("run", "run.yaml", "-o", "old").code == 0
    git(repository, "commit", "-q", "--allow-empty", "-m", "next")
    assert kragx("run", "run.yaml", "-o", "new").code == 0
    records = kragx("compare", "old", "new", "--format", "json").json()["records"]
    assert records == {"old": record(Path("old")), "new": record(Path("new"))}
    assert records["old"]["git"]["commit"] != records["new"]["git"]["commit"]
    for shown in (
        kragx("compare", "old", "new"),
        kragx("compare", "old", "new", "--format", "markdown"),
    ):
        for name, of in records.items():
            assert f"{name}: Run on {of['date'][:10]}" in shown.out
            assert of["git"]["commit"][:12] in shown.out


def test_a_broken_record_is_bad_data(prepared, kragx):
    """A record that kragx did not write is refused with the file."""
    assert kragx("run", "run.yaml").code == 0
    report = json.loads(Path("out/report.json").read_text())
    Path("out/report.json").write_text(json.dumps({**report, "record": {"date": 5}}))
    reseal(Path("out"))
    outcome = kragx("report", "out")
    assert (outcome.code, "not a report that kragx wrote" in outcome.err) == (3, True)


@all_cases(
    ("seconds", "text"),
    [
        (0.0421, "0.042 s"),
        (1, "1.0 s"),
        (99.94, "99.9 s"),
        (200.4, "3 min 20 s"),
        (3780, "1 h 3 min"),
    ],
)
def test_durations(seconds: float, text: str):
    """As people say them."""
    assert duration(seconds) == text
