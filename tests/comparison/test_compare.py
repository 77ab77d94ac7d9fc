"""`compare`: means, differences, who is best, and what may not be compared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from kragx import Gold, UsageError, compare, evaluate, sweep, write_html
from kragx.comparison import (
    QueryChange,
    Settings,
    check_comparable,
    compare_by_matcher,
    compare_scores,
)
from kragx.comparison.compare_retrievers import best_first
from kragx.comparison.scores import Results, RetrieverScores
from kragx.ground.printing import as_markdown
from tests.thoroughness import all_cases, some

from .support import evaluation, gold_set

GOLD = gold_set(40)
GOOD = evaluation(GOLD, "good", lambda i: 1)
FAIR = evaluation(GOLD, "fair", lambda i: 1 if i % 2 else 2)
BAD = evaluation(GOLD, "bad", lambda i: None if i % 4 else 1)


def test_means_are_those_of_the_evaluations():
    """A comparison shows the evaluations' own numbers, each inside its interval."""
    found = compare([GOOD, FAIR, BAD]).overall.means
    for each in (GOOD, FAIR, BAD):
        for metric, value in each.mean.items():
            estimate = found[each.name][metric]
            assert estimate.value == value
            assert estimate.low <= value <= estimate.high
            assert estimate.n == 40


def test_difference_by_hand():
    """Fair against good: 20 queries lose one half, 20 are equal."""
    found = compare([GOOD, FAIR]).overall.difference("mrr@10", "fair")
    assert found.value == -0.25
    assert (found.wins, found.ties, found.losses, found.n) == (0, 20, 20, 40)
    assert found.low < -0.25 < found.high < 0
    assert found.verdict == "worse"
    assert found.effect == pytest.approx(-0.25 / np.std([0, -0.5] * 20, ddof=1))


def test_evaluations_one_by_one():
    """Two evaluations may be named without a list around them; what is none is said to be none."""
    assert compare(GOOD, FAIR, resamples=200) == compare([GOOD, FAIR], resamples=200)
    with pytest.raises(UsageError, match=r"evaluations: 'fair' is no evaluation"):
        compare(GOOD, "fair")


def test_identical_runs():
    """A retriever against itself: p = 1, no interval, no effect, every query a tie, undecided."""
    found = compare({"a": FAIR, "b": FAIR})
    for each in found.overall.differences:
        assert (each.value, each.low, each.high, each.p, each.p_adjusted) == ((0, None, None, 1, 1))
        assert (each.wins, each.ties, each.losses, each.effect) == (0, 40, 0, None)
        assert each.verdict == "undecided"
    assert found.overall.leaders["mrr@10"].tied == ("b",)


def test_the_best_is_alone_or_shares_its_place():
    """Good is best beyond doubt; two that differ in one query of 40 cannot be told apart."""
    nearly = evaluation(GOLD, "nearly", lambda i: 1 if i else 2)
    alone = compare([GOOD, FAIR, BAD]).overall.leaders["mrr@10"]
    assert (alone.best, alone.tied, alone.decided) == ("good", (), True)
    shared = compare([GOOD, nearly, BAD]).overall.leaders["mrr@10"]
    assert (shared.best, shared.tied, shared.decided) == ("good", ("nearly",), False)


def test_a_better_mean_of_other_queries_makes_nobody_the_best():
    """Who is told to be worse where both have a value is no winner, whatever its own mean."""
    gold = [[Gold(text=f"gold {i}")] for i in range(40)]

    def lists(name, *n_copies):
        """How often the gold comes in the first 20 queries, then in the others."""
        runs = [[f"gold {i} {j}" for j in range(n_copies[i >= 20])] for i in range(40)]
        return evaluate(gold, runs, name=name, match="text", metrics=["redundancy@5", "recall@5"])

    found = compare([lists("many", 3, 1), lists("few", 2, 0)])
    leader, verdict = found.overall.leaders["redundancy@5"], found.recommendations[0]
    assert found.overall.difference("redundancy@5", "few").verdict == "better"
    assert (leader.best, leader.decided, leader.marks) == ("many", False, {"many": "=", "few": "≈"})
    assert not verdict.supported
    assert (
        "many has the best value, 0.3333 [0.2358, 0.4475], but few is better on the 20 queries "
        "where both have a value: the difference is +0.1667 (all alike)" in verdict.text
    )
    # In another metric's verdict it stands against nobody, either.
    other = compare([lists("many", 3, 1), lists("few", 2, 0)], metrics=["recall@5", "redundancy@5"])
    assert other.recommendations[0].text.startswith("Use many: in recall@5")
    assert other.recommendations[0].values["opposite"] == []


