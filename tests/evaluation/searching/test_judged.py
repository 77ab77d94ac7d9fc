"""Judges and searches: each pair is asked about once, whichever searches gave the document."""

import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, Search, UsageError, evaluate
from kragx.evaluation.ranked_lists import lists_of_run
from kragx.judging import Judge
from kragx.testing import ScriptedClient

RED, BLUE, GREEN = Doc("a", "red"), Doc("b", "blue"), Doc("c", "green")
AGENT = Retrieved(
    (GREEN,), searches=(Search("x", (BLUE,)), Search("y", (BLUE, RED)), Search("z", (RED,)))
)
QUERY = Query("q", "Which?", (Gold(text="crimson"),))


@pytest.fixture
def judge(tmp_path):
    """A matcher whose judge says that red is right, and its client."""
    client = ScriptedClient(lambda request: 3 if "red" in str(request.messages[-1]) else 0)
    return {"method": "llm", "judge": Judge(client, store=tmp_path / "j.sqlite", progress=False)}


def n_asked(matcher):
    """How many questions the judge was asked."""
    return len(matcher["judge"].client.requests)


def test_each_pair_is_judged_once(judge):
    """Three documents in five places are three questions."""
    metrics = ["mrr", "recall(of=all)", "mrr(of=last)", "evidence_recall@1"]
    result = evaluate(GoldDataset((QUERY,)), Run({"q": AGENT}), match=judge, metrics=metrics)
    assert n_asked(judge) == 3
    assert [*result.mean.values()] == [0.0, 1.0, 1.0, 0.0]
    assert result.counts["judging"]["n_judgements"] == 3


def test_a_pool_has_what_all_searches_gave(judge):
    """Without gold all distinct documents are judged, and are the gold of every list."""
    gold = GoldDataset((Query("q", "Which?"),))
    metrics = ["precision(of=all)", "mrr(of=last)", "evidence_recall@1"]
    result = evaluate(gold, Run({"q": AGENT}), match=judge, metrics=metrics)
    assert n_asked(judge) == 3
    assert [*result.mean.values()] == [0.5, 1.0, 0.0]
    with pytest.raises(UsageError, match="first 2 documents"):
        evaluate(gold, Run({"q": AGENT}), match={**judge, "depth": 2}, metrics=["mrr@2"])


def test_lists_behind_an_evaluation_are_of_its_basis():
    """Where metrics are about first searches, so are the lists that are shown."""
    alone = Retrieved(searches=(Search("x", (BLUE,)),), has_list=False)
    queries = GoldDataset((QUERY, Query("other", "Which?", (Gold(text="blue"),))))
    run = Run({"q": AGENT, "other": alone})
    result = evaluate(queries, run, match="exact", metrics=["mrr"])
    assert result.basis == "first"
    lists = lists_of_run(result, queries, run)
    assert [[doc.id for doc in ranked.docs] for ranked in lists] == [["b"], ["b"]]
