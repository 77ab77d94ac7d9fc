"""Recommendations follow from the numbers, and say so when the data does not support one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kragx import compare
from kragx.comparison import RetrieverScores, Settings, compare_scores
from kragx.comparison.verdict import needed_text
from tests.thoroughness import some

from .support import evaluation, gold_set

TIMED = ["mrr@10", "recall@1", "recall@10", "seconds_mean"]


def advice(evaluations, **options):
    """Recommendations by kind."""
    found = compare(evaluations, **options).recommendations
    assert len({each.kind for each in found}) == len(found)
    return {each.kind: each for each in found}


def test_a_clear_winner():
    """Who is better than every other is recommended, with its value and the next one's distance."""
    dataset = gold_set(40)
    found = advice(
        [
            evaluation(dataset, "a", lambda i: 2),
            evaluation(dataset, "b", lambda i: 1),
            evaluation(dataset, "c", lambda i: 3),
        ]
    )
    assert found["winner"].supported
    assert found["winner"].values["best"] == "b"
    assert found["winner"].values["next"] == "a"
    assert "Use b: in mrr@10" in found["winner"].text
    assert "+0.5000 (all alike), p " in found["winner"].text
    assert "no_winner" not in found


def test_no_winner_says_how_many_queries_it_would_take():
    """Where the data does not decide, no retriever is recommended."""
    dataset = gold_set(40)
    found = advice(
        [
            evaluation(dataset, "a", lambda i: 1 + i % 3),
            evaluation(dataset, "b", lambda i: 1 + (i + (i < 4)) % 3),
        ]
    )
    assert not found["no_winner"].supported
    assert "The data does not say which retriever is best in mrr@10" in found["no_winner"].text
    text = found["no_winner"].text
    few = found["no_winner"].values["queries_needed"]
    assert 40 < few < 400
    assert text.endswith(
        f"It would take about {few} queries at the least, perhaps many more (there are 40)."
    )


def test_retrievers_that_find_the_same():
    """Equal on every query is said as such, and no number of queries would tell."""
    dataset = gold_set(20)
    found = advice([evaluation(dataset, name, lambda i: 1 + i % 3) for name in "ab"])["no_winner"]
    assert found.text.startswith("a and b have the same value for every query in mrr@10, 0.6250 [")
    assert found.values["queries_needed"] is None
    assert not found.supported


def test_the_same_is_not_undecided():
    """A table says of two that never differ that they are the same; of a tie that it is open."""
    dataset = gold_set(40)
    lists = [
        evaluation(dataset, "a", lambda i: 1 + i % 3),
        evaluation(dataset, "b", lambda i: 1 + i % 3),
        evaluation(dataset, "c", lambda i: 2 + i % 3 if i == 3 else 1 + i % 3),
    ]
    same, tie = compare(lists, metrics=["mrr@10"]).overall.differences
    assert same.sentence.endswith("; the same")
    assert tie.sentence.endswith("; undecided")


def test_times_decide_and_are_no_price():
    """Where a time is the first metric nothing is said of what it buys, nor is it tested."""
    seconds = {"a": lambda i: 0.1, "b": lambda i: 0.3 + i / 100}
    metrics = ["seconds_p95", "seconds_mean"]
    found = advice(
        [
            evaluation(gold_set(20), name, lambda i: 1, metrics=metrics, seconds=seconds[name])
            for name in "ab"
        ]
    )
    assert "a run's own number, which is not tested" in found["no_winner"].text
    assert "cost" not in found