def test_the_best_of_several_results_is_that_of_what_is_compared():
    """Who has the best mean over questions that the others lack is no baseline for them."""
    own = [
        evaluation(gold_set(30), "late", lambda i: 1 if i >= 10 else None),
        evaluation(gold_set(30), "early", lambda i: 1 if i < 14 else None),
        evaluation(gold_set(15), "few", lambda i: None),
    ]
    assert own[0]["mrr@10"] > own[1]["mrr@10"]
    results = [Results(each.name, (RetrieverScores.of(each),), each.dataset) for each in own]
    (found,) = best_first(results, Settings(resamples=100))
    assert (found.n_queries, found.retrievers) == (15, ("early", "late", "few"))
    assert found.baseline == found.best == "early"


def test_three_queries_decide_nothing():
    """An interval may leave 0 out with three queries; the test does not let it decide."""
    few = gold_set(3)
    pair = [evaluation(few, "a", lambda i: 1), evaluation(few, "b", lambda i: None if i else 2)]
    found = compare(pair).overall.difference("mrr@10", "b")
    assert found.high < 0
    assert found.p == 0.25
    assert found.verdict == "undecided"


def test_corrected_over_every_two_retrievers_the_first_metric_apart():
    """Four retrievers are six pairs, in the first metric and in the other, whoever is set apart."""
    evaluations = [BAD, FAIR, GOOD, evaluation(GOLD, "other", lambda i: 1 if i % 3 else None)]
    plain = compare(evaluations, correction="none").overall
    corrected = compare(evaluations)
    assert (corrected.n_tests, corrected.n_tests_of_others) == (6, 6)
    assert all(each.p == each.p_adjusted for each in plain.differences)
    for before, after in zip(plain.differences, corrected.overall.differences, strict=True):
        assert before.p == after.p <= after.p_adjusted
    assert any(each.p < each.p_adjusted for each in corrected.overall.differences)
    # One pair has one p, whoever asks.
    of = {(each.metric, each.retriever): each for each in corrected.overall.differences}
    for leader in corrected.overall.leaders.values():
        if leader.best != "bad":
            assert leader.against("bad").p_adjusted == of[leader.metric, leader.best].p_adjusted


def test_one_test_is_not_corrected():
    """Two retrievers and one metric are one test: its p is what is said."""
    found = compare([GOOD, evaluation(GOLD, "other", rank)], metrics=["mrr@10"])
    (difference,) = found.overall.differences
    assert found.n_tests == 1
    assert difference.p == difference.p_adjusted
    assert "after correction" not in difference.text


def test_an_interval_beside_a_corrected_p_says_that_it_is_not():
    """An interval without 0 beside "not decided" says why; where both agree nothing is added."""
    (difference,) = compare(
        [GOOD, evaluation(GOLD, "other", rank)], metrics=["mrr@10"]
    ).overall.differences
    shown = {
        verdict: replace(
            difference, low=low, high=0.14, p=0.02, p_adjusted=0.24, verdict=verdict
        ).text
        for verdict, low in (("undecided", 0.01), ("better", 0.01))
    }
    assert shown["undecided"].endswith("p = .240 after correction (the interval is without it)")
    assert shown["better"].endswith("p = .240 after correction")
    across = replace(difference, low=-0.01, high=0.14, p=0.2, p_adjusted=0.4, verdict="undecided")
    assert across.text.endswith("after correction")


def test_each_matchers_verdict_is_a_question_of_its_own():
    """Under two matchers twice as much is looked at beside it; no verdict becomes another one."""
    strict = [replace(each, match_name="strict") for each in (GOOD, FAIR)]
    scores = [RetrieverScores.of(each) for each in (GOOD, FAIR, *strict)]
    alone, both = compare([GOOD, FAIR]), compare_by_matcher(scores, Settings())
    assert (alone.n_tests, alone.n_tests_of_others) == (1, 1)
    assert [(each.n_tests, each.n_tests_of_others) for each in both] == [(1, 2), (1, 2)]
    assert both[0].leader == alone.leader
    assert [each.match for each in both] == ["id", "strict"]


