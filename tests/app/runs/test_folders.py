"""Result folders: recomputed without retrieving, and gone on from after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

from kragx.app import config, pipeline
from tests.thoroughness import some

GOLD = [
    {
        "query_id": f"q{number}",
        "query": f"question {number}",
        "gold": [{"id": f"g{number}", "text": f"the gold text number {number} is here"}],
        "metadata": {"facts": [f"number {number}"]},
    }
    for number in range(1, 7)
]
RETRIEVERS = '''
import os, time
from pathlib import Path

def good(question):
    with Path("asked.txt").open("a") as file:
        file.write(question + "\\n")
    number = question.split()[1]
    return [{"id": f"g{number}", "text": f"the gold text number {number} is here", "score": 0.5,
             "metadata": {"source": "s", "expanded": True}}]

def killed(question):
    """Ends the process without a word, as a kill does, at the fourth question."""
    answer = good(question)
    if question == "question 4" and not Path("revived").exists():
        os._exit(9)
    return answer

def broken(question):
    raise OSError("no index")

def slow(question):
    time.sleep(30)

def empty(question):
    return []

def twice(question):
    return good(question) * 3

def handler():
    from langchain_core.callbacks import BaseCallbackHandler
    class Trace(BaseCallbackHandler):
        def on_chain_start(self, serialized, inputs, **kwargs):
            with Path("traced.txt").open("a") as file:
                file.write(f"{inputs}\\n")
    return Trace()

def runnable():
    from langchain_core.runnables import RunnableLambda
    return RunnableLambda(good)
'''
CONFIG = """
dataset: {path: gold.jsonl, version: 2026-01-31}
retrievers:
  mine: {class: 'toy_runs:NAME'}
matchers: {loose: overlap, strict: exact}
metrics: [mrr@5, recall@5, judged@5, source_diversity@5, context_relevance, context_completeness@5,
          seconds_mean, throughput]
output: out
"""


@pytest.fixture
def prepared(jsonl, module, here, monkeypatch):
    """Gold set, retrievers and config in the test's own folder."""
    monkeypatch.syspath_prepend(str(here))
    jsonl(*GOLD, name="gold.jsonl")
    module("toy_runs", RETRIEVERS)

    def call(name, text=CONFIG):
        text = text.replace("NAME", name)
        (here / "run.yaml").write_text(text, encoding="utf-8")
        return here

    return call


def asked(folder):
    """The questions that were asked, in order."""
    path = folder / "asked.txt"
    return [line[-1] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.integration
@pytest.mark.parametrize("name", ["good", "broken", "empty", "twice"])
def test_report_recomputes_every_number(prepared, kragx, name):
    """`kragx report` gives the report that the run wrote, without asking or the gold file."""
    here = prepared(name)
    code = 5 if name == "broken" else 0
    assert kragx("run", "run.yaml").code == code
    before = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))
    (here / "gold.jsonl").unlink()
    (here / "toy_runs.py").unlink()
    n_asked = len(asked(here))
    shown = kragx("report", "out", "--format", "json")
    assert shown.code == code
    after = json.loads(shown.out)
    for old, new in zip(before["evaluations"], after["evaluations"], strict=True):
        assert new == old
    assert len(asked(here)) == n_asked
    assert "sha256" in kragx("report", "out").out


@pytest.mark.parametrize(
    ("name", "code", "options", "hint"),
    some(
        [
            ("broken", 5, "", "failed on 6 of 6 questions, so it is not comparable"),
            ("slow", 5, ", timeout: 0.05, concurrency: 6", "no answer within 0.05 s"),
            ("empty", 0, "", "queries answered with an empty list: 6"),
            ("twice", 0, "", "documents that stand twice in a list: 12"),
        ],
        2,
    ),
)
def test_bad_retrievers_say_so(prepared, kragx, name, code, options, hint):
    """A broken, a slow, an empty and a duplicating retriever each give a result that says it."""
    text = CONFIG.replace("'toy_runs:NAME'", f"'toy_runs:{name}'{options}")
    prepared(name, text=text)
    outcome = kragx("run", "run.yaml")
    assert outcome.code == code, outcome.err
    assert hint in outcome.out


