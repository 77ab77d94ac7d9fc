"""Drift of a judge: the same pairs judged again later."""

from __future__ import annotations

import json

import pytest

from kragx import evaluate
from kragx.judging import Judge, Store
from kragx.judging.store.drift import drift
from kragx.testing import ScriptedClient
from tests.app.commands.conftest import kragx

__all__ = ["kragx"]

GOLD = [["gold a"], ["gold b"]]
RUN = [["one", "two"], ["three", "four"]]


@pytest.fixture
def judged(tmp_path):
    """Have a model judge the four pairs, grades in the order of the documents."""

    def judged(model, grades, run=RUN, **options):
        named = dict(zip(("one", "two", "three", "four", "five"), grades))

        def reply(request):
            asked = request.messages[-1][1]
            return next(grade for text, grade in named.items() if text in asked)

        judge = Judge(
            ScriptedClient(reply, model=model), store=tmp_path / "store.sqlite", **options
        )
        match = {"method": "llm", "mode": "support", "judge": judge}
        evaluate(GOLD, run, match=match, metrics=["mrr@5"])

    return judged


def stored(tmp_path):
    """What the store says."""
    with Store(tmp_path / "store.sqlite", make=False) as store:
        return drift(store.records())


def test_by_hand(judged, tmp_path):
    """Of four pairs two have another grade, one of them across 2; up by (1 - 2) / 4 on average."""
    judged("old", (3, 0, 1, 2))
    judged("new", (3, 1, 1, 0))
    (own,) = stored(tmp_path)
    assert (own.earlier, own.later) == ("old, support-en-1", "new, support-en-1")
    assert (own.n_pairs, own.n_changed, own.n_crossed) == (4, 2, 1)
    assert (own.changed_share, own.mean_change) == (0.5, -0.25)
    assert own.earlier_at <= own.later_at
    assert "2 of 4 grades changed (50.0%), 1 across grade 2" in str(own)


def test_pairs_that_both_have(judged, tmp_path):
    """Only common pairs count, against the latest earlier judge that has graded some of them."""
    judged("first", (3, 3, 3, 3))
    judged("second", (0, 3, 3, 3, 2), run=[["one"], ["five"]])
    judged("third", (1, 1, 1, 1, 2), run=[["two"], ["five"]])
    found = {own.later.partition(",")[0]: own for own in stored(tmp_path)}
    assert (found["second"].n_pairs, found["second"].n_changed) == (1, 1)
    assert found["third"].earlier.startswith("second")
    assert (found["third"].n_pairs, found["third"].n_changed) == (1, 0)


def test_nothing_again(judged, tmp_path):
    """One judge, and one asked again for what it has judged, are no drift."""
    judged("only", (3, 0, 1, 2))
    judged("only", (0, 0, 0, 0))
    assert stored(tmp_path) == ()


def test_the_grade_that_results_have(judged, tmp_path):
    """Of two grades by one judge, as of two processes that could not see each other, the first."""
    judged("old", (3, 0, 1, 2))
    judged("new", (3, 0, 1, 2))
    with Store(tmp_path / "store.sqlite", make=False) as store:
        records = list(store.records())
    (drifted,) = drift([*records, *({**own, "grade": 3} for own in records[4:])])
    assert (drifted.n_pairs, drifted.n_changed) == (4, 0)


@pytest.mark.integration
def test_the_command(judged, tmp_path, kragx, monkeypatch):
    """`kragx history --store` shows it below the runs, in the table, JSON and the page."""
    monkeypatch.chdir(tmp_path)
    judged("old", (3, 0, 1, 2))
    judged("new", (3, 1, 1, 0))
    line = {"query_id": "q1", "query": "a?", "gold": [{"id": "g"}], "retrieved": [{"id": "g"}]}
    (tmp_path / "run.jsonl").write_text(json.dumps(line))
    (tmp_path / "run.yaml").write_text(
        "dataset: run.jsonl\nretrievers: {one: run.jsonl}\nmatch: id\n"
    )
    assert kragx("run", "run.yaml", "-o", "results/a").code == 0
    command = ("history", "results", "--store", "store.sqlite")
    out = kragx(*command, "--html", "page.html", "--language", "ko").out
    assert "2 (50.0%)" in out
    assert kragx(*command, "--format", "json").json()["drift"][0]["n_changed"] == 2
    page = (tmp_path / "page.html").read_text()
    assert "2 (50.0%)" in page
    assert "판정자의 변화" in page
    outcome = kragx("history", "results", "--store", "none.sqlite")
    assert (outcome.code, "none.sqlite" in outcome.err) == (3, True)