def test_lower_is_better():
    """Less time is better: the best has the least, and a win is a faster answer."""
    fast = evaluation(
        GOLD,
        "fast",
        lambda i: 1,
        metrics=["mrr@10", "seconds_mean"],
        seconds=lambda i: 0.1 + i / 1000,
    )
    slow = evaluation(
        GOLD,
        "slow",
        lambda i: 1,
        metrics=["mrr@10", "seconds_mean"],
        seconds=lambda i: 0.2 + i / 1000,
    )
    found = compare([fast, slow])
    difference = found.overall.difference("seconds_mean", "slow")
    assert difference.value == pytest.approx(0.1)
    assert (difference.wins, difference.losses, difference.verdict) == (0, 40, "worse")
    assert found.overall.leaders["seconds_mean"].best == "fast"
    assert found.better["seconds_mean"] == "lower"


@pytest.mark.integration
@pytest.mark.parametrize("slices", [(), ("part",)])
def test_no_p_but_of_times_depends_on_the_clock(slices):
    """Whatever times were measured, or none, what is found has the same p and n_tests."""
    dataset = gold_set(60, part=lambda i: "x" if i < 30 else "y")
    metrics = ["mrr@10", "recall@10"]

    def found(seconds, *more):
        names = {
            "a": lambda i: 1,
            "b": lambda i: 1 + (i % 13 == 0),
            "c": lambda i: 1 + (i % 17 == 3),
        }
        own = [
            evaluation(
                dataset, name, rank, metrics=[*metrics, *more], seconds=partial(seconds, name)
            )
            for name, rank in names.items()
        ]
        return compare(own, slices=slices)

    def tests(comparison):
        views = [comparison.overall, *comparison.slices]
        return [
            [own for own in view.differences if own.metric in metrics] for view in views
        ], comparison.n_tests

    bare = found(lambda name, i: 0.1)
    fast = found(lambda name, i: 0.1 + "abc".index(name), "seconds_mean")
    noisy = found(lambda name, i: 0.1 + ord(name) * i % 7, "seconds_mean")
    assert tests(fast) == tests(noisy)
    assert bare.n_tests == fast.n_tests
    for alone, beside in zip(bare.overall.differences, tests(fast)[0][0]):
        assert beside == alone
    assert fast.overall.difference("seconds_mean", "c").verdict == "worse"
    n_tests = fast.n_tests, fast.n_tests_of_others, fast.n_tests_of_times
    assert (bare.n_tests_of_times, fast.n_tests_of("seconds_mean")) == (0, n_tests[2])
    # 2: the best is as good in either slice
    assert n_tests == ((3, 3 + 2 * 6 + 2, 9) if slices else (3, 3, 3))
    assert "corrected for all that is looked at" in fast.differences_table().note
    close = fast.overall.difference("mrr@10", "b")
    assert close.p_adjusted > close.p


def test_a_runs_own_number_is_not_tested():
    """A percentile or throughput has no interval and no test, but is shown and subtracted."""
    metrics = ["mrr@10", "seconds_p95", "throughput"]
    dataset = gold_set(30, query_type=lambda i: "ab"[i % 2])
    seconds = {"a": lambda i: 0.1 * (i + 1), "b": lambda i: 0.2 * (i + 1)}
    pair = [
        evaluation(dataset, name, lambda i: 1, metrics=metrics, seconds=seconds[name])
        for name in "ab"
    ]
    found = compare(pair, slices=["query_type"])
    assert found.run_level == ("seconds_p95", "throughput")
    for metric in found.run_level:
        each = found.overall.difference(metric, "b")
        assert each.value == pytest.approx(pair[1].mean[metric] - pair[0].mean[metric])
        assert (each.low, each.p, each.verdict) == (None, None, "untested")
        assert found.overall.means["a"][metric].low is None
        assert not found.overall.leaders[metric].decided
    slices = {each.value: each for each in found.slices}
    tenths = [0.1 * (i + 1) for i in range(0, 30, 2)]
    assert slices["a"].means["a"]["seconds_p95"].value == pytest.approx(np.percentile(tenths, 95))
    assert slices["a"].difference("seconds_p95", "b").verdict == "untested"
    assert slices["a"].means["a"]["throughput"].value is None


