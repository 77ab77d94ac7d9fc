"""`kragx gold questions --from model`: counted, written, submitted, killed and gone on with."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from kragx import read_dataset
from tests.judging.server import serving
from tests.workshop.questions.model import Writer, corpus

COMMAND = ("gold", "questions", "c.yaml", "--from", "model", "--unanswerable", "0")


def config(folder, base_url, n=12, **judge):
    """A config without retrievers or a gold set, and its corpus."""
    lines = corpus(n, source=lambda at: f"file{at // 3}")
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    own = {"model": "local-judge", "base_url": base_url, **judge}
    (folder / "c.yaml").write_text(f"dataset: {{corpus: corpus.jsonl}}\njudge: {json.dumps(own)}\n")


@pytest.mark.integration
def test_dry_run_and_budget(kragx, here):
    """A dry run counts and asks nothing; a budget stops, keeps what was got, and it goes on."""
    with serving(handler=Writer) as server:
        prices = {"local-judge": {"input": 1, "output": 2}}
        config(here, server.base_url, prices=prices)
        code, out, _ = kragx(*COMMAND, "-n", "6", "--several", "0", "--dry-run")
        assert (code, server.requests) == (0, [])
        assert "in all 18 calls to local-judge" in out
        asked = (*COMMAND, "-n", "6", "--several", "0", "-o", "q.jsonl")
        code, _, problems = kragx(*asked, "--set", "judge.budget={calls: 5}")
        assert (code, len(server.requests)) == (4, 5), problems
        assert not (here / "q.jsonl").exists()
        code, out, _ = kragx(*asked)
        assert (code, len(server.requests)) == (0, 18), out
        assert "6 of 6 questions, made from 6 documents" in out
        assert "from the store: 5 of 18" in out
        assert len(read_dataset("q.jsonl")) == 6
        code, _, problems = kragx(*asked)
        assert (code, "q.jsonl exists" in problems) == (2, True)


@pytest.mark.integration
def test_what_fell_and_what_exists(kragx, here):
    """The config's gold set counts as what exists; JSON has the counts of what fell."""
    with serving(handler=Writer) as server:
        config(here, server.base_url, n=6)
        asked = (*COMMAND, "--several", "0", "-n", "6")
        assert kragx(*asked, "-o", "gold.jsonl").code == 0
        text = (here / "c.yaml").read_text()
        (here / "c.yaml").write_text(text.replace("{corpus", "{path: gold.jsonl, corpus"))
        result = kragx(*asked, "-o", "more.jsonl", "--format", "json")
        assert (result.code, {*result.json()["fell"]}) == (0, {"asked already"})
        before = {query.text for query in read_dataset("gold.jsonl")}
        assert before.isdisjoint(query.text for query in read_dataset("more.jsonl"))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--from", "templates", "--several", "1"), "--several: of no use with --from templates"),
        (("--from", "templates", "--dry-run"), "--dry-run: of no use"),
        (("--from", "model", "--most-per-template", "2"), "--most-per-template: of no use"),
        (("--from", "model"), "KRAGX_JUDGE_MODEL"),
        (("--set", "judge.model=x"), "--set: belongs to the config of --from model"),
    ],
)
def test_wrong_use(kragx, here, monkeypatch, options, problem):
    """An option of the other way, and what cannot be asked, are said before anything is read."""
    monkeypatch.delenv("KRAGX_JUDGE_MODEL", raising=False)
    config(here, "http://127.0.0.1:9/v1")
    code, _, problems = kragx("gold", "questions", "--corpus", "corpus.jsonl", "-o", "q", *options)
    assert (code, problem in problems) == (2, True), problems


def test_no_corpus(kragx, here):
    """A config without one is told where to name it."""
    (here / "c.yaml").write_text("judge: {model: m}\n")
    code, _, problems = kragx("gold", "questions", "c.yaml", "--from", "model", "-o", "q.jsonl")
    assert (code, "--corpus" in problems) == (2, True), problems


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_it_goes_on(tmp_path):
    """Killed in the middle, it asks only for what is not stored; no half file is left."""

    def command():
        return subprocess.Popen(
            [sys.executable, "-m", "kragx", *COMMAND, "-n", "12", "-o", "q.jsonl"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with serving(delay=0.03, handler=Writer) as server:
        config(tmp_path, server.base_url, concurrency=2)
        process = command()
        while len(server.requests) < 20:  # it is checking by then
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert not (tmp_path / "q.jsonl").exists()
        process = command()
        out, problems = process.communicate()
        assert process.returncode == 0, problems
        keys = {json.dumps(request["messages"]) for request in server.requests}
        assert len(server.requests) <= len(keys) + 4  # what was in flight, or just answered
    assert "12 of 12 questions" in out
    assert len(read_dataset(str(tmp_path / "q.jsonl"))) == 12


def test_templates_take_a_config_as_data(kragx, here):
    """Without a model of its config only `dataset` counts: nothing else is run."""
    lines = [
        {"id": f"d{at}", "text": f"You may return the opened box {at}. The opened box is checked."}
        for at in range(3)
    ]
    (here / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (here / "c.yaml").write_text(
        "dataset: {corpus: corpus.jsonl, targets: {difficulty: {easy: 1.0}}}\n"
        "judge: {client: 'no_such_module:client'}\n"
    )
    result = kragx("gold", "questions", "c.yaml", "-n", "2", "-o", "q.jsonl", "--format", "json")
    assert result.code == 0, result.err
    assert result.json()["targets"]["difficulty"] == {"easy": 1.0}
    assert kragx("gold", "questions", "c.yaml", "--from", "model", "-o", "x.jsonl").code == 2
