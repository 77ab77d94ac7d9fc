"""What searches cost that brought nothing: it is spent all the same."""

import pytest

from kragx import evaluate
from kragx.metrics import METRICS

COSTS = ["tokens_per_gold", "seconds_per_gold", "searches_per_gold"]


def row(query_id, **more):
    """A question with one gold item."""
    return {"query_id": query_id, "gold": [{"id": "g"}], **more}


def search(doc, tokens, query="words"):
    """One that brought a document."""
    return {"query": query, "retrieved": [{"id": doc}], "tokens": tokens, "seconds": 2.0}


def test_a_call_that_failed_costs_its_time_and_no_tokens_that_nobody_says():
    """It and its retry are one search; the question stays among those of the other agent."""
    failed = {"query": "words", "error": "Busy: later", "seconds": 1.0}
    rows = [row("a", searches=[search("g", 30)]), row("b", searches=[failed, search("g", 50)])]
    result = evaluate(rows, match="id", metrics=[*COSTS, "tokens_to_evidence"])
    assert [*result.mean.values()] == [40.0, 2.5, 1.0, 30.0]
    assert result.counts["metrics"]["tokens_per_gold"]["n_uncounted"] == 0
    said = evaluate(
        [rows[0], row("b", searches=[{**failed, "tokens": 10}, search("g", 50)])],
        match="id",
        metrics=COSTS,
    )
    assert said["tokens_per_gold"] == 45.0


def test_a_run_that_failed_has_cost_what_it_did_before():
    """It found nothing; its searches are neither free nor counted among the failed ones."""
    limit = row(
        "b", error="Limit: 2 searches", searches=[search("x", 100), search("g", 50, "more")]
    )
    result = evaluate(
        [row("a", searches=[search("g", 30)]), limit],
        match="id",
        metrics=[*COSTS, "evidence_recall", "recall@10"],
    )
    assert [*result.mean.values()] == [180.0, 6.0, 3.0, 0.5, 0.5]
    assert result.counts["searches"]["n_failed"] == 0
    assert result.counts["searches"]["n_searches"] == 3


@pytest.mark.parametrize("metric", COSTS)
def test_costs_are_the_less_the_better(metric):
    """A dear agent is never taken for the better one."""
    assert METRICS[metric].higher_is_better is False