def test_a_percentile_is_no_mean_by_chance():
    """Where every answer took as long, a percentile equals the mean, and still is not tested."""
    pair = [
        evaluation(GOLD, name, lambda i: 1, metrics=["seconds_p50"], seconds=lambda i: 0.1)
        for name in "ab"
    ]
    found = compare(pair)
    assert found.run_level == ("seconds_p50",)
    assert found.overall.difference("seconds_p50", "b").p is None


def test_the_first_metric_asked_for_is_the_primary():
    """Also where it is a measure: what people decide by comes first, whatever its kind."""
    metrics = ["judged@5", "mrr@10", "seconds_mean", "recall@5"]
    asked = evaluation(GOLD, "a", lambda i: 1, metrics=metrics, seconds=lambda i: 0.1)
    assert list(asked.mean) == metrics
    assert asked.settings["metrics"] == metrics
    assert list(asked.with_metrics(["recall@5", "judged@1", "mrr@5"]).mean) == [
        "recall@5",
        "judged@1",
        "mrr@5",
    ]
    assert compare([asked]).primary == "judged@5"
    texts = evaluate([["the gold"]], [["the gold"]], match="overlap", metrics=metrics[:2])
    assert list(texts.at_threshold(0.4).mean) == metrics[:2]


def test_of_some_queries_means_are_over_those_compared():
    """Where not all queries are shared, the difference is that of the means beside it."""
    some = gold_set(30)
    pair = [evaluation(GOLD, "all", lambda i: 1 if i < 30 else 2), evaluation(some, "some", rank)]
    found = compare(pair, anyway=True)
    means = {name: each["mrr@10"].value for name, each in found.overall.means.items()}
    assert means == {"all": 1.0, "some": 0.75}
    assert found.overall.difference("mrr@10", "some").value == -0.25
    assert any("left out of the comparison: 10" in each for each in found.cautions)


def rank(i):
    """Every other query second."""
    return 1 + i % 2


def test_pairs_are_the_queries_where_both_have_a_value():
    """Redundancy is undefined without a relevant document; a difference says how many have it."""
    metrics = ["mrr@10", "redundancy@10"]
    some = evaluation(GOLD, "some", lambda i: 1 if i < 25 else None, metrics=metrics)
    others = evaluation(GOLD, "others", lambda i: 1 if i >= 15 else None, metrics=metrics)
    found = compare([some, others]).overall
    assert found.means["some"]["redundancy@10"].n == 25
    assert found.means["others"]["redundancy@10"].n == 25
    assert found.difference("redundancy@10", "others").n == 10
    assert found.difference("mrr@10", "others").n == 40


def test_a_metric_without_any_value():
    """What no query has a value of is None everywhere, and nobody leads."""
    none = [evaluation(GOLD, n, lambda i: None, metrics=["redundancy@5", "mrr@5"]) for n in "ab"]
    found = compare(none)
    each = found.overall.difference("redundancy@5", "b")
    assert (each.value, each.p, each.n, each.verdict) == (None, None, 0, "untested")
    assert "redundancy@5" not in found.overall.leaders


def test_same_seed_same_bits():
    """The same seed gives the same comparison, another seed other intervals."""
    assert compare([FAIR, BAD]).to_dict() == compare([FAIR, BAD]).to_dict()
    assert compare([FAIR, BAD], seed=1).to_dict() != compare([FAIR, BAD]).to_dict()


def test_order_of_queries_does_not_matter():
    """Queries join by id: another order of the same gold set gives the same differences."""
    turned = replace(GOLD, queries=GOLD.queries[::-1])
    backwards = evaluation(turned, "fair", lambda i: 1 if (39 - i) % 2 else 2)
    assert backwards.query_ids[0] == "q39"
    found = compare([GOOD, backwards]).overall.difference("mrr@10", "fair")
    assert found == compare([GOOD, FAIR]).overall.difference("mrr@10", "fair")


