"""Retrievers that answer otherwise each time, asked in several runs from Python."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from kragx import (
    GoldDataset,
    RetrieverError,
    Run,
    UsageError,
    aevaluate,
    compare,
    evaluate,
    retrieve,
    write_results,
)
from kragx.comparison import check_gates, parse_gates
from kragx.judging import Judge
from kragx.judging.clients.scripted import ScriptedClient

GOLD = GoldDataset.from_documents(
    [["one fish"], ["two fish"], ["red fish"], ["blue fish"]], queries=["1", "2", "3", "4"]
)


def run(*lists, name="agent"):
    """A run of one list a question."""
    return Run.from_documents([[*texts] for texts in lists], name=name)


FIRST = run(["one fish"], ["two fish"], ["x"], ["x"])
SECOND = run(["one fish", "red hat"], ["x"], ["x"], ["blue fish"])
THIRD = run(["x", "one fish"], ["x"], ["x"], ["x"])
AGENT = Run.repeated([FIRST, SECOND, THIRD])


def agent(answers):
    """A retriever that gives the lists of some runs, one run after the other."""
    given = (docs for each in answers for docs in each)
    return lambda question: next(given)


def lists(of_run):
    """The texts that a run has for each question."""
    return [[doc.text for doc in answer.documents] for answer in of_run.results.values()]


@pytest.mark.parametrize("options", [{}, {"concurrency": 3}, {"timeout": 30}, {"warmup": 2}])
def test_asked_run_after_run(options):
    """All questions are asked before any is asked again; warming up is done once."""
    asked = []

    def ask(question):
        asked.append(question)
        return [f"{question} {len(asked)}"]

    found = retrieve(ask, GOLD, name="mine", runs=3, progress=False, **options)
    before = options.get("warmup", 0)
    assert len(asked) == 12 + before
    assert [{*asked[before + at : before + at + 4]} for at in (0, 4, 8)] == [{*"1234"}] * 3
    assert [each.name for each in found.every] == ["mine", "mine (run 2)", "mine (run 3)"]
    assert found.settings["runs"] == 3
    assert len({text for each in found.every for (text,) in lists(each)}) == 12


def test_as_evaluated_one_by_one():
    """Of each question the mean of what its runs have by themselves; runs' means stand beside."""
    metrics = ["recall@2", "mrr@2", "ndcg@2", "precision@2"]
    joint = evaluate(GOLD, AGENT, match="exact", metrics=metrics)
    singles = [evaluate(GOLD, each, match="exact", metrics=metrics) for each in AGENT.every]
    for query_id, row in joint.queries.items():
        for metric, value in row.items():
            of_runs = [single.queries[query_id][metric] for single in singles]
            assert value == pytest.approx(sum(of_runs) / 3)
    for metric in metrics:
        assert joint.several_runs.mean[metric] == tuple(single[metric] for single in singles)
    assert joint["recall@2"] == pytest.approx((3 + 1 + 0 + 1) / 3 / 4)
    assert joint.micro["recall@2"] == pytest.approx(5 / 12)
    assert joint.with_metrics("mrr@2")["mrr@2"] == joint["mrr@2"]
    assert joint.to_dict()["runs"]["n"] == 3
    assert "runs" not in singles[0].to_dict()


def test_ways_in():
    """Asked by `evaluate` and `aevaluate`, given as runs, shared by processes: the same numbers."""
    options = {"match": "exact", "metrics": ["recall@2", "redundancy@2"]}
    given = evaluate(GOLD, AGENT, **options)
    answers = [lists(each) for each in AGENT.every]
    ways = [
        evaluate(GOLD, agent(answers), runs=3, **options),
        asyncio.run(aevaluate(GOLD, agent(answers), runs=3, concurrency=1, **options)),
        evaluate(GOLD, AGENT, workers=2, **options),
        evaluate(GOLD, {"agent": AGENT, "other": FIRST}, **options)["agent"],
    ]
    for way in ways:
        assert way.queries == given.queries
        assert way.several_runs == given.several_runs