@pytest.mark.integration
def test_the_fastest_of_those_that_tie():
    """Among the tied ones the fastest is named; a winner's price is named as well."""
    dataset = gold_set(40)
    tie = [
        evaluation(dataset, "slow", lambda i: 1, metrics=TIMED, seconds=lambda i: 0.9),
        evaluation(dataset, "fast", lambda i: 1 if i else 2, metrics=TIMED, seconds=lambda i: 0.1),
        evaluation(dataset, "bad", lambda i: None, metrics=TIMED, seconds=lambda i: 0.01),
    ]
    found = advice(tie)
    assert found["cost"].values["fastest"] == "fast"
    assert found["cost"].values["ratio"] > 8
    won = advice([tie[0], tie[2]])
    assert won["cost"].values["fastest"] == "bad"
    assert "takes 90.0 times as long as bad" in won["cost"].text


@pytest.mark.parametrize(
    ("slow", "fast"),
    some(
        [
            (lambda i: 0.0009, lambda i: 0.0001),  # nine times, but less than a millisecond
            (lambda i: 0.5 if i == 3 else 0.01, lambda i: 0.01),  # one slow answer of forty
            (lambda i: 0.012 + i % 3 / 1000, lambda i: 0.01),  # less than half as long again
        ],
        3,
    ),
)
@pytest.mark.parametrize("metric", ["seconds_mean", "seconds_p95"])
def test_noise_makes_nobody_fast(slow, fast, metric):
    """Differences below a millisecond, of a ratio below 1.5, or within their interval are none."""
    dataset, metrics = gold_set(40), ["mrr@10", metric]
    found = advice(
        [
            evaluation(dataset, "slow", lambda i: 1, metrics=metrics, seconds=slow),
            evaluation(dataset, "fast", lambda i: 1 + (i == 0), metrics=metrics, seconds=fast),
        ]
    )
    assert "cost" not in found


@pytest.mark.integration
def test_how_many_queries_is_a_range():
    """From a difference larger by its standard error to a smaller one, or many more."""
    dataset = gold_set(60)

    def said(n_won, n_lost):
        def second(i):
            return 2 if i < n_won else 1

        def first(i):
            return 2 if 20 <= i < 20 + n_lost else 1

        pair = [evaluation(dataset, "a", first), evaluation(dataset, "b", second)]
        return advice(pair, metrics=["mrr@10"])["no_winner"]

    near = said(7, 1)
    few, many = near.values["queries_needed"], near.values["queries_needed_at_most"]
    assert 60 < few < many <= 600
    assert near.text.endswith(f"About {few} to {many} queries would decide (there are 60).")
    assert str(few).rstrip("0") == str(few)[:2].rstrip("0")  # two digits
    far = said(8, 3)
    few, many = far.values["queries_needed"], far.values["queries_needed_at_most"]
    assert many is None
    assert far.values["many_more"]
    text = f"It would take about {few} queries at the least, perhaps many more (there are 60)."
    assert far.text.endswith(text)
    further = said(8, 7)
    few = further.values["queries_needed"]
    assert 60 < few < 600
    text = f"It would take about {few} queries at the least, perhaps many more (there are 60)."
    assert further.text.endswith(text)
    six = [
        evaluation(dataset, name, lambda i, at=at: 2 if at * 9 <= i < at * 9 + 9 else 1)
        for at, name in enumerate("abcdef")
    ]
    hardest = advice(six, metrics=["mrr@10"])["no_winner"]
    assert hardest.values["queries_needed"] is None
    assert hardest.values["many_more"]
    assert hardest.text.endswith("Many more queries would be needed to decide (there are 60).")


def test_five_questions_have_a_word_on_how_many():
    """Also where all five differ by the same, which has no spread to reckon with."""
    dataset = gold_set(5)
    pair = [evaluation(dataset, "a", lambda i: 1), evaluation(dataset, "b", lambda i: 2)]
    told = advice(pair, metrics=["mrr@10"])["no_winner"]
    assert told.text.endswith(
        "So few queries (5) do not say how many would decide; some fifty are a start."
    )