def test_baseline_and_metrics_by_any_spelling():
    """The baseline is named; metrics are read as everywhere."""
    found = compare([GOOD, FAIR, BAD], baseline="bad", metrics=["MRR@10"])
    assert found.baseline == "bad"
    assert found.metrics == ("mrr@10",)
    assert {each.retriever for each in found.overall.differences} == {"good", "fair"}


@all_cases(
    ("arguments", "message"),
    [
        ({"baseline": "god"}, "baseline: 'god' is not compared; perhaps you meant 'good'"),
        ({"metrics": ["ndcg@10"]}, "metric 'ndcg@10' was not computed for 'good'"),
        ({"confidence": 95}, "confidence: 95 is not between 0.5 and 0.9999"),
        ({"resamples": 10}, "resamples: 10 is not a whole number of at least 100"),
        ({"resamples": 1e4}, "resamples: 10000.0 is not a whole number of at least 100"),
        ({"resamples": 10**12}, "resamples: 1000000000000 is more than 1000000"),
        ({"confidence": True}, "confidence: True is not between 0.5 and 0.9999"),
        ({"seed": -1}, "seed: -1 is not a whole number of at least 0"),
        ({"correction": "bonferroni"}, "correction: unknown value 'bonferroni'"),
        ({"slices": ["query_type"], "dataset": gold_set(3)}, "dataset: query 'q3'"),
    ],
)
def test_wrong_arguments(arguments, message):
    """A wrong argument is named, with its value and the remedy."""
    with pytest.raises(UsageError) as raised:
        compare([GOOD, FAIR], **arguments)
    assert message in str(raised.value)


def test_two_of_one_name_and_none_at_all():
    """Names tell retrievers apart, so each needs its own; and something must be compared."""
    with pytest.raises(UsageError, match="two are called 'fair'"):
        compare([FAIR, FAIR])
    with pytest.raises(UsageError, match="none is given"):
        compare([])


def test_whatever_evaluate_gave(tmp_path):
    """One evaluation, several as they come, lists and mappings go wherever evaluations do."""
    gold, one, other = [["Seoul"], ["Busan"]], [["Seoul"], []], [["Busan"], ["Busan"]]
    alone, several = evaluate(gold, one), evaluate(gold, {"one": one, "other": other})
    assert several.get("third") is None
    assert dict(several) == several.evaluations
    for evaluations in (several, dict(several), [*several.values()]):
        assert compare(evaluations).retrievers == ("one", "other")
        assert [*sweep(evaluations).values] == ["one", "other"]
        write_html(evaluations, tmp_path / "several.html")
    assert compare(alone).retrievers == ("run",)
    assert [*sweep(alone).values] == ["run"]
    write_html(alone, tmp_path / "alone.html")


@pytest.mark.parametrize("value", [None, 5, "run.jsonl", [["Seoul"]], {"one": [["Seoul"]]}])
@pytest.mark.parametrize("call", [compare, sweep, partial(write_html, path="report.html")])
def test_what_is_no_evaluation(call, value):
    """It is quoted, a text as a whole, with what is."""
    with pytest.raises(UsageError, match="is no evaluation; pass what") as raised:
        call(value)
    assert value != "run.jsonl" or "'run.jsonl' is no" in str(raised.value)


@all_cases(
    ("change", "reason"),
    [
        ({"dataset": {"name": "gold", "version": "2", "hash": "f" * 64}}, "the gold sets differ"),
        ({"match": {"method": "exact"}}, "the matchers differ (method 'id' and 'exact'"),
        ({"pool": {"hash": "abc"}}, "different pools (gold and abc)"),
        ({"facts_match": {"method": "text"}}, "facts are matched differently"),
        ({"deviations": {"no_gold": "zero"}}, "queries without gold are treated differently"),
    ],
)
def test_refuses_what_does_not_mean_the_same(change, reason):
    """Other gold, matcher, pool or rules are refused with the reason, unless told otherwise."""
    other = replace(FAIR, settings={**FAIR.settings, **change})
    with pytest.raises(UsageError) as raised:
        compare([GOOD, other])
    assert "'good' and 'fair' cannot be compared" in str(raised.value)
    assert reason in str(raised.value)
    assert "--anyway" in str(raised.value)
    cautions = compare([GOOD, other], anyway=True).cautions
    assert any("compared all the same" in each and reason in each for each in cautions)


