"""Failures are never a result: in the terminal, Markdown, JSON, CSV, gates and exit codes."""

from __future__ import annotations

import csv
import json
import re
import sys

import pytest

from kragx import GoldDataset, UsageError, compare, evaluate
from kragx.app import pipeline
from kragx.app.pytest import assert_gates
from kragx.comparison import RetrieverScores
from kragx.comparison.advice import failures_of
from tests.app.runs import six_retrievers as six
from tests.thoroughness import some

LOST = (
    "dead failed on 36 of 36 questions, so it is not comparable (max_failed is 0); the first: "
    "query 'q0': ConnectionError: no index at localhost:9200",
    "slow failed on 12 of 36 questions, so it is not comparable (max_failed is 0); the first: "
    "query 'q0': TimeoutError: no answer within 0.5 s",
)


@pytest.fixture
def run(here, kragx, monkeypatch):
    """Run some of the six retrievers."""
    monkeypatch.syspath_prepend(str(here))
    yield lambda *options, **config: kragx("run", six.write(here, **config), *options)
    sys.modules.pop("half_dozen", None)


def only(*names, **more):
    """Some of the six."""
    return {name: six.RETRIEVERS[name] for name in names} | more


def rows(path):
    """The lines of a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


@pytest.mark.integration
def test_six_retrievers(run, here, kragx):
    """One raises, one is late, one gives pairs, one finds nothing: the right one wins, everywhere.

    The one that is late would have won, had it answered every question.
    """
    outcome = run()
    assert outcome.code == 5
    markdown = (here / "out" / "report.md").read_text(encoding="utf-8").replace("\\", "")
    for text in (outcome.out, markdown, kragx("report", "out", "--full").out):
        for line in (*LOST, "Use good: in hit_rate@2 it is better than every other retriever that"):
            assert line in text
    table = [line.replace("│", "|").split("|")[1:-1] for line in outcome.out.splitlines()]
    shown = {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in table if cells}
    assert shown == {
        "pairs": ["0", "0.5278", "0.5278"],
        "nothing": ["returned nothing ✗", "-", "-"],
        "good": ["0", "0.9167 ★", "0.9167 ★"],
        "fair": ["0", "0.4722", "0.4722"],
        "dead": ["36 of 36 ✗", "-", "-"],
        "slow": ["12 of 36 ✗", "-", "-"],
    }
    cells = "| 0 | 0 | 0 | **36 of 36 ✗** | **12 of 36 ✗** | **returned nothing ✗** |"
    assert f"| failed questions {cells}" in markdown
    assert outcome.err.endswith("not comparable, as failed: dead, slow\n")


@pytest.mark.integration
def test_json_and_csv_of_six(run, here):
    """Programs find the failures with their reasons, and no comparison with who failed.

    The first retriever has no number at all; the micro averages of the others stand in the CSV.
    """
    run(metrics=["hit_rate@2", "mrr@2", "recall@2"])
    report = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))
    (comparison,) = report["comparisons"]
    assert comparison["not_comparable"] == ["dead", "slow", "nothing"]
    compared = ["pairs", "good", "fair"]
    assert comparison["retrievers"] == list(comparison["overall"]["means"]) == compared
    numbers = [
        (own["retriever"], own["n_failed"], own["nothing"]) for own in comparison["failures"]
    ]
    assert numbers == [("dead", 36, False), ("slow", 12, False), ("nothing", 0, True)]
    of_retriever = {own["retriever"]: own for own in report["evaluations"]}
    assert set(of_retriever["dead"]["mean"].values()) == {None}
    assert list(of_retriever["slow"]["failures"]) == [f"q{n}" for n in range(0, 36, 3)]
    assert of_retriever["good"]["failures"] == {}
    means = {row["retriever"]: row for row in rows(here / "out" / "means.csv")}
    assert [means[name]["n_failed"] for name in six.RETRIEVERS] == ["36", "12", "0", "0", "0", "0"]
    assert means["dead"]["hit_rate@2"] == means["dead"]["micro recall@2"] == ""
    assert means["good"]["micro recall@2"] == means["good"]["recall@2"] != ""
    failures = [row["failure"] for row in rows(here / "out" / "queries.csv")]
    assert sum(text.startswith("TimeoutError") for text in failures) == 12
    assert sum(text.startswith("ConnectionError") for text in failures) == 36
    assert failures.count("") == 6 * 36 - 48


def test_tolerated_failures(run, kragx):
    """A failure that is tolerated scores as an empty list, and that is said; nothing is asked anew.

    The share is of the questions: one of 36 is more than .02 and not more than 1 / 36.
    """
    outcome = run("--max-failed", "0.02", retrievers=only("good", "fair", once="half_dozen:once"))
    assert outcome.code == 5
    assert "so it is not comparable (max_failed is 0.02)" in outcome.out
    outcome = kragx("report", "out", "--max-failed", 1 / 36)
    assert outcome.code == 0
    said = "once failed on 1 of 36 questions, which score as empty lists; the first: query 'q4': "
    assert said + "DataError: the retriever returned str 'rule 4'" in outcome.out
    assert "│ failed questions │                0 │" in outcome.out
    assert "│          1 of 36 │" in outcome.out
    assert "✗" not in outcome.out


@pytest.mark.parametrize("gates", some([{}, {"hit_rate@2": ">= 0.99"}], 2))
def test_only_one_that_did_not_fail(run, gates):
    """Who is left alone has won nothing, and the exit code is 5 whatever gates say."""
    outcome = run(retrievers=only("dead", "slow", "fair"), gates=gates)
    assert outcome.code == 5
    assert "? Only fair can be compared, as dead and slow failed." in outcome.out
    assert "Use fair" not in outcome.out
    assert "0.4722" in outcome.out


@pytest.mark.integration
def test_gates_and_failures(run, here):
    """Gates on failures hold the counts; every other gate fails for who is not comparable."""
    gates = {
        "n_failed": 12,
        "max_failed": "< 0.4",
        "hit_rate@2": ["<= 1", "no worse than baseline by 1"],
        "slices": {"query_type": {"policy": {"n_failed": "<= 5"}}},
    }
    run(gates=gates, slices=["query_type"], baseline="good")
    results = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))["gates"]
    bad = {
        (own["metric"], own["condition"], own["retriever"]): own["said"]
        for own in results
        if not own["passed"]
    }
    lost = {
        "dead": "failed on 36 of 36 questions",
        "slow": "failed on 12 of 36 questions",
        "nothing": "returned nothing for any of 36 questions",
    }
    assert bad == {
        ("n_failed", "<= 12", "dead"): "36 of 36 questions failed",
        ("max_failed", "< 0.4", "dead"): "36 of 36 questions failed",
        ("n_failed", "<= 5", "dead"): "18 of 18 questions failed",
        ("n_failed", "<= 5", "slow"): "6 of 18 questions failed",
    } | {
        ("hit_rate@2", condition, name): f"not comparable: it {why}"
        for name, why in lost.items()
        for condition in gates["hit_rate@2"]
    }


@pytest.mark.integration
def test_a_baseline_that_failed(run, here):
    """Nothing is set against it, and a gate against it does not pass; the others are compared."""
    gate = {"hit_rate@2": "no worse than baseline by 1"}
    outcome = run("--full", baseline="slow", gates=gate)
    assert (
        "nothing is set against the baseline slow, as it failed on 12 of 36 questions"
        in outcome.out
    )
    assert "Compared with" not in outcome.out
    assert "Use good" in outcome.out
    report = json.loads((here / "out" / "report.json").read_text(encoding="utf-8"))
    assert {own["passed"] for own in report["gates"]} == {False}
    assert "not comparable: the baseline failed on 12 of 36 questions" in outcome.out


@pytest.mark.integration
@pytest.mark.parametrize("lost", ["before", "after"])
def test_earlier_results_that_failed(run, kragx, lost):
    """Between a failure and an answer nothing got better or worse."""
    good, late = {"mine": "half_dozen:good"}, {"mine": six.RETRIEVERS["slow"]}
    run("-o", "before", retrievers=late if lost == "before" else good)
    gate = {"hit_rate@2": "no worse than earlier by 1"}
    outcome = run(
        *("-o", "after", "--earlier", "before"),
        retrievers=late if lost == "after" else good,
        gates=gate,
    )
    # That an earlier run failed is no failure of this one; its gate does not pass all the same.
    assert outcome.code == (5 if lost == "after" else 1)
    assert "mine: not comparable: " in outcome.out
    assert "failed on 12 of 36 questions" in outcome.out
    compared = kragx("compare", "before", "after")
    assert compared.code == 5
    assert "so it is not comparable" in compared.out
    label = "earlier" if lost == "before" else "now"
    assert compared.err == f"not comparable, as failed: mine {label}\n"
    for untrue in ("▲", "▼", " better,", "no query got"):
        assert untrue not in compared.out


def test_none_found_anything(run, here):
    """Zeros everywhere are no tie that more questions would decide."""
    outcome = run(
        *("--full", "--set", "slices=query_type"),
        retrievers={"one": "half_dozen:nothing", "two": "half_dozen:nothing"},
    )
    assert outcome.code == 0
    assert "? None found anything: hit_rate@2 is 0 for every retriever" in outcome.out
    assert outcome.out.count("none found anything") == 4
    markdown = (here / "out" / "report.md").read_text(encoding="utf-8")
    for text in (outcome.out, markdown):
        for untrue in ("not decided", "same value", "clearly best"):
            assert untrue not in text


@pytest.mark.integration
def test_a_sweep_leaves_out_who_failed(run, kragx):
    """Who failed is in no order by threshold, and its zeros are not shown."""
    run(match="overlap")
    outcome = kragx("threshold", "sweep", "out", "-m", "hit_rate@2")
    assert outcome.code == 5
    assert "the order good > pairs > fair > nothing holds" in outcome.out
    assert "slow" not in outcome.out
    assert "slow failed on 12 of 36 questions, and is left out" in outcome.err
    run(match="overlap", retrievers=only("dead"))
    outcome = kragx("threshold", "sweep", "out")
    assert (outcome.code, outcome.out) == (5, "")


JUDGED = {
    "match": {"method": "llm", "mode": "support"},
    "judge": {"client": "six_client:Refusing", "store": "store.sqlite"},
}
CLIENT = """
from kragx.judging import Failure

