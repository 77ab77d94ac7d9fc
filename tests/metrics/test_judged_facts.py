"""An LLM judge decides about facts as any matcher does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, evaluate
from kragx.judging import Failure, Judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.matchers import BaseMatcher, JudgeMatcher
from kragx.metrics import parse
from tests.thoroughness import examples

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


class Said(BaseMatcher):
    """Says of each context and fact what it was told; NaN where it does not know."""

    name, of_context, may_not_know = "said", True, True

    def __init__(self, grids):
        self.grids = grids

    def scores(self, items, notes):
        """Those of the query."""
        return (np.array(self.grids[item.query.id]) for item in items)


SAID = st.sampled_from([0.0, 0.5, 1.0, np.nan])
QUERY = st.integers(1, 5).flatmap(
    lambda n: st.tuples(
        st.lists(st.booleans(), min_size=n, max_size=n),  # vital
        st.lists(st.lists(SAID, min_size=n, max_size=n), min_size=2, max_size=2),  # at 1 and 2
    )
)


@pytest.mark.integration
@examples(200)
@given(st.lists(QUERY, min_size=1, max_size=6))
def test_against_a_slow_reference(queries):
    """Each score of TREC 2024 RAG is that of a plain loop, with what is not known at 0 and 1."""
    names = {
        (which, strict, k): f"context_completeness@{k}(facts={which}, strict={strict})"
        for which in ("all", "vital", "weighted")
        for strict in ("no", "yes")
        for k in (1, 2)
    }
    dataset = GoldDataset(
        tuple(
            Query(
                f"q{number}",
                metadata={
                    "facts": [
                        {"text": f"f{at}", "importance": "vital" if is_vital else "okay"}
                        for at, is_vital in enumerate(vital)
                    ]
                },
            )
            for number, (vital, _) in enumerate(queries)
        )
    )
    docs = Retrieved((Doc("a", "one"), Doc("b", "two")))
    run = Run({query.id: docs for query in dataset})
    grids = {f"q{number}": grid for number, (_, grid) in enumerate(queries)}
    result = evaluate(dataset, run, match="id", facts_match=Said(grids), metrics=names.values())

    def means(which, strict, k, unknown):
        values = []
        for vital, grid in queries:
            total = weights = 0.0
            for is_vital, said in zip(vital, grid[k - 1]):
                weight = {"all": 1.0, "vital": float(is_vital)}.get(which, 1 if is_vital else 0.5)
                held = unknown if np.isnan(said) else said
                total += weight * (held if strict == "no" else float(held == 1))
                weights += weight
            if weights:
                values.append(total / weights)
        return sum(values) / len(values) if values else None

    for options, name in names.items():
        low, high = means(*options, 0.0), means(*options, 1.0)
        spec = next(own for own in result.scores if own.spec == parse(name))
        if low == high:
            assert (spec.mean, spec.bounds) == (pytest.approx(low), None)
        else:
            assert spec.bounds == pytest.approx((low, high))
            assert spec.mean is None or low - 1e-9 <= spec.mean <= high + 1e-9