def test_gold_further_down_is_not_nothing():
    """Where the first metric is 0 for all and a deeper one is not, that is not called nothing."""
    dataset = gold_set(20)
    ranks = {"a": lambda i: 4, "b": lambda i: 4 if i % 2 else None}
    metrics = ["ndcg@1", "mrr@1", "recall@1", "recall@10"]
    pair = [evaluation(dataset, name, rank, metrics=metrics) for name, rank in ranks.items()]
    found = compare(pair)
    told, *others = found.recommendations
    assert told.text == "ndcg@1 is 0 for every retriever, and so none is better in it."
    assert "reranking" in {other.kind for other in others}
    assert str(found.overall.best_cell("ndcg@1").text) == "0 for all"
    nothing = compare(pair, metrics=["ndcg@1", "mrr@1"])
    assert nothing.recommendations[0].values["nothing_found"]
    assert nothing.overall.best_cell("ndcg@1").text == "none found anything"


def test_the_verdict_says_where_another_is_better_for_sure():
    """By mrr one is better than every other, by recall another: the sentence has both."""
    dataset = gold_set(200)
    ranks = {
        "a": lambda i: None if i % 3 == 0 else 1,
        "b": lambda i: 1 if i % 25 == 0 else 4,
    }
    metrics = ["mrr@10", "recall@10", "hit_rate@10"]
    pair = [evaluation(dataset, name, rank, metrics=metrics) for name, rank in ranks.items()]
    told = compare(pair, metrics=["mrr@10", "recall@10"]).recommendations[0]
    assert told.text.startswith("Use a: in mrr@10 it is better than every other retriever")
    assert " But b is better than it in recall@10: the difference is +0.3" in told.text
    (other,) = told.values["opposite"]
    assert (other["retriever"], other["metrics"]) == ("b", ["recall@10"])
    assert other["difference"] == pytest.approx(67 / 200)
    alone = compare(pair, metrics=["mrr@10"]).recommendations[0]
    assert told.text.startswith(alone.text)
    assert alone.values["opposite"] == []
    several = compare(pair).recommendations[0].text
    assert "in recall@10 and hit_rate@10: in recall@10 the" in several


@pytest.mark.integration
def test_routing_only_where_a_slice_says_so():
    """Another winner in a slice is a reason to route; without one nothing is said of it."""
    dataset = gold_set(60, query_type=lambda i: "law" if i < 20 else "other")
    mixed = [
        evaluation(dataset, "a", lambda i: 5 + i % 2 if i < 20 else 1),
        evaluation(dataset, "b", lambda i: 1 if i < 20 else 2),
    ]
    found = advice(mixed, slices=["query_type"])
    assert found["routing"].values["value"] == "law"
    assert found["routing"].values["best"] == "b"
    same = advice([mixed[0], evaluation(dataset, "c", lambda i: 7)], slices=["query_type"])
    assert "routing" not in same
    assert same["weak_slice"].values["value"] == "law"


def test_no_slice_is_weak_in_what_has_no_direction():
    """Less of a metric that is neither better high nor low is no weakness."""
    dataset = gold_set(60, query_type=lambda i: "law" if i < 20 else "other")
    scores = RetrieverScores.of(evaluation(dataset, "a", lambda i: 5 + i % 2 if i < 20 else 1))
    undirected = replace(scores, better={**scores.better, "mrr@10": "neither"})
    for of_a, expected in ((scores, True), (undirected, False)):
        found = compare_scores([of_a], Settings(), slices=["query_type"], dataset=dataset)
        kinds = {advised.kind for advised in found.recommendations}
        assert ("weak_slice" in kinds) == expected


def test_what_nobody_finds():
    """Queries that no retriever answers are listed."""
    dataset = gold_set(20)
    found = advice(
        [
            evaluation(dataset, "a", lambda i: None if i < 4 else 1),
            evaluation(dataset, "b", lambda i: 2 if i == 3 or i > 9 else None),
        ]
    )
    assert found["unfound"].values["query_ids"] == ["q0", "q1", "q2"]
    assert "3 of 20 queries have recall@10 = 0 for every retriever" in found["unfound"].text


