"""Metrics of one list of each question's searches, against that list evaluated alone."""

from dataclasses import replace

import pytest
from hypothesis import given

from kragx import Search, Searches, evaluate
from tests.evaluation.searching.support import (
    LISTS,
    METRICS,
    Colours,
    Unsure,
    data,
    plain,
    questions,
)
from tests.thoroughness import examples

GOLD = [["red", "green"], ["blue"]]
AGENTS = [
    Searches([Search("one", ("white",)), Search("two", ("black",)), Search("three", ("red",))]),
    Searches([Search("one", ("blue",))]),
]


def of_list(metrics, name, order):
    """Metrics of a list by their names."""
    chain = ", order=chain" if order == "chain" else ""
    return {metric: f"{metric}(of={name}{chain})" for metric in metrics}


def test_two_questions_by_hand():
    """A third search finds one of two gold items, and a first search the only one of another."""
    metrics = ["ndcg@10", "evidence_recall@1", "evidence_recall@3", "first_search", "rescue"]
    result = evaluate(GOLD, AGENTS, match="exact", metrics=metrics)
    assert [*result.mean.values()] == pytest.approx([0.5, 0.5, 0.75, 2 / 3, 1.0])
    assert result.settings["searches"] == {"basis": "first"}
    assert "first search of each question" in str(result)
    counts = result.counts["searches"]
    assert (counts["n_questions"], counts["n_searches"], counts["n_steps"]) == (2, 4, 4)


@given(questions)
@examples(400)
def test_the_same_as_each_list_alone(of):
    """Each metric of each list, for every rule of repeats, is that of a run of these lists."""
    gold, run = data(*of)
    for profile in ("kragx", "krag"):
        for name, order in LISTS:
            names = of_list(METRICS if profile == "kragx" else ("mrr@2", "recall@2"), name, order)
            options = {"match": Colours(), "profile": profile, "no_gold": "skip"}
            try:
                result = evaluate(gold, run, metrics=[*names.values()], **options)
            except Exception as error:  # every question failed
                assert "failed on" in str(error)  # noqa: PT017
                return
            alone = plain(of, name, order, metrics=[*names], **options)
            for query_id, values in result.queries.items():
                expected = alone.get(query_id, dict.fromkeys(names))
                assert [*values.values()] == [*expected.values()]


@given(questions)
@examples(200)
def test_the_basis_is_one_for_all(of):
    """It is what was handed on where all have that whose searches are measured, else the first."""
    gold, run = data(*of)
    measured = [
        agent
        for _, agent in of
        if agent.error is None
        and not agent.missing
        and any(s.documents is not None and s.error is None for s in agent.searches)
    ]
    has_lists = all(agent.retrieved is not None for agent in measured)
    expected = "retrieved" if has_lists else "first"
    try:
        result = evaluate(gold, run, match=Colours(), metrics=["recall@2", "mrr(of=all)"])
    except Exception as error:
        assert "failed on" in str(error)  # noqa: PT017
        return
    assert result.settings["searches"]["basis"] == expected
    alone = plain(of, expected, "turns", match=Colours(), metrics=["recall@2"])
    known = [query_id for query_id, values in result.queries.items() if query_id in alone]
    assert {q: result.queries[q]["recall@2"] for q in known} == {
        q: alone[q]["recall@2"] for q in known
    }
    counts = result.counts
    n_no_list = counts["searches"]["n_no_list"]
    assert n_no_list == len(of) - len(alone)
    assert counts["n_scored"] + counts["n_no_gold"] + n_no_list == len(of)


@given(questions)
@examples(200)
def test_what_is_not_known_has_bounds(of):
    """Means and bounds of a list are those of a run of these lists, where matches are unknown."""
    gold, run = data(*of)
    for name, order in LISTS:
        names = of_list(("recall@2", "mrr"), name, order)
        options = {"match": Unsure(unknown="white")}
        known = [pair for pair in of if pair[1].listed(name, order) is not None]
        try:
            result = evaluate(gold, run, metrics=[*names.values()], **options)
        except Exception as error:
            assert "failed on" in str(error)  # noqa: PT017
            return
        if not known or all(agent.error is not None for _, agent in known):
            continue
        lists = [
            (texts, replace(agent, searches=(), retrieved=(*agent.listed(name, order),)))
            for texts, agent in known
        ]
        alone = evaluate(*data(*lists), metrics=[*names], **options)
        for metric, named in names.items():
            assert result.mean[named] == alone.mean[metric]
            assert result.bounds.get(named) == alone.bounds.get(metric)