class Refusing:
    settings = {"provider": "test", "base_url": None, "model": "none"}

    async def ask(self, request):
        return Failure("refusal", "no")
"""


@pytest.mark.parametrize(
    ("options", "config", "code", "said"),
    some(
        [
            ((), {"gates": {"mrr@2": ">= 2"}}, 5, "not comparable, as failed: slow"),
            ((), {"gates": {"mrr@2": ">= 2"}, "max_failed": 0.5}, 1, ""),
            ((), JUDGED, 5, "slow failed on 12 of 36 questions; and judging: "),
            (("--max-failed", "0.5"), JUDGED, 4, "refusal"),
            (("--set", "metrics=nonsense"), {}, 2, "nonsense"),
            (("--set", "dataset=none.jsonl"), {}, 3, "none.jsonl"),
            (("--set", "retrievers.slow.on_error=stop"), {}, 5, "retrievers.slow: query 'q0'"),
            (("--max-failed", "1.5"), {}, 2, "max-failed"),
        ],
        4,
    ),
    ids=["5-1", "1", "5-4", "4", "2", "3", "stop", "share"],
)
def test_the_first_exit_code_of_2_3_5_4_1(run, here, options, config, code, said):
    """Of several things that went wrong the exit code says the first in this order."""
    (here / "six_client.py").write_text(CLIENT, encoding="utf-8")
    outcome = run(*options, **{"retrievers": only("slow", "good"), **config})
    sys.modules.pop("six_client", None)
    assert outcome.code == code, outcome.err
    assert said in outcome.err


def answer(question):
    """What is right."""
    return [question.replace("question", "answer")]


def late(question):
    """The same, but for three questions of twelve."""
    if question.endswith(("1", "2")):
        raise TimeoutError("late")
    return answer(question)


DATASET = GoldDataset.from_documents(
    [[f"answer {n}"] for n in range(12)], queries=[f"question {n}" for n in range(12)]
)


def test_compare_in_python():
    """`compare` sets nobody beside who failed, and says so where nobody is left."""
    whole, part = (
        evaluate(DATASET, own, match="exact", metrics=["recall@1"]) for own in (answer, late)
    )
    comparison = compare({"whole": whole, "part": part})
    assert (comparison.retrievers, comparison.not_comparable) == (("whole",), ("part",))
    assert "part failed on 3 of 12 questions, so it is not comparable" in str(comparison)
    assert compare({"whole": whole, "part": part}, max_failed=0.25).not_comparable == ()
    nobody = compare({"part": part})
    assert nobody.retrievers == ()
    assert "The retriever part failed, so there is nothing to compare." in str(nobody)
    assert json.loads(json.dumps(nobody.to_dict()))["overall"]["means"] == {}
    with pytest.raises(UsageError, match="max_failed: 2 is no share from 0 to 1"):
        compare({"whole": whole}, max_failed=2)


@pytest.mark.integration
def test_the_summary_of_a_job(run, here):
    """The head of the summary names who failed, although every gate passed."""
    gates = {"retrievers": {"good": {"mrr@2": ">= 0.5"}}}
    assert run("--summary", "s.md", retrievers=only("good", "slow"), gates=gates).code == 5
    summary = (here / "s.md").read_text(encoding="utf-8")
    assert summary.startswith(
        "## kragx: ❌ not comparable, as failed: slow; ✅ every gate passed\n"
    )
    assert "slow failed on 12 of 36 questions" in summary


UNSURE = """
import json
from kragx.judging import Answer, Failure