def test_refuses_other_profiles():
    """Numbers of two profiles are not the same numbers."""
    other = evaluation(GOLD, "fair", lambda i: 1, profile="trec")
    with pytest.raises(UsageError, match=r"the profiles differ \(.*name 'kragx' and 'trec'"):
        compare([GOOD, other])


def unhashed(evaluated, name):
    """The same without a content hash, as results of an earlier version may be."""
    unknown = {"name": "gold", "version": None, "hash": None}
    return replace(evaluated, name=name, settings={**evaluated.settings, "dataset": unknown})


def test_gold_without_a_hash():
    """Without a hash the gold set is taken to be the same if the queries are, and that is said."""
    one = unhashed(GOOD, "one")
    assert "has no content hash" in compare([one, unhashed(FAIR, "other")]).cautions[0]
    assert "has no content hash" in compare([GOOD, unhashed(FAIR, "other")]).cautions[0]
    fewer = unhashed(evaluation(gold_set(39), "fewer", lambda i: 1), "fewer")
    with pytest.raises(UsageError, match=r"different queries \(40 and 39\)"):
        compare([one, fewer])
    anyway = compare([one, fewer], anyway=True)
    assert len(anyway.query_ids) == 39
    assert any("left out of the comparison: 1" in each for each in anyway.cautions)


def test_plain_mappings():
    """Evaluations of one mapping can be compared, those of another gold cannot."""
    gold = {"q0": {"g0": 1}, "q1": {"g1": 1}}
    one = evaluate(gold, {"q0": {"g0": 1.0}, "q1": {"x": 1.0}}, match="id", metrics=["mrr@5"])
    assert compare({"one": one, "other": one}).cautions == (
        "differences between retrievers cannot be decided with 2 questions: the least p that they "
        "can reach is .500; 6 questions can, if all of them agree; some "
        "fifty are a start",
    )
    fewer = evaluate({"q0": {"g0": 1}}, {"q0": {"g0": 1.0}}, match="id", metrics=["mrr@5"])
    with pytest.raises(UsageError, match="the gold sets differ"):
        compare({"one": one, "fewer": fewer})


def test_states_of_a_gold_set_are_compared_where_they_are_the_same():
    """By hand: of 40 questions one changes and one goes; the means are those of the other 38."""
    first, second, *rest = GOLD.queries
    grown = replace(first, gold=(*first.gold, Gold("more")))
    later = evaluation(replace(GOLD, queries=(grown, *rest), version="2"), "later", lambda i: 2)
    mixed = evaluation(GOLD, "mixed", lambda i: 1 if i > 1 else None)
    comparison = compare([mixed, later])
    assert comparison.n_queries == 38
    (gold,) = comparison.gold
    assert (gold.changed, gold.only_earlier, gold.n_same) == ((first.id,), (second.id,), 38)
    assert comparison.overall.means["later"]["mrr@10"].value == 0.5
    assert mixed.mean["mrr@10"] == 0.95
    assert comparison.overall.means["mixed"]["mrr@10"].value == 1
    assert not any("left out of the comparison" in caution for caution in comparison.cautions)
    assert "2 questions are not the same (1 changed, 1 only in the earlier: " in str(comparison)
    assert comparison.to_dict()["gold"][0]["later"]["version"] == "2"
    anyway = compare([GOOD, later], anyway=True)
    assert anyway.n_queries == 39
    assert str(anyway).count("the gold sets differ") == 1
    labelled = tuple(replace(query, query_type="why") for query in GOLD)
    same = compare([GOOD, evaluation(replace(GOLD, queries=labelled), "later", lambda i: 2)])
    assert same.n_queries == 40
    assert "no question differs in what metrics read" in str(same)


