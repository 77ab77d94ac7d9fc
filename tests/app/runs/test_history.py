"""`kragx history`: the runs of a folder over time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.thoroughness import some

N = 40
CONFIG = """
dataset: gold.jsonl
retrievers: {one: {class: "toy_history:one", args: {lost: 0}}, two: two.jsonl}
match: {method: overlap, threshold: 0.5}
metrics: [mrr@5, hit_rate@5]
statistics: {resamples: 200}
html: false
"""
MODULE = """
class one:
    def __init__(self, lost):
        self.lost = lost
    def invoke(self, question):
        number = int(question.split()[1])
        if self.lost == "all":
            raise RuntimeError("no index")
        return ["nothing"] if number < self.lost else [f"the gold text number {number} of this set"]
"""


def gold(word: str = "the") -> list[dict]:
    """40 questions, each with its gold text."""
    return [
        {
            "query_id": f"q{n}",
            "query": f"question {n}",
            "gold": [{"text": f"{word} gold text number {n} of this set"}],
        }
        for n in range(N)
    ]


@pytest.fixture
def run(jsonl, module, here, kragx, monkeypatch):
    """Run into a folder of results, at a day of one's own."""
    monkeypatch.syspath_prepend(str(here))
    module("toy_history", MODULE)
    Path("run.yaml").write_text(CONFIG)
    days = iter(range(1, 29))

    def run(name, *settings, word="the", lost=0):
        jsonl(*gold(word), name="gold.jsonl")
        rows = [{**own, "retrieved": [{"text": own["gold"][0]["text"]}]} for own in gold(word)]
        jsonl(*rows, name="two.jsonl")
        sets = [
            part
            for own in (f"retrievers.one.args.lost={lost}", *settings)
            for part in ("--set", own)
        ]
        assert kragx("run", "run.yaml", "-o", f"results/{name}", *sets).code in (0, 5)
        dated(name, f"2026-01-{next(days):02}T09:00:00+09:00")

    return run


