"""Grids in a config: planned, asked, compared, kept and read again."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from tests.report.test_page import parts
from tests.thoroughness import some

GOLD = [
    {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"id": f"g{n}"}]} for n in range(1, 41)
]
RETRIEVER = """
from pathlib import Path
from langchain_core.runnables import RunnableLambda
from langchain_core.documents import Document

def make(skill, k=3, broken=()):
    def ask(question):
        n = int(question.split()[1])
        with open("log", "a") as file:
            print(skill, k, n, file=file)
        stopped = Path("stop").exists() and skill == 9
        if (stopped or skill in broken) and n > 20:
            raise RuntimeError("no more")
        first = "g" if n % 10 < skill else "x"
        names = [f"{first}{n}", *(f"n{n}-{place}" for place in range(9))]
        return [Document(id=name, page_content=f"text {name}") for name in names[:k]]
    return RunnableLambda(ask)
"""


@pytest.fixture
def config(here, jsonl, module, kragx):
    """Write a config with a grid; its parts can be replaced."""
    module("toy", RETRIEVER)
    jsonl(*GOLD, name="gold.jsonl")

    def write(grid, *, args=None, **more):
        retriever = {"class": "toy:make", "args": {**(args or {}), "grid": grid}}
        retriever |= more.pop("retriever", {})
        plain = {
            "dataset": "gold.jsonl",
            "retrievers": {"r": retriever},
            "match": "id",
            "metrics": ["hit_rate@3", "mrr@10"],
            "statistics": {"resamples": 500},
            "output": "out",
            "html": False,
            **more,
        }
        path = here / "grid.yaml"
        path.write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")
        return path

    return write


@pytest.mark.integration
def test_a_grid_runs_and_says_which_to_take(config, here, kragx):
    """The screen, report.json and report.md say it; a finished folder says the same once more."""
    path = config({"skill": [2, 9], "k": [2, 3]})
    outcome = kragx("run", path)
    assert outcome.code == 0, outcome.err
    assert "grid of r: 4 settings (skill 2 x k 2): 160 asks" in outcome.err
    assert (
        "Take r[skill=9, k=2]: the best of 4 settings; of the others 1 cannot be told"
        in " ".join(outcome.out.split())
    )
    report = json.loads((here / "out/report.json").read_text())
    (tuning,) = report["tunings"]
    assert tuning["take"] == "r[skill=9, k=2]"
    assert [own["name"] for own in tuning["settings"] if own["told_apart"]] == [
        "r[skill=2, k=2]",
        "r[skill=2, k=3]",
    ]
    assert report["config"]["retrievers"]["r"]["args"]["grid"] == {"skill": [2, 9], "k": [2, 3]}
    markdown = (here / "out/report.md").read_text().replace("\\", "")
    assert tuning["sentence"] in markdown
    again = kragx("report", here / "out", "--format", "json").json()
    assert again["tunings"] == report["tunings"]


@pytest.mark.integration
def test_the_summary_of_a_job_takes_what_the_screen_takes(config, here, kragx):
    """Of twenty settings twelve stand there, with the sentence; no verdict names another one."""
    path = config({"skill": [*range(10)], "k": [3, 4]})
    shown = kragx("run", str(path), "--summary", "summary.md")
    (sentence,) = [line for line in shown.out.splitlines() if line.startswith("Take r[")]
    summary = (here / "summary.md").read_text(encoding="utf-8").replace("\\", "")
    assert sentence.split(".")[0] in summary
    assert len(re.findall(r"^\| \**`r\[", summary, re.MULTILINE)) == 12
    assert "which retriever is best" not in summary
    assert "Use r[" not in summary


def test_no_file_names_another_setting_to_take(config, here, kragx):
    """Where another setting is best over all questions, that is said beside the one verdict.

    Of 40 questions eight tell the two apart, which decides; of half of them that does not.
    """
    outcome = kragx("run", config({"skill": [7, 9]}, html=True))
    assert outcome.code == 0, outcome.err
    report = json.loads((here / "out/report.json").read_text(encoding="utf-8"))
    (tuning,), (comparison,) = report["tunings"], report["comparisons"]
    assert tuning["take"] == "r[skill=7]"
    assert comparison["overall"]["leaders"]["hit_rate@3"]["decided"]
    verdict, beside, *others = comparison["recommendations"]
    assert verdict["text"] == tuning["sentence"]
    assert beside["text"].startswith("Over all questions, those that chose among them, r[skill=9]")
    assert {"winner", "no_winner", "cost"}.isdisjoint(own["kind"] for own in others)
    markdown = (here / "out/report.md").read_text(encoding="utf-8").replace("\\", "")
    (standing,) = parts(here / "out/report.html")["index"]["standings"].values()
    assert [own["kind"] for own in standing["advice"]][:2] == ["setting", "over_all"]
    for text in (outcome.out, markdown):
        assert "Use r[" not in text
        assert beside["text"] in " ".join(text.split())


def test_a_grid_that_finds_nothing_says_where_to_look(config, here, kragx):
    """That gold and matcher come before any setting is on the screen, beside the verdict."""
    outcome = kragx("run", config({"skill": [0, -1]}))
    said = " ".join(outcome.out.split())
    assert "Cannot tell: on 20 questions none of 2 settings is told from the best" in said
    assert "None found anything: hit_rate@3 is 0 for every retriever" in said


def test_a_dry_run_asks_nothing(config, here, kragx):
    """It counts, names each setting, and neither asks nor writes."""
    path = config({"skill": [2, 9]}, retriever={"repeat": 2})
    outcome = kragx("run", path, "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "2 settings (skill 2): 160 asks" in outcome.out
    assert "- r[skill=9]" in outcome.out
    assert not (here / "log").exists()
    assert not (here / "out").exists()


def test_an_interrupted_grid_goes_on(config, here, kragx):
    """What each setting has answered is kept: only the other questions of one are asked."""
    log, stop = here / "log", here / "stop"
    stop.touch()
    path = config({"skill": [2, 9]}, retriever={"on_error": "stop"})
    assert kragx("run", path).code != 0
    stop.unlink()
    log.write_text("")
    outcome = kragx("run", path)
    assert outcome.code == 0, outcome.err
    assert [line.split()[2] for line in log.read_text().splitlines()] == list(
        map(str, range(21, 41))
    )
    assert "r[skill=2]: 40 of 40 answers are kept" in outcome.err


def test_a_setting_that_fails_is_told_and_not_taken(config, kragx):
    """The best one fails on half of the questions: another is taken, and the exit code is 5."""
    outcome = kragx("run", config({"skill": [2, 5, 9]}, args={"broken": [9]}))
    assert outcome.code == 5
    assert "Take r[skill=5]" in " ".join(outcome.out.split())
    assert "not comparable, as failed: r[skill=9]" in outcome.err


@pytest.mark.parametrize(
    ("grid", "more", "said"),
    some(
        [
            ({"skil": [1]}, {}, "unknown argument 'skil'; perhaps you meant 'skill'?"),
            (
                {"skill": 1},
                {},
                "retrievers.r.args.grid.skill: a list of values is expected; write [1]",
            ),
            ({"skill": [*range(101)]}, {}, "101 settings, more than max_settings (100)"),
            ({"skill": [1]}, {"baseline": "r"}, "baseline: 'r' is no retriever"),
            ({"skill": [1]}, {"tuning": {"metric": "ndcg@5"}}, "is none of metrics"),
            ({"skill": [1]}, {"tuning": {"metrc": "ndcg@5"}}, "tuning.metrc: unknown key"),
            (
                {"skill": [1]},
                {"match": {"method": "rouge2", "grid": {"threshold": [2]}}},
                "2 is out",
            ),
            (
                {"skill": [1]},
                {"match": {"method": "rouge2", "grid": 3}},
                "match.grid: for each axis",
            ),
            (
                {"skill": [1]},
                {"facts_match": {"method": "text", "grid": {"a": [1]}}},
                "facts_match.grid",
            ),
        ],
        4,
    ),
)
def test_what_is_wrong_is_said_before_anything_is_asked(config, here, kragx, grid, more, said):
    """One message, with the field, the value and the remedy; exit code 2."""
    outcome = kragx("run", config(grid, **more))
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.err.count(said) == 1
    assert not (here / "log").exists()


@pytest.mark.integration
def test_matcher_settings_score_once_and_say_what_depends_on_them(here, jsonl, kragx, monkeypatch):
    """Thresholds decide what is scored once, with the numbers of a run of their own."""
    from kragx.app import evaluating

    gold = [
        {"query_id": f"q{n}", "query": f"q {n}", "gold": [{"text": f"one two three four {n}"}]}
        for n in range(9)
    ]
    jsonl(*gold, name="gold.jsonl")
    rows = [
        {
            "query_id": f"q{n}",
            "retrieved": [{"text": f"one two three five {n}"}, {"text": f"one two three four {n}"}],
        }
        for n in range(9)
    ]
    jsonl(*rows, name="a.jsonl")
    jsonl(*[{**row, "retrieved": row["retrieved"][::-1]} for row in rows], name="b.jsonl")
    calls = []
    evaluate_run = evaluating.evaluate_run
    monkeypatch.setattr(
        evaluating, "evaluate_run", lambda *args, **kw: calls.append(1) or evaluate_run(*args, **kw)
    )

    def run(match, output):
        plain = {
            "dataset": "gold.jsonl",
            "retrievers": {"a": "a.jsonl", "b": "b.jsonl"},
            "match": match,
            "metrics": ["mrr@2"],
            "output": output,
        }
        (here / "c.yaml").write_text(yaml.safe_dump(plain, sort_keys=False))
        outcome = kragx("run", here / "c.yaml")
        assert outcome.code == 0, outcome.err
        return json.loads((here / output / "report.json").read_text()), outcome.out

    report, out = run({"method": "rouge2", "grid": {"threshold": [0.4, 0.6, 0.9]}}, "grid")
    assert len(calls) == 2
    for place, threshold in enumerate([0.4, 0.6, 0.9]):
        alone, _ = run({"method": "rouge2", "threshold": threshold}, f"alone{place}")
        for own, other in zip(report["evaluations"][2 * place :], alone["evaluations"]):
            assert {**own, "match": ""} == {**other, "match": ""}
    (of_grid,) = report["matcher_grids"]
    names = [f"rouge2[threshold={threshold}]" for threshold in (0.4, 0.6, 0.9)]
    assert of_grid["of_grid"]["settings"] == names
    assert "labels do" in out
    assert report["tunings"] == []