class Unsure:
    settings = {"provider": "test", "base_url": None, "model": "none"}
    n = 0

    async def ask(self, request):
        Unsure.n += 1
        if Unsure.n % 3 == 0:
            return Failure("refusal", "I would rather not")
        return Answer(json.dumps({"reason": "as it is", "grade": Unsure.n % 4}))
"""


@pytest.mark.integration
def test_the_summary_of_a_job_says_what_was_not_judged(run, here):
    """A value that rests on guessed judgements stands beside what it can become, and why."""
    (here / "six_client.py").write_text(UNSURE, encoding="utf-8")
    judge = {"client": "six_client:Unsure", "store": "store.sqlite", "max_missing": 0.9}
    config = {"match": {"method": "llm", "mode": "support"}, "judge": judge}
    assert run("--summary", "s.md", retrievers=only("good"), **config).code == 0
    sys.modules.pop("six_client", None)
    summary = (here / "s.md").read_text(encoding="utf-8")
    assert re.search(r"good: missing: \d+ \(\d+ refusal\), estimated, never taken for 0", summary)
    assert re.search(r"good: .*I would rather not", summary)
    assert re.search(r"mrr@2` .*\(0\.\d+ to [01]\.\d+\)", summary)


@pytest.mark.integration
def test_gates_in_pytest(run, here):
    """A test fails for a retriever that failed, although every gate holds."""
    run(retrievers=only("good", "slow"), gates={"retrievers": {"good": {"mrr@2": ">= 0.5"}}})
    with pytest.raises(AssertionError, match="0 of 1 gates failed\nslow failed on 12 of 36"):
        assert_gates(here / "out")
    (result,) = assert_gates(pipeline.recompute(here / "out", max_failed=0.5))
    assert result.passed


def test_the_share_that_is_tolerated_is_exact():
    """7 failures of 100 are not more than .07, though 0.07 * 100 is more than 7 in binary."""
    query_ids = tuple(map(str, range(100)))
    scores = [RetrieverScores("x", "id", {}, query_ids, {}, {}, {}, counts={"n_failed": 7})]
    assert [own.tolerated for own in failures_of(scores, 0.07)] == [True]
    assert [own.tolerated for own in failures_of(scores, 0.069)] == [False]