def test_other_thresholds():
    """Another threshold decides all runs anew; the means near the chosen one are over all runs."""
    gold = [["alpha beta gamma delta"], ["one two three four"]]
    near, far = run(["alpha beta gamma x"], ["x"]), run(["alpha x y z"], ["one two three four"])
    strict, loose = (
        evaluate(
            gold,
            Run.repeated([near, far]),
            match={"method": "rouge1", "threshold": threshold},
            metrics=["recall@2"],
        )
        for threshold in (0.8, 0.7)
    )
    assert (strict["recall@2"], loose["recall@2"]) == (0.25, 0.5)
    assert strict.at_threshold(0.7).mean == loose.mean
    assert strict.at_threshold(0.7).several_runs == loose.several_runs
    around = strict.nearby
    assert dict(zip(around.thresholds, around.means["recall@2"]))[0.8] == 0.25
    assert around.means["recall@2"][0] == 0.5
    ((_, means),) = strict.means_at([0.7])
    assert means == loose.mean


def test_a_run_that_fails_on_all():
    """It scores as empty lists beside the others; all runs failing is the retriever's failure."""
    calls = count()

    def ask(question):
        if next(calls) < 4:
            raise ConnectionError("asleep")
        return ["one fish"]

    found = evaluate(GOLD, ask, runs=2, match="exact", metrics=["recall@1"])
    assert found["recall@1"] == pytest.approx(0.125)
    assert found.several_runs.mean["recall@1"][1] == 0.25
    assert (found.counts["n_failed"], found.counts["runs"]["n_failed"]) == (4, 4)
    assert compare([found]).not_comparable == (found.name,)
    with pytest.raises(RetrieverError, match="failed on every question"):
        evaluate(GOLD, lambda question: 1 / 0, runs=2, match="exact", metrics=["recall@1"])


def test_judged_once(tmp_path):
    """What several runs bring is judged once; what judging took is that of all runs."""
    client = ScriptedClient(lambda request: 3)
    match = {"method": "llm", "judge": Judge(client, store=tmp_path / "j.sqlite", progress=False)}
    found = evaluate(GOLD, AGENT, match=match, metrics=["precision@1"])
    pairs = {
        (n, text) for each in AGENT.every for n, docs in enumerate(lists(each)) for text in docs
    }
    assert len(client.requests) == len(pairs) == found.counts["judging"]["n_calls"]


def test_gates():
    """A gate looks at the mean over the runs, and a sure one at the interval by questions."""
    results = evaluate(GOLD, {"agent": AGENT}, match="exact", metrics=["recall@2"])
    for condition, passes in ((">= 0.41", True), (">= 0.42", False), ("surely >= 0.41", False)):
        gates = parse_gates({"recall@2": condition}, [], metrics=["recall@2"])
        (gate,) = check_gates(gates, [results.comparison], ())
        assert gate.passed is passes


def test_printed():
    """Who was asked several times, and between what its runs lie, in both languages' tables."""
    text = str(evaluate(GOLD, AGENT, match="exact", metrics=["recall@2"]))
    assert "0.2500 to 0.5000" in text
    assert "asked several times: agent (3)" in text
    alike = str(evaluate(GOLD, Run.repeated([FIRST, FIRST]), match="exact", metrics=["recall@2"]))
    assert "alike" in alike
    assert "asked 3 times; shown is the first" in str(AGENT)


def test_refused(tmp_path):
    """A file holds one run; no runs are no run; times alone are not asked for within runs."""
    with pytest.raises(UsageError, match=r"run: 'agent' was asked 3 times"):
        write_results(GOLD, AGENT, tmp_path / "results.jsonl")
    with pytest.raises(UsageError, match="runs: none is given"):
        Run.repeated([])
    with pytest.raises(UsageError, match="repeat: each run asks for answers"):
        retrieve(lambda question: [], GOLD, runs=2, repeat=2)
    with pytest.raises(UsageError, match="runs: 0 is not a whole number of at least 1"):
        retrieve(lambda question: [], GOLD, runs=0)
    with pytest.raises(UsageError, match="runs: 2 says how a retriever is asked"):
        evaluate(GOLD, FIRST, runs=2)
    assert Run.repeated([FIRST]) is FIRST