def test_stop_on_error(prepared, kragx):
    """With on_error: stop the run ends with 5 and names retriever, query and reason."""
    prepared("broken", text=CONFIG.replace("NAME'", "NAME', on_error: stop"))
    code, _, err = kragx("run", "run.yaml")
    assert code == 5
    assert "retrievers.mine: query 'q1'" in err
    assert "no index" in err


@pytest.mark.integration
def test_killed_and_started_again(prepared, kragx):
    """After a kill half way the next run asks only what is left, and its numbers are whole."""
    here = prepared("killed")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    command = [sys.executable, "-m", "kragx", "run", "run.yaml"]
    first = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert first.returncode == 9
    partial = here / "out.unfinished" / "answers" / "mine.jsonl"
    with partial.open("a", encoding="utf-8") as file:
        file.write('{"query_id": "q4", "retr')  # the line at which the power went
    (here / "revived").touch()
    (here / "asked.txt").unlink()
    assert kragx("run", "run.yaml").code == 0
    assert asked(here) == ["4", "5", "6"]
    assert not partial.exists()
    report = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))
    for evaluation in report["evaluations"]:
        assert evaluation["mean"]["mrr@5"] == 1.0
        assert evaluation["counts"]["n_failed"] == evaluation["counts"]["n_missing"] == 0
        assert evaluation["counts"]["metrics"]["seconds_mean"] == {"n_scored": 6}


@pytest.mark.integration
def test_retrievers_whose_names_are_those_of_kept_answers(prepared, kragx):
    """Retrievers named `a` and `a.partial` keep their results."""
    here = prepared("good", CONFIG.replace("mine:", "a.partial: {class: 'toy_runs:empty'}\n  a:"))
    assert kragx("run", "run.yaml").code == 0
    kept = sorted(path.name for path in (here / "out" / "results").glob("*.jsonl"))
    assert kept == ["a.jsonl", "a.partial.jsonl"]
    assert kragx("report", "out").code == 0