@pytest.mark.parametrize(
    ("match", "same"),
    some(
        [
            ("id", 37),
            ({"any": ["id", "exact"]}, 37),
            ("exact", 39),
            ("span", 39),
            ({"cascade": [{"method": "rouge2", "accept": 0.9, "reject": 0.1}, "exact"]}, 39),
        ],
        3,
    ),
)
def test_a_gold_set_that_has_moved(match, same):
    """By hand: of 40 questions one changes, two have gold under other ids, one a move's record.

    A matcher that compares texts compares all but the one that changes.
    """
    texts = tuple(
        replace(query, gold=tuple(replace(own, text=f"the passage {own.id}") for own in query.gold))
        for query in GOLD
    )
    before = replace(GOLD, queries=texts)
    first, second, third, fourth, *rest = texts
    (gold,) = third.gold

    def elsewhere(query, **metadata):
        (own,) = query.gold
        return replace(query, gold=(replace(own, id=f"n-{own.id}", metadata=metadata),))

    record = {"from": [gold.id], "to": [f"n-{gold.id}"]}
    changed = replace(fourth, reference="another")
    queries = (elsewhere(first), elsewhere(second), elsewhere(third, move=record), changed, *rest)
    after = replace(before, queries=queries, version="2")
    results = {}
    for name, dataset in (("before", before), ("after", after)):
        run = {
            query.id: [{"id": own.id, "text": own.text} for own in query.gold] for query in dataset
        }
        results[name] = evaluate(dataset, run, match=match, metrics=["mrr@10"])
    comparison = compare(results)
    (versions,) = comparison.gold
    assert versions.n_same == same
    assert comparison.n_queries == same
    assert len(versions.changed) == 40 - same
    assert compare(results, anyway=True).n_queries == 40


def test_a_gold_set_that_has_only_moved():
    """Nothing is left out, and that is said, also to who compares anyway."""
    (gold,) = GOLD.queries[0].gold
    later = replace(
        GOLD.queries[0],
        gold=(replace(gold, id="n", metadata={"move": {"from": [gold.id], "to": ["n"]}}),),
    )
    other = evaluation(replace(GOLD, queries=(later, *GOLD.queries[1:])), "later", lambda i: 2)
    for anyway in (False, True):
        comparison = compare([GOOD, other], anyway=anyway)
        assert comparison.n_queries == 40
        text = "no question differs in what metrics read"
        assert str(comparison).count(text) == 1


def test_three_states_of_a_gold_set():
    """What is not the same in all three is left out, and each state is named once."""

    def state(number):
        changed = replace(GOLD.queries[number], reference="another")
        own = (*GOLD.queries[:number], changed, *GOLD.queries[number + 1 :])
        return replace(GOLD, queries=own, version=str(number))

    names = {1: "one", 2: "two"}
    others = [evaluation(state(number), names[number], lambda i: 1) for number in names]
    comparison = compare([GOOD, *others])
    assert comparison.n_queries == 38
    assert [own.changed for own in comparison.gold] == [("q1",), ("q2",)]


def test_no_query_in_common_cannot_be_compared_at_all():
    """Even when told to, queries that do not join are an error."""
    other = evaluation(replace(gold_set(2), queries=gold_set(44).queries[42:]), "far", lambda i: 1)
    with pytest.raises(UsageError, match="no query in common"):
        compare([GOOD, other], anyway=True)


def test_metrics_that_not_all_have():
    """Shared metrics are compared and the others named; without any there is nothing to compare."""
    more = evaluation(GOLD, "more", lambda i: 1, metrics=["mrr@10", "ndcg@3"])
    found = compare([GOOD, more])
    assert found.metrics == ("mrr@10",)
    assert found.cautions == ("not compared, as not all have it: recall@10, ndcg@3",)
    with pytest.raises(UsageError, match=r"common \(good: mrr@10, recall@10; more: ndcg@3\); comp"):
        compare([GOOD, more.with_metrics(["ndcg@3"])])


def test_too_few_resamples_for_the_confidence():
    """Where no p can be small enough, the comparison says so and the remedy."""
    found = compare([GOOD, FAIR], resamples=100, confidence=0.995)
    assert found.cautions == (
        "differences between retrievers cannot be decided with 40 questions: the least p that they "
        "can reach is .010; no p of 100 resamples is small enough, so raise 'resamples'",
    )
    assert compare([GOOD, FAIR], resamples=100).cautions == ()


def test_one_retriever_alone():
    """A single evaluation has intervals, no differences and no leader."""
    found = compare([FAIR])
    assert found.overall.differences == ()
    assert found.overall.leaders == {}
    assert found.overall.means["fair"]["mrr@10"].low < 0.75


