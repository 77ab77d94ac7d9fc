"""Metrics of one list of each question's searches, against that list evaluated alone."""

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from kragx import (
    Doc,
    Forbidden,
    Gold,
    GoldDataset,
    Query,
    Run,
    Search,
    Searches,
    UsageError,
    evaluate,
)
from kragx.data import batch as batch_module
from kragx.data.batch import batches_of
from kragx.evaluation.searching import seen_in, seen_in_runs
from tests.evaluation.searching.support import (
    ALL_KNOWN,
    LISTS,
    METRICS,
    Agent,
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


def named_of(metric, name, order):
    """A metric of a list."""
    return f"{metric}(of={name}{', order=chain' if order == 'chain' else ''})"


def test_two_questions_by_hand():
    """A third search finds one of two gold items, and a first search the only one of another."""
    metrics = ["ndcg@10", "evidence_recall@1", "evidence_recall@3", "first_search", "rescue"]
    result = evaluate(GOLD, AGENTS, match="exact", metrics=metrics)
    assert [*result.mean.values()] == pytest.approx([0.5, 0.5, 0.75, 2 / 3, 1.0])
    assert result.settings["searches"] == {"basis": "first"}
    assert "first search of each question" in str(result)
    counts = result.counts["searches"]
    assert (counts["n_questions"], counts["n_searches"], counts["n_steps"]) == (2, 4, 4)


def test_a_search_and_its_retries_are_one_search():
    """Two failures and what followed in the same words, beside another one: 2 searches."""
    searches = [
        Search("one", step=1, error="TimeoutError"),
        Search("one", step=1, error="TimeoutError"),
        Search("one", ("red",), step=1),
        Search("two", ("green",), step=1),
    ]
    metrics = ["searches_per_gold"]
    result = evaluate([["red", "green"]], [Searches(searches)], match="exact", metrics=metrics)
    counts = result.counts["searches"]
    assert (counts["n_searches"], counts["n_failed"], counts["n_steps"]) == (2, 2, 1)
    assert result["searches_per_gold"] == counts["n_searches"] / 2
    assert "searches that failed: 2" in str(result).splitlines()  # and what followed found gold


def test_questions_for_which_nothing_was_searched():
    """They are told from those whose search found nothing; of unanswerable ones nothing is said."""
    gold = GoldDataset(
        tuple(
            Query(f"q{at}", gold=(Gold(text="red"),) if at < 4 else (), answerable=at < 4)
            for at in range(5)
        )
    )
    searches = [(Search("a", ("red",)),), (Search("a", ()),), (), (), ()]
    run = {query.id: Searches(of) for query, of in zip(gold, searches)}
    result = evaluate(gold, run, match="exact", metrics=["evidence_recall"])
    assert result.counts["searches"]["n_no_search"] == 2
    lines = [line for line in str(result).splitlines() if "empty list" in line]
    assert lines[0].endswith("queries answered with an empty list: 1 (nothing was found)")
    assert lines[1].endswith("queries answered with an empty list: 2 (made no search)")


@given(questions, st.sampled_from(["kragx", "krag"]))
@examples(200)
def test_the_same_as_each_list_alone(of, profile):
    """Each metric of each list, for every rule of repeats, is that of a run of these lists."""
    metrics = METRICS if profile == "kragx" else ("mrr@2", "recall@2")
    options = {"match": Colours(), "profile": profile, "no_gold": "skip"}
    named = {(*of_list, m): named_of(m, *of_list) for of_list in LISTS for m in metrics}
    result = evaluate(*data(*of), metrics=[*named.values()], **options)
    for name, order in LISTS:
        alone = plain(of, name, order, metrics=metrics, **options)
        for query_id, values in result.queries.items():
            expected = alone.get(query_id, dict.fromkeys(metrics))
            assert [values[named[name, order, m]] for m in metrics] == [*expected.values()]


@given(questions)
@examples(200)
def test_the_basis_is_one_for_all(of):
    """It is what was handed on where all have that whose searches are measured, else the first."""
    measured = [
        agent for _, agent in of if agent.error is None and not agent.missing and agent.measured
    ]
    has_lists = all(agent.retrieved is not None for agent in measured)
    expected = "retrieved" if has_lists else "first"
    result = evaluate(*data(*of), match=Colours(), metrics=["recall@2", "mrr(of=all)"])
    assert result.settings["searches"]["basis"] == expected
    alone = plain(of, expected, "turns", match=Colours(), metrics=["recall@2"])
    values = {query_id: values["recall@2"] for query_id, values in result.queries.items()}
    assert values == {q: alone[q]["recall@2"] if q in alone else None for q in values}
    counts = result.counts
    n_no_list = counts["searches"]["n_no_list"]
    assert n_no_list == len(of) - len(alone)
    assert counts["n_scored"] + counts["n_no_gold"] + n_no_list == len(of)


@given(questions, st.sampled_from(LISTS))
@examples(200)
def test_what_is_not_known_has_bounds(of, named):
    """Means and bounds of a list are those of a run of these lists, where matches are unknown."""
    metrics = "recall@2", "mrr"
    options = {"match": Unsure(unknown="white")}
    lists = [(texts, agent, agent.listed(*named)) for texts, agent in of]
    known = [
        (texts, replace(agent, searches=(), retrieved=tuple(docs)))
        for texts, agent, docs in lists
        if docs is not None
    ]
    names = [named_of(metric, *named) for metric in metrics]
    result = evaluate(*data(*of), metrics=names, **options)
    alone = evaluate(*data(*known), metrics=metrics, **options)
    assert [*result.mean.values()] == [*alone.mean.values()]
    assert [*result.bounds.values()] == [*alone.bounds.values()]


@given(questions, st.randoms())
@examples(100)
def test_the_order_of_a_log_does_not_matter(of, random):
    """Searches side by side stand in no order: shuffled they give the same values."""
    of = [(texts, agent) for texts, agent in of if all(s.step for s in agent.searches)]
    shuffled = [
        (texts, replace(agent, searches=tuple(random.sample(agent.searches, len(agent.searches)))))
        for texts, agent in of
    ]
    names = [named_of(metric, *named) for named in LISTS for metric in ("recall@2", "mrr")]
    options = {"match": Colours(), "metrics": [*names, "evidence_recall@1", "first_search"]}
    results = [evaluate(*data(*each, ALL_KNOWN), **options) for each in (of, shuffled)]
    assert results[0].queries == results[1].queries


def test_each_document_is_matched_once():
    """However many searches return a document, a question's pair with gold is scored once."""
    docs = (Doc("a", "red"), Doc("b", "blue"))
    searches = tuple(Search(f"s{number}", docs) for number in range(5))
    gold, run = data((["red", "white"], Agent(searches, docs)))
    match = Colours()
    result = evaluate(gold, run, match=match, metrics=["recall@2(of=all)", "precision@2(of=last)"])
    assert match.asked == [4]
    assert [*result.mean.values()] == [0.5, 0.5]


def test_a_profile_that_ranks_by_score():
    """It is of one list of a question: several searches are refused with the remedy."""
    docs = (Doc("a", "red", score=0.1), Doc("b", "blue", score=0.9), Doc("c", "green", score=0.5))
    agent = Agent((Search("s", docs, read=("a",)), Search("t", docs[:2], read=("c",))))
    gold, run = data((["red"], agent))
    metrics = [f"mrr(of={name})" for name in ("first", "last", "all", "read")]
    with pytest.raises(UsageError, match="orders one list of a question"):
        evaluate(gold, run, match=Colours(), profile="trec", metrics=metrics)


def test_a_budget_cuts_each_list():
    """As many tokens of all searches: red stands third by turns, and behind two words."""
    agent = Agent((Search("s", (Doc("b", "blue sky"),)), Search("t", (Doc("a", "red"),))))
    gold, run = data((["red"], agent))
    metrics = ["recall@2tokens(of=all)", "recall@3tokens(of=all)", "recall@2tokens(of=last)"]
    result = evaluate(gold, run, match=Colours(), metrics=metrics)
    assert [*result.mean.values()] == [0.0, 1.0, 1.0]
    assert "budget_tokenizer" in result.settings


def test_other_thresholds_and_metrics_need_no_matching():
    """An evaluation has all lists: other metrics and thresholds give what evaluating anew does."""
    metrics = ["recall@2(of=all)", "evidence_recall", "ndcg@2"]
    result = evaluate(GOLD, AGENTS, match="overlap", metrics=["mrr"])
    assert result.with_metrics(metrics).mean == pytest.approx(
        evaluate(GOLD, AGENTS, match="overlap", metrics=metrics).mean
    )
    strict = {"method": "overlap", "threshold": 0.9}
    anew = evaluate(GOLD, AGENTS, match=strict, metrics=metrics)
    assert result.with_metrics(metrics).at_threshold(0.9).mean == anew.mean
    means = dict(zip([0.5, 0.9], result.with_metrics(metrics).means_at([0.5, 0.9])))
    assert means[0.9][1] == anew.mean


def test_a_list_that_nobody_looked_for():
    """Without searches a named list is the one that there is, or not known."""
    result = evaluate(GOLD, [["red"], ["blue"]], match="exact", metrics=["recall@2(of=all)"])
    assert result.mean == {"recall@2(of=all)": 0.75}
    plain_result = evaluate(GOLD, [["red"], ["blue"]], match="exact", metrics=["recall@2"])
    assert "searches" not in plain_result.counts
    assert "searches" not in plain_result.settings
    with pytest.raises(UsageError, match="none were looked at"):
        plain_result.with_metrics(["recall@2(of=all)"])


def test_one_basis_for_all_that_are_compared():
    """An agent and a single search are scored on one list: the first search of each."""
    gold, agent = data((["red"], Agent((Search("s", (Doc("a", "red"),)),))))
    single = Run({"q0": Agent(retrieved=(Doc("b", "blue"), Doc("a", "red"))).answer})
    result = evaluate(gold, {"agent": agent, "single": single}, match=Colours(), metrics=["mrr"])
    evaluations = result.evaluations.values()
    assert [of.settings["searches"]["basis"] for of in evaluations] == ["first", "first"]
    assert [of["mrr"] for of in evaluations] == [1.0, 0.5]


def test_the_usual_metrics_are_those_of_searches_too():
    """Nobody has named metrics: costs stand beside them, of tokens where searches say them."""
    names = [*evaluate(GOLD, AGENTS, match="exact").mean]
    assert names[-5:] == ["evidence_recall", "first_search", "rescue", "waste", "searches_per_gold"]
    said = [Searches([Search("one", ("red",), tokens=3)]), AGENTS[1]]
    assert [*evaluate(GOLD, said, match="exact").mean][-2:] == [
        "tokens_per_gold",
        "tokens_to_evidence",
    ]
    counted = evaluate(GOLD, AGENTS, match="exact", metrics=["tokens_per_gold"])
    assert counted.mean == {"tokens_per_gold": 2.0}  # four words, two gold items
    assert counted.settings["searches"]["tokens"] == "counted"
    assert any("tokens of searches" in remark for remark in counted.remarks)


def test_leaks_are_of_all_searches():
    """What a later search brought leaks; what nobody knows is open, and no clean question."""
    forbids = tuple(
        Query(f"q{n}", gold=(Gold(text="red"),), forbidden=(Forbidden(text="black"),))
        for n in range(3)
    )
    black, white = Doc("x", "black"), Doc("y", "white")
    answers = {
        "q0": Agent((Search("s", (black,)), Search("t", (white,)))).answer,
        "q1": Agent((Search("s", (white,)), Search("t", (black,)))).answer,
        "q2": Agent((Search("s", None),)).answer,
    }
    result = evaluate(GoldDataset(forbids), Run(answers), match="exact", metrics=["leak@5", "mrr"])
    assert [values["leak@5"] for values in result.queries.values()] == [1.0, 1.0, None]
    assert [values["mrr"] for values in result.queries.values()] == [0.0, 0.0, None]
    assert result.bounds["leak@5"] == pytest.approx((2 / 3, 1))


@given(questions)
@examples(100)
def test_a_look_ahead_sees_the_same_in_runs_and_batches(of):
    """What decides the basis is the same however the questions come; of all looked at, tokens."""
    of = [
        (texts, replace(agent, searches=tuple(replace(s, tokens=n % 2 or None) for s in searches)))
        for n, (texts, agent) in enumerate(of)
        for searches in [agent.searches]
    ]
    gold, run = data(*of)
    rows = [(None, query, run.results.get(query.id)) for query in gold]
    with patch.object(batch_module, "AT_ONCE", 2):
        seen = seen_in_runs(gold, [run]), seen_in(batches_of(rows))
    assert len({*seen}) == 1