@pytest.mark.integration
def test_what_decides_how_a_question_fails_goes_on(prepared, kragx, here):
    """Who ends a run at a failure, and raises timeout and retries, loses no answer."""
    prepared("killed", text=CONFIG.replace("NAME'", "NAME', timeout: 9, on_error: stop"))
    command = [sys.executable, "-m", "kragx", "run", "run.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    (here / "revived").touch()
    (here / "asked.txt").unlink()
    prepared("killed", text=CONFIG.replace("NAME'", "NAME', timeout: 30, retries: 2"))
    assert kragx("run", "run.yaml").code == 0
    assert asked(here) == ["4", "5", "6"]


@pytest.mark.integration
def test_a_report_that_cannot_be_written_loses_no_answer(prepared, kragx, here):
    """If the earlier results turn out not to be comparable, the next run asks nothing again."""
    prepared("good")
    assert kragx("run", "run.yaml", "-o", "before").code == 0
    (here / "asked.txt").unlink()
    other = ("run", "run.yaml", "--earlier", "before", "--set", "no_gold=zero")
    refused = kragx(*other)
    assert refused.code == 2
    assert "queries without gold are treated differently" in refused.err
    assert asked(here) == ["1", "2", "3", "4", "5", "6"]
    assert kragx(*other, "--anyway").code == 0
    assert asked(here) == ["1", "2", "3", "4", "5", "6"]
    assert not (here / "out.unfinished" / "answers" / "mine.jsonl").exists()


@pytest.mark.parametrize(
    ("more", "hints"),
    [
        ("slices: [metadata.fact]", ["slices: no query has a value of 'metadata.fact'"]),
        (
            "  a: {class: 'toy_runs:god'}\n  b: {class: 'toy_runs:handler', args: {x: 1}}\n"
            "  c: {class: 'toy_runs:good', callbacks: ['toy_run:handler']}\n",
            [
                "retrievers.a: toy_runs:god: 'toy_runs' has no 'god'; perhaps you meant 'good'?",
                "retrievers.b: toy_runs:handler: unknown argument 'x'; it takes none",
                "retrievers.c: toy_run:handler: cannot import 'toy_run'",
            ],
        ),
        ("  old: {results: gold.jsonl}\n", ["retrievers.old.results: ", "this is a gold file"]),
        ("  old: {run: old.run}\n", ["retrievers.old.run: ", "No such file"]),
    ],
)
def test_what_can_be_wrong_is_said_before_anything_is_asked(prepared, kragx, here, more, hints):
    """Slices, import paths, arguments and files are looked at first, and mistakes said at once."""
    text = CONFIG.replace("matchers:", more + "matchers:") if more[0] == " " else CONFIG + more
    prepared("good", text=text)
    outcome = kragx("run", "run.yaml")
    assert outcome.code in (2, 3)
    for hint in hints:
        assert hint in outcome.err
    assert asked(here) == []


def test_the_config_is_printed_first_and_kept(prepared, kragx, here):
    """The config that is printed has every default, and is the one that the folder keeps."""
    prepared("good")
    out = kragx("run", "run.yaml", "--full", "-o", "other").out
    kept = yaml.safe_load((here / "other" / "config.yaml").read_text(encoding="utf-8"))
    head = out[: out.index("\ngold\n")]
    assert yaml.safe_load(head) == kept
    assert kept["retrievers"]["mine"]["on_error"] == "record"
    assert kept["output"] == str(here / "other")


def test_a_folder_that_is_none(kragx, here):
    """A folder that no run has written is answered with what one is."""
    code, _, err = kragx("report", ".")
    assert code == 3
    assert "no result folder" in err


@pytest.mark.integration
def test_other_metrics_go_on(prepared, kragx, here):
    """Other metrics and matchers do not throw the answers away."""
    prepared("killed")
    command = [sys.executable, "-m", "kragx", "run", "run.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    (here / "revived").touch()
    (here / "asked.txt").unlink()
    assert kragx("run", "run.yaml", "--set", "metrics=[ndcg@3]").code == 0
    assert asked(here) == ["4", "5", "6"]


def test_trec_run_and_callbacks_by_import_path(prepared, kragx, here):
    """A TREC run stands beside a LangChain runnable that is traced by an import path."""
    lines = (f"q{number} Q0 g{number} 1 0.5 tag\n" for number in range(1, 7))
    (here / "old.run").write_text("".join(lines), encoding="utf-8")
    prepared(
        "x",
        text="""
dataset: gold.jsonl
retrievers:
  old: {run: old.run}
  new:
    class: toy_runs:runnable
    args: {}
    callbacks: ['toy_runs:handler']
match: id
metrics: [mrr@5]
""",
    )
    report = pipeline.run(config.load(here / "run.yaml"))
    assert [each["mrr@5"] for each in report.evaluations] == [1.0, 1.0]
    assert report.evaluations[0].settings["run"]["run"].endswith("old.run")
    assert len((here / "traced.txt").read_text().splitlines()) == 6


def test_trec_files_as_they_come(kragx, here):
    """BEIR's qrels, a tag of several words and infinite scores: in commands, page and Markdown.

    What was counted while the run was read, and its scores, are there when the folder is read.
    """
    qrels = [f"q{number}\tg{number}\t1" for number in range(1, 7)]
    (here / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *qrels]))
    lines = (f"q{n} Q0 x 1 3e38 a b\nq{n} Q0 g{n} 9 inf a b\n" for n in range(1, 7))
    (here / "a.txt").write_text("".join(lines))
    said = "lines of the run with more than six columns: 12 (what follows the tag is ignored"
    scored = kragx("score", "--qrels", "test.tsv", "--run", "a.txt", "-m", "recip_rank")
    assert scored.code == 0
    assert "1.0000" in scored.out
    assert said in " ".join(scored.out.split())
    (here / "run.yaml").write_text(
        "dataset: test.tsv\nretrievers: {a: {run: a.txt}}\nmetrics: [mrr@5]\nprofile: trec\n"
        "output: out\n"
    )
    assert said in " ".join(kragx("run", "run.yaml").out.split())
    assert said in (here / "out" / "report.md").read_text()
    again = kragx("report", "out", "--format", "json").json()["evaluations"][0]
    assert (again["mean"]["mrr@5"], again["counts"]["n_longer_lines"]) == (1.0, 12)


@pytest.mark.parametrize("missing", some(["config.yaml", "gold.jsonl", "results/mine.jsonl"], 3))
def test_folder_that_lacks_a_file(prepared, kragx, missing):
    """A folder from which a file was taken is bad data, and the file is named."""
    here = prepared("good")
    assert kragx("run", "run.yaml").code == 0
    (here / "out" / missing).unlink()
    code, _, err = kragx("report", "out")
    assert code == 3
    assert missing.rpartition("/")[2] in err
