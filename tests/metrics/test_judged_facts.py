"""An LLM judge decides about facts as any matcher does."""

from __future__ import annotations

import numpy as np
import pytest

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, evaluate
from kragx.judging import Failure, Judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.matchers import JudgeMatcher

FACTS = {"facts": ["within 14 days", "by post"]}
DATASET = GoldDataset((Query("q", "How?", (Gold(id="d1"),), metadata=FACTS),))
RUN = Run({"q": Retrieved((Doc("d1", "two weeks, by mail"),))})


def completeness(tmp_path, *replies, **options):
    """The evaluation with a judge that answers from a script."""
    judge = Judge(ScriptedClient(list(replies)), store=tmp_path / "j.sqlite", **options)
    return evaluate(
        DATASET,
        RUN,
        match="id",
        facts_match=JudgeMatcher(judge),
        metrics=["recall@5", "context_completeness@5"],
    )


@pytest.mark.parametrize(("replies", "value"), [((3, 2), 1.0), ((3, 1), 0.5), ((0, 0), 0.0)])
def test_grades_of_facts(tmp_path, replies, value):
    """A fact graded 2 or 3 is contained; gold beside it is matched by id."""
    result = completeness(tmp_path, *replies)
    assert result.mean == {"recall@5": 1.0, "context_completeness@5": value}
    assert result.counts["judging_facts"]["n_judgements"] == 2


def test_a_fact_that_could_not_be_judged(tmp_path):
    """A missing judgement is taken for neither 0 nor 1: it counts as the rest, with bounds."""
    result = completeness(tmp_path, 3, Failure("refusal"), max_missing=1.0)
    assert result["context_completeness@5"] == 1.0
    assert result.bounds == {"context_completeness@5": (0.5, 1.0)}
    assert result.counts["judging_facts"]["n_missing"] == 1
    assert any("missing: 1 (1 refusal)" in remark for remark in result.remarks)


def test_a_fact_that_was_found_is_found():
    """What could not be judged further down the list matters only from its rank on."""
    scores = {"1": [3.0], "2": [np.nan]}

    class Grades:
        threshold, top = 2.0, 3.0
        may_not_know = True

        def scores(self, items, notes):
            for item in items:
                yield np.array([scores[doc.id] for doc in item.docs])

    dataset = GoldDataset((Query("q", "How?", (Gold(id="d1"),), metadata={"facts": ["a fact"]}),))
    metrics = ["context_completeness@1", "context_completeness@2"]

    def means(*ids):
        run = Run({"q": Retrieved(tuple(Doc(each, "text") for each in ids))})
        result = evaluate(dataset, run, match="id", facts_match=Grades(), metrics=metrics)
        return list(result.mean.values())

    assert means("1", "2") == [1.0, 1.0]
    assert means("2", "1") == [None, 1.0]  # nothing is known of the first, and so no estimate