def test_what_is_kept_of_a_report_is_enough():
    """Scores read from a report's JSON give the same comparison as the evaluations."""
    rows = [
        {"retriever": each.name, "match": each.match_name, **each.to_dict(queries=True)}
        for each in (GOOD, BAD)
    ]
    read = [RetrieverScores.read(row, {}) for row in rows]
    assert compare_scores(read, Settings()).to_dict() == compare([GOOD, BAD]).to_dict()


def test_check_comparable_says_nothing_of_equal_settings():
    """What differs in nothing that matters has no cautions."""
    assert check_comparable([GOOD, FAIR, BAD]) == ()


def test_sums_that_differ_in_their_last_bits_are_the_same_best_value():
    """Two means of thirds that come out a bit apart are both shown as the best."""
    ranks = [1, 2, 3] * 14
    one = evaluation(gold_set(42), "one", lambda i: ranks[i])
    other = evaluation(gold_set(42), "other", lambda i: sorted(ranks)[i])
    last = evaluation(gold_set(42), "last", lambda i: 3)
    bits = np.nextafter(one.mean["mrr@10"], 1)
    scored = [RetrieverScores.of(each) for each in (one, other, last)]
    scored[1] = replace(scored[1], means={**scored[1].means, "mrr@10": float(bits)})
    found = compare_scores(scored, Settings()).overall
    marks = [found.standing("mrr@10", name) for name in ("one", "other", "last")]
    assert marks == ["=", "=", ""]


def test_what_changed_in_words():
    """A query's first metrics before and after: three of them, or as many as are asked for."""
    before, after = dict.fromkeys("abcd", 0.5), dict.fromkeys("abcd", 1.0)
    change = QueryChange("q1", None, before, after, 0.5)
    assert change.values_text(1) == "a 0.5000 → 1.0000"
    assert change.values_text().count("→") == 3


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, {"hit_rate@5": "too few to tell", "mrr@10": "too few to tell"}),
        (2, {"hit_rate@5": "too few to tell", "mrr@10": "too few to tell"}),
        (30, {"hit_rate@5": "[0.8865, 1.0000]", "mrr@10": "all alike"}),
    ],
)
def test_what_stands_for_an_interval(n, expected):
    """One and two questions are too few; hits alone have Wilson's, equal values inside none."""
    found = compare([evaluation(gold_set(n), "a", lambda i: 2, metrics=list(expected))])
    assert {metric: mean.ends for metric, mean in found.overall.means["a"].items()} == expected
    text = as_markdown(found.describe())
    for ends in set(expected.values()) - {"[0.8865, 1.0000]"}:
        assert f"{ends}: " in text, "the table says what it means"


def test_a_run_s_own_number_has_none():
    """A percentile is no mean: nothing stands in place of its interval."""
    timed = evaluation(GOLD, "a", lambda i: 1, metrics=["seconds_p95"], seconds=lambda i: 0.1)
    mean = compare([timed]).overall.means["a"]["seconds_p95"]
    assert (mean.is_mean, mean.ends, mean.low) == (False, "", None)


def test_last_digits_are_no_difference():
    """.1 + .2 against .3 is a difference of 0 with ties alone, not one of 1e-17."""
    exact, summed = (replace(RetrieverScores.of(own), nearby=None) for own in (FAIR, GOOD))
    third = {"mrr@10": np.full(40, 0.3)}
    exact = replace(exact, values=third, means={"mrr@10": 0.3})
    summed = replace(
        summed, values={"mrr@10": third["mrr@10"] + 5e-17}, means={"mrr@10": 0.1 + 0.2}
    )
    pair = [exact, summed]
    (found,) = compare_scores(pair, Settings(), metrics=["mrr@10"]).overall.differences
    assert (found.value, found.low, found.p, found.ties) == (0.0, None, 1.0, 40)
    assert found.verdict == "undecided"


def test_all_differ_by_the_same():
    """Without an interval p decides: forty better by a half are better, three are not."""
    for n, verdict in ((40, "worse"), (3, "undecided")):
        gold = gold_set(n)
        pair = [evaluation(gold, "a", lambda i: 1), evaluation(gold, "b", lambda i: 2)]
        (found,) = compare(pair, metrics=["mrr@10"]).overall.differences
        assert (found.low, found.ends, found.verdict) == (None, "all alike", verdict)