def edited(name: str, change) -> None:
    """Edit a run's report.json, and its manifest with it."""
    import hashlib

    folder = Path("results") / name
    report = json.loads((folder / "report.json").read_text())
    change(report)
    data = json.dumps(report).encode()
    (folder / "report.json").write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256(data).hexdigest()
    manifest["files"]["report.json"] = {"size": len(data), "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def dated(name: str, date: str) -> None:
    """Give a run another date."""
    edited(name, lambda report: report["record"].update(date=date))


@pytest.mark.integration
def test_by_hand(run, kragx):
    """Values and intervals are the reports'; a loss stands with its setting."""
    run("b")
    run("a", lost=20)
    run("c", lost=20)
    value = kragx("history", "results", "--format", "json").json()
    assert [own["name"] for own in value["runs"]] == ["b", "a", "c"]
    one, two = value["series"]
    assert (one["retriever"], one["match"]) == ("one", "overlap")
    means = [own["estimates"]["mrr@5"]["value"] for own in one["points"]]
    assert means == [1.0, 0.5, 0.5]
    report = json.loads(Path("results/a/report.json").read_text())
    written = report["comparisons"][0]["overall"]["means"]["one"]["mrr@5"]
    assert one["points"][1]["estimates"]["mrr@5"] == written
    first, loss, same = one["steps"]
    assert first is None
    assert (loss["since"], loss["breaks"]) == ("b", [])
    assert loss["changes"] == [{"name": "args.lost", "before": 0, "after": 20}]
    assert same["changes"] == []
    assert [own and own["since"] for own in two["steps"]] == [None, "b", "a"]
    out = kragx("history", "results").out
    assert "0.5000" in out
    assert "- 2026-01-02 09:00 a: one: args.lost 0 → 20" in out
    assert "hit_rate@5" not in out


def test_columns_that_are_empty_everywhere(run, kragx):
    """No commit, or no value of a retriever, in any run: no column; one in one run is shown."""
    for name in "ab":
        run(name, "metrics=[mrr@5, seconds_mean]")
        edited(name, lambda report: report["record"].update(git=None))
    both = ["history", "results", "-m", "mrr@5", "-m", "seconds_mean"]
    found, times = kragx(*both).out.split("seconds_mean", 1)
    assert "commit" not in found + times
    assert (" two" in found, " two" in times) == (True, False)
    assert "┊" not in found + times  # nor a word on a mark that nothing has
    git = {"commit": "0123456789abcdef", "branch": "main", "dirty": True}
    edited("b", lambda report: report["record"].update(git=git))
    out = kragx(*both).out
    assert ("commit" in out, "0123456789+" in out) == (True, True)
    assert "+ with uncommitted changes" in " ".join(out.split())


@pytest.mark.parametrize(
    ("settings", "word", "said"),
    some(
        [
            (
                ["match.threshold=0.6"],
                "the",
                "the matchers differ (threshold 0.5 and 0.6)",
            ),
            ([], "The own", "the gold sets differ ("),
            (["no_gold=zero"], "the", "queries without gold are treated differently"),
        ],
        3,
    ),
)
def test_not_joined(run, kragx, settings, word, said):
    """Where numbers mean something else the line is broken, and it says why."""
    run("a")
    run("b", *settings, word=word, lost=30)
    value = kragx("history", "results", "--format", "json").json()
    for own in value["series"]:
        (why,) = own["steps"][1]["breaks"]
        assert why.startswith(said)
    out = kragx("history", "results").out
    assert f"- 2026-01-02 09:00 b: not comparable with a: {said}" in out
    assert "┊ 0.2500" in out


@pytest.mark.integration
def test_other_k(run, kragx):
    """A metric at another k is another metric: a line of its own."""
    run("a")
    run("b", "metrics=[mrr@3, hit_rate@5]")
    value = kragx("history", "results", "--format", "json").json()
    assert value["metrics"] == ["mrr@3", "hit_rate@5"]
    out = kragx("history", "results", "--metric", "mrr@5", "-m", "hit_rate@5")
    assert out.code == 0
    outcome = kragx("history", "results", "--metric", "mrr@7")
    assert (outcome.code, "--metric: no run has 'mrr@7'; perhaps" in outcome.err) == (2, True)


@pytest.mark.integration
def test_what_is_no_run(run, kragx, here):
    """Broken folders are named and left out, folders of others are passed over."""
    run("kept/a")
    run("broken")
    (here / "results/broken/report.json").write_text("{}")
    for name in ("empty", "foreign/deeper", "begun.unfinished/answers"):
        (here / "results" / name).mkdir(parents=True)
    (here / "results/foreign/notes.txt").write_text("mine")
    value = kragx("history", "results", "--format", "json").json()
    assert [own["name"] for own in value["runs"]] == ["kept/a"]
    assert list(value["skipped"]) == ["broken"]
    assert "changed since: report.json" in value["skipped"]["broken"]
    out = kragx("history", "results").out
    assert "one run: there is nothing yet to set it against" in out
    assert "left out: broken: " in out
    # A run's own folder is a history of one.
    assert kragx("history", "results/kept/a").code == 0


@pytest.mark.integration
def test_a_retriever_that_failed(run, kragx):
    """A run in which it failed has no point; the next one is set against the last that has."""
    run("a")
    run("b", lost='"all"')
    run("c", lost=30)
    value = kragx("history", "results", "--format", "json").json()
    one = value["series"][0]
    assert one["points"][1]["failed"] == "failed on 40 of 40 questions"
    assert one["steps"][1] is None
    assert one["steps"][2]["since"] == "a"
    assert "one: not comparable: it failed on 40 of 40 questions" in kragx("history", "results").out


@pytest.mark.integration
def test_clocks_and_days(run, kragx):
    """Runs stand by their dates whatever their zone."""
    run("a")
    run("b")
    dated("a", "2026-01-05T01:00:00+09:00")
    dated("b", "2026-01-04T17:00:00+00:00")
    names = [own["name"] for own in kragx("history", "results", "--format", "json").json()["runs"]]
    assert names == ["a", "b"]


def test_nothing_there(kragx, here):
    """No folder, and a folder without a run, are errors with a remedy."""
    assert kragx("history", "results").code == 3
    (here / "results" / "x").mkdir(parents=True)
    outcome = kragx("history", "results")
    assert (outcome.code, "there is no run here; name a folder of folders" in outcome.err) == (
        2,
        True,
    )