def test_reranking():
    """Gold further down is what reranking could raise."""
    dataset = gold_set(20)
    metrics = ["recall@10", "recall@1", "hit_rate@10"]
    found = advice(
        [evaluation(dataset, n, lambda i: 1 if i % 2 else 4, metrics=metrics) for n in "ab"]
    )
    assert found["reranking"].values["near_value"] == 0.5
    assert "could raise recall@1 by 0.5000 at most" in found["reranking"].text


def test_budgets_and_options_are_no_depth():
    """A metric cut at a budget, or with options, is no deeper or shallower than another."""
    dataset = gold_set(20)
    metrics = ["recall@5", "recall@500tokens", "recall@50chars", "recall@10(rel=2)"]
    found = advice(
        [evaluation(dataset, n, lambda i: 1 if i else None, metrics=metrics) for n in "ab"]
    )
    assert found["unfound"].values["metric"] == "recall@5"
    assert "reranking" not in found


def test_one_retriever():
    """Alone there is nothing to choose, which is said."""
    found = advice([evaluation(gold_set(12), "a", lambda i: 1)])
    assert not found["one_retriever"].supported


@pytest.mark.parametrize("n", [2, 5, 19])
def test_few_queries_do_not_say_how_many_would_decide(n):
    """Of a few of which one differs, no number is told that one more question would seem to be."""
    gold = gold_set(n)
    pair = compare(
        [evaluation(gold, "a", lambda i: 1), evaluation(gold, "b", lambda i: 1 + (i == 1))]
    )
    told = f"So few queries ({n}) do not say how many would decide; some fifty are a start."
    assert pair.recommendations[0].text.endswith(told)
    assert pair.recommendations[0].values["queries_needed"] is None
    assert pair.recommendations[0].values["many_more"]
    if n == 2:
        (caution,) = pair.cautions
        assert caution.endswith(
            "the least p that they can reach is .500; 6 questions can, if all of them agree; "
            "some fifty are a start"
        )


def test_a_range_of_one_number_is_one_number():
    """Where so many queries are enough in any case, and fewer are not, they stand once."""
    once, twice = (needed_text((21, most), 20, many_more=False) for most in (21, 22))
    assert once == "About 21 queries would decide (there are 20)."
    assert twice == "About 21 to 22 queries would decide (there are 20)."


@pytest.mark.parametrize(
    ("third", "why"),
    [
        (5, ", but cannot be told from each other."),
        (2, ", but cannot be told from c; to b the difference is +0.0000"),
    ],
)
def test_several_have_the_best_value(third, why):
    """Both that have the best value are named, and only others are what they tie with.

    a and b find odd and even queries first and the rest at rank 2; c finds none before rank 5, or
    all but one as a does.
    """
    gold = gold_set(40)
    lists = [
        evaluation(gold, "a", lambda i: 1 + i % 2),
        evaluation(gold, "b", lambda i: 2 - i % 2),
        evaluation(gold, "c", lambda i: 5 if third == 5 or i == 0 else 1 + i % 2),
    ]
    verdict, *_ = compare(lists).recommendations
    assert "best in mrr@10: a and b have the best value, 0.7500" in verdict.text
    assert why in verdict.text
    assert verdict.values["shared"] == ["a", "b"]


@pytest.mark.integration
def test_a_number_that_is_not_tested_is_no_best_in_a_slice():
    """Of a run's own number a slice says who has the best value, and that it is not tested."""
    gold = gold_set(20, query_type=lambda i: "ab"[i % 2])
    options = {"metrics": ["mrr@10", "seconds_p95"]}
    pair = [
        evaluation(gold, "slow", lambda i: 1, seconds=lambda i: 2.0, **options),
        evaluation(gold, "fast", lambda i: 1, seconds=lambda i: 1.0, **options),
    ]
    part, _ = compare(pair, dataset=gold, slices=["query_type"]).slices
    assert part.best_cell("seconds_p95").text == "not tested, fast 1.0000"
