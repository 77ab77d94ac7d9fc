"""Comparisons of questions that stand for unlike many asks: by hand, folded as unfolded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import Gold, GoldDataset, Run, compare, evaluate, sweep
from kragx.comparison import (
    Results,
    RetrieverScores,
    Settings,
    changes,
    check_gates,
    compare_scores,
    parse_gates,
    undecidable,
)
from kragx.comparison.aligned import Aligned, Column
from kragx.comparison.pair_tests import PairTests
from kragx.comparison.statistics import (
    effect_sizes,
    mean_intervals,
    sign_flip_p,
    sure_bounds,
    worse_parts,
)
from kragx.comparison.tuning import Setting, SettingResult, tuned
from kragx.comparison.verdict import needed_queries
from kragx.data.runs import Retrieved
from kragx.errors import UsageError
from kragx.evaluation.curves import curves
from kragx.metrics.intervals import with_exact_limits

from .support import evaluation, gold_set

METRICS = ("hit_rate@1", "mrr@10", "seconds_p50")


def weighted(dataset, weight):
    """The same gold set, each question standing for so many asks."""
    queries = (replace(query, weight=float(weight(i))) for i, query in enumerate(dataset))
    return GoldDataset(tuple(queries))


def unfolded(dataset):
    """Each question as often as it is asked."""
    return GoldDataset(
        tuple(
            replace(query, id=f"{query.id}-{time}", weight=1.0)
            for query in dataset
            for time in range(int(query.weight))
        )
    )


def pair(dataset, one, other, number=lambda dataset, i: i, **options):
    """Two retrievers that find the gold of question i at ranks `one(i)` and `other(i)`."""
    return [
        evaluation(
            dataset,
            name,
            lambda i, rank=rank: rank(number(dataset, i)),
            metrics=METRICS,
            seconds=lambda i, rank=rank: 0.1 * (rank(number(dataset, i)) or 5),
            **options,
        )
        for name, rank in (("one", one), ("other", other))
    ]


def test_by_hand():
    """Of questions asked 8, 1 and 1 times one hits the first, and the other the rest: .8 and .2."""
    dataset = weighted(gold_set(3), (8, 1, 1).__getitem__)
    results = pair(dataset, lambda i: 1 if i == 0 else 2, lambda i: 1 if i else 2)
    comparison = compare(results, resamples=200)
    hits = {name: means["hit_rate@1"] for name, means in comparison.overall.means.items()}
    assert [hits[name].value for name in ("one", "other")] == pytest.approx([0.8, 0.2])
    assert hits["one"].effective == pytest.approx(100 / 66)
    difference = comparison.overall.difference("hit_rate@1", "other")
    assert difference.value == pytest.approx(-0.6)
    assert (difference.wins, difference.losses, difference.n) == (2, 1, 3)
    assert difference.effect == pytest.approx(-0.6 / np.sqrt(0.64 * (100 / 66) / (34 / 66)))
    assert comparison.n_asks == 10
    assert comparison.best == "one"
    assert comparison.asks_text == "10 asks, as sure as 2 questions that weigh alike"


def test_shares_are_no_asks():
    """Weights of .8, .1 and .1 are told by their sum, and not as one ask."""
    dataset = weighted(gold_set(3), (0.8, 0.1, 0.1).__getitem__)
    comparison = compare(pair(dataset, lambda i: 1, lambda i: 2), resamples=200)
    told = "weights that sum to 1, as sure as 2 questions that weigh alike"
    assert comparison.asks_text == told


def test_p_is_of_weighted_signs():
    """Of 64 ways to flip 8, 1, 1, 1, 1, -1 twelve are as far from 0 as they are; unweighted 14."""
    dataset, ranks = gold_set(6), ((1, 2), (2, 1))
    for asks, n_extreme in (((8, 1, 1, 1, 1, 1), 12), ((1,) * 6, 14)):
        results = pair(
            weighted(dataset, asks.__getitem__),
            lambda i: ranks[i == 5][0],
            lambda i: ranks[i == 5][1],
        )
        (difference, *_) = compare(results, resamples=200).overall.differences
        assert difference.p == n_extreme / 64


def test_every_number_is_of_the_weights():
    """Intervals, what is sure, effects and worse slices are what statistics make of the weights."""
    rng = np.random.default_rng(8)
    ranks, asks = rng.integers(1, 4, (2, 60)), rng.pareto(2.5, 60) + 0.1
    dataset = weighted(gold_set(60, kind=lambda i: "ab"[i % 3 == 0]), asks.__getitem__)
    results = pair(dataset, ranks[0].__getitem__, ranks[1].__getitem__)
    comparison = compare(results, slices=["kind"], resamples=300, correction="none")
    parts = [np.flatnonzero(np.arange(60) % 3 == 0), np.flatnonzero(np.arange(60) % 3 > 0)]
    views = [(comparison.overall, np.arange(60))]
    views += [(own, parts[own.label == "a"]) for own in comparison.slices]
    for view, rows in views:
        w = asks[rows]
        for metric, at in (("hit_rate@1", lambda r: r == 1.0), ("mrr@10", lambda r: 1 / r)):
            columns = np.stack([at(of_one[rows]) for of_one in ranks], axis=1).astype(float)
            ends = mean_intervals(columns, [(0.0, 1.0)] * 2, weights=w)
            sure = sure_bounds(columns, ends, np.zeros(2), np.ones(2), weights=w)
            for column, name in enumerate(("one", "other")):
                mean = view.means[name][metric]
                assert (mean.low, mean.high) == pytest.approx(tuple(ends[:, column]))
                assert (mean.sure_low, mean.sure_high) == pytest.approx(tuple(sure[:, column]))
            gains = columns[:, [1]] - columns[:, [0]]
            ends = mean_intervals(gains, [None], weights=w)
            sure = sure_bounds(gains, ends.clip(-1, 1), -np.ones(1), np.ones(1), weights=w)
            difference = view.difference(metric, "other")
            assert (difference.low, difference.high) == pytest.approx(tuple(ends[:, 0].clip(-1, 1)))
            assert (difference.sure_low, difference.sure_high) == pytest.approx(tuple(sure[:, 0]))
            assert difference.effect == pytest.approx(effect_sizes(gains, w)[0])
    best = ranks[int(comparison.best == "other")]
    tests, _ = worse_parts((best == 1).astype(float), parts, 300, weights=asks)
    assert {own.label: own.p_worse for own in comparison.slices} == dict(zip("ba", tests.p))


def aligned(values, weights, metric="leak@5", **options):
    """One retriever's values of a metric, by themselves."""
    column = (metric, "one")
    return Aligned(
        tuple(f"q{row}" for row in range(len(values))),
        ("one",),
        (metric,),
        {column: Column(np.array(values), **options)},
        frozenset([metric]),
        {metric: "lower"},
        "one",
        Settings(resamples=100),
        np.array(weights),
    )


def estimate(table):
    """Of the only metric."""
    tests = PairTests(table, table.means())
    ((mean,),) = (means.values() for means in tests.view(tests.families).means.values())
    return mean


def test_what_is_not_known_weighs_at_its_worst():
    """Of two unknown questions that may leak one is open: the heavier one, at worst."""
    values, weights = [1.0, 0.0, np.nan, np.nan], [2.0, 4.0, 1.0, 6.0]
    mean = estimate(aligned(values, weights, n_open=1))
    assert mean.bounds == pytest.approx((2 / 12, 8 / 12))
    known = aligned([1.0] + [0.0] * 39, [5.0, *[1.0] * 39])
    own = estimate(known)
    ends = with_exact_limits(
        np.full((2, 1), np.nan),
        known.columns["leak@5", "one"].values[:, None],
        ["exact"],
        np.zeros(1, int),
        np.zeros((2, 1)),
        weights=known.weights,
    )
    assert (own.low, own.high) == pytest.approx(tuple(ends[:, 0]))
    assert (own.sure_low, own.sure_high) == pytest.approx(tuple(ends[:, 0]))


def test_missing_judgements_are_of_asks():
    """What may lower the sum of all weights by 6 lowers a mean of 20 asks by .3."""
    values, weights = np.arange(12) % 2 * 0.5, [9.0, *[1.0] * 11]
    plain, doubted = (
        estimate(aligned(values, weights, "mrr@5", doubt=doubt))
        for doubt in ((0.0, 0.0), (6.0, 2.0))
    )
    assert plain.sure_low - doubted.sure_low == pytest.approx(0.3)
    assert doubted.sure_high - plain.sure_high == pytest.approx(0.1)


def test_questions_that_would_decide_are_of_these_weights():
    """As many more are needed as one question of these weights is less sure than one alike."""
    dataset = weighted(gold_set(60), lambda i: 1 + 4 * (i % 4 == 0))
    results = pair(dataset, lambda i: 1 + i % 2, lambda i: 1 + (i + (i % 9 > 0)) % 2)
    comparison = compare(results, resamples=1_000)
    (rival, *_) = comparison.overall.differences
    assert rival.effective == pytest.approx(120**2 / (45 + 15 * 25))
    (fewest, _), _ = needed_queries(comparison, rival)
    effect = abs(rival.effect) + 1 / rival.effective**0.5
    exact = ((comparison.least + 0.8416) / effect) ** 2 * 60 / rival.effective
    assert exact <= fewest <= max(61, exact * 1.1 + 1)


def test_folded_means_are_those_of_all_asks():
    """Means, differences and slices of folded questions are those of each asked by itself."""
    rng = np.random.default_rng(4)
    first, second = rng.integers(1, 4, (2, 40))
    folded = weighted(gold_set(40, kind=lambda i: "ab"[i % 3 == 0]), lambda i: 1 + i % 5)
    both = []
    for dataset in (folded, unfolded(folded)):
        number = lambda own, i: int([*own][i].id.split("-")[0][1:])  # noqa: E731
        results = pair(dataset, lambda i: first[i], lambda i: second[i], number)
        both.append(compare(results, slices=["kind"], resamples=200))
    asks, every = both
    assert asks.n_asks == every.n_queries == len(unfolded(folded))
    for view, other in ((asks.overall, every.overall), *zip(asks.slices, every.slices)):
        for name in asks.retrievers:
            for metric in METRICS:
                assert view.means[name][metric].value == pytest.approx(
                    other.means[name][metric].value
                )
        for own, folded_out in zip(view.differences, other.differences):
            assert own.value == pytest.approx(folded_out.value)


@given(
    st.floats(0.1, 50),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=14),
)
def test_alike_weights_change_nothing(weight, ranks):
    """Where all questions weigh alike every number is the one without weights, to the last bit."""
    dataset = gold_set(len(ranks), kind=lambda i: "ab"[i % 2])
    plain, alike = (
        compare(
            pair(own, lambda i: ranks[i][0], lambda i: ranks[i][1]), slices=["kind"], resamples=100
        )
        for own in (dataset, weighted(dataset, lambda i: weight))
    )
    assert alike.to_dict() == plain.to_dict()
    assert alike.weights is None


def test_alike_within_a_slice():
    """A slice whose questions weigh alike has the numbers of one without weights."""
    dataset = gold_set(30, kind=lambda i: "ab"[i % 2])
    plain, unlike = (
        compare(pair(own, lambda i: 1 + i % 3, lambda i: 1 + i % 4), slices=["kind"], resamples=300)
        for own in (dataset, weighted(dataset, lambda i: 9.0 if i % 2 else 2.0))
    )
    for own, other in zip(plain.slices, unlike.slices):
        assert own.means == other.means
    assert plain.overall.means != unlike.overall.means


def test_a_slice_that_nobody_asks():
    """Questions of weight 0 have no mean: unknown, and neither 0 nor that of rare ones."""
    dataset = weighted(gold_set(24, kind=lambda i: "ab"[i % 2]), lambda i: 0 if i % 2 else 1 + i)
    comparison = compare(pair(dataset, lambda i: 1, lambda i: 2), slices=["kind"], resamples=100)
    (part,) = [part for part in comparison.slices if part.label == "b"]
    assert {means["mrr@10"].value for means in part.means.values()} == {None}
    assert comparison.overall.means["one"]["mrr@10"].value == 1


def test_what_is_asked_often_decides():
    """The verdict is that of the asks, though most questions say the opposite."""
    dataset = weighted(gold_set(90), lambda i: 30.0 if i < 30 else 1.0)
    results = pair(dataset, lambda i: 1 if i < 30 else 2, lambda i: 2 if i < 30 else 1)
    comparison = compare(results, resamples=2_000)
    assert comparison.leader.best == "one"
    assert comparison.leader.decided
    plain = pair(gold_set(90), lambda i: 1 if i < 30 else 2, lambda i: 2 if i < 30 else 1)
    assert compare(plain, resamples=200).leader.best == "other"


def test_thresholds_and_curves_are_of_asks():
    """The study of thresholds, the order near the chosen one, and curves have the means of asks."""
    dataset = weighted(gold_set(12), ((9, 1, 1) * 4).__getitem__)
    words = [("a b c d", "a b c d"), ("a b c d", "a b x y"), ("a b c d", "z")]
    gold = GoldDataset(
        tuple(replace(query, gold=(Gold(text=words[i % 3][0]),)) for i, query in enumerate(dataset))
    )
    lists = {query.id: [words[i % 3][1]] for i, query in enumerate(gold)}
    result = evaluate(gold, Run.from_documents(lists), match="rouge1", metrics=["hit_rate@1"])
    values = sweep(result, thresholds=[0.4, 0.5, 0.9]).values["run"]["hit_rate@1"]
    assert values == pytest.approx((10 / 11, 10 / 11, 9 / 11))
    near = result.nearby
    assert near.means["hit_rate@1"][near.thresholds.index(0.5)] == pytest.approx(10 / 11)
    ((curve,),) = curves([result])
    assert curve.values == pytest.approx((10 / 11,))


def test_who_is_slow_where_it_counts():
    """Of retrievers that tie the slower one is slow by the asks, as its mean is."""
    dataset = weighted(gold_set(60), lambda i: 40.0 if i % 3 == 0 else 1.0)
    results = [
        evaluation(
            dataset, name, lambda i: 1 + i % 2, seconds=seconds, metrics=["mrr@10", "seconds_mean"]
        )
        for name, seconds in (
            ("one", lambda i: 0.9 if i % 3 == 0 else 0.1),
            ("other", lambda i: 0.3 if i % 3 == 0 else 0.8),
        )
    ]
    comparison = compare(results, resamples=200)
    cost = next(advice for advice in comparison.recommendations if advice.kind == "cost").values
    assert (cost["best"], cost["fastest"]) == ("one", "other")
    assert cost["best_seconds"] == pytest.approx((0.9 * 40 + 0.2) / 42)


def test_other_weights_are_no_comparison():
    """Runs in which a question weighs otherwise are refused, with the first such question."""
    dataset = gold_set(4)
    one = evaluation(weighted(dataset, (1, 2, 3, 4).__getitem__), "one", lambda i: 1)
    other = evaluation(weighted(dataset, (1, 2, 5, 6).__getitem__), "other", lambda i: 2)
    hashes = {"dataset": {"name": "gold", "version": None, "hash": None}}
    scores = [
        replace(RetrieverScores.of(own), settings={**own.settings, **hashes}, dataset=None)
        for own in (one, other)
    ]
    with pytest.raises(UsageError, match=r"question 'q2' stands for 3 asks in the one and for 5"):
        compare_scores(scores, Settings(resamples=100))


def test_gates_are_passed_by_effective_questions():
    """150 hits of 150 are surely .975; asked unlike often they are as sure as 33, and fail."""
    plain = gold_set(150)
    gates = parse_gates({"hit_rate@1": "surely >= 0.97"}, [])
    outcomes = []
    for dataset in (plain, weighted(plain, lambda i: 1 if i % 9 else 19)):
        comparison = compare(
            [evaluation(dataset, "one", lambda i: 1, metrics=METRICS[:1])], resamples=100
        )
        outcomes += check_gates(gates, [comparison])
    assert [outcome.passed for outcome in outcomes] == [True, False]
    effective = comparison.overall.means["one"]["hit_rate@1"].effective
    assert 0.87 < outcomes[1].value < 0.025 ** (1 / effective) + 1e-9 < 0.9
    (gate,) = gates
    assert undecidable(gate, 150, 0.95) is None
    needed = -(-125 * 150 // effective)  # 125 of 125 are surely .97
    assert f"{needed:.0f} questions can" in undecidable(gate, 150, 0.95, effective)


def test_one_question_that_counts_says_too_little():
    """Where all others weigh nothing there are too few to tell, and no more are alike."""
    dataset = weighted(gold_set(9), lambda i: 3 * (i == 4))
    pair = [evaluation(dataset, name, lambda i: 1 + i % 4) for name in ("one", "other")]
    found = compare(pair, resamples=100).overall
    assert {mean.ends for mean in found.means["one"].values()} == {"too few to tell"}
    assert {difference.ends for difference in found.differences} == {"too few to tell"}
    assert {*pair[0].ends.values()} == {"too few to tell"}


def test_what_moved_the_mean_most_comes_first():
    """Of questions that got worse by as much the one that is asked more often comes first."""
    dataset = weighted(gold_set(6), (1, 2, 9, 4, 1, 1).__getitem__)
    old, new = (
        Results(name, (RetrieverScores.of(evaluation(dataset, "mine", rank)),), dataset)
        for name, rank in (("old", lambda i: 1), ("new", lambda i: 2 if i < 4 else 1))
    )
    (change,) = changes(old, new, Settings(resamples=100))
    assert [query.query_id for query in change.worse] == ["q2", "q3", "q1", "q0"]
    assert change.comparison.overall.differences[0].value == pytest.approx(-0.5 * 16 / 18)


def test_tuning_takes_what_is_best_for_what_is_asked():
    """The setting that serves frequent questions is taken, and its mean held out is weighted."""
    asks = np.where(np.arange(120) % 3 == 0, 40.0, 1.0)
    frequent = np.where(asks > 1, 0.9, 0.1) + np.arange(120) % 7 / 1e3
    settings = [Setting("mine", {"k": k}, (place,)) for place, k in enumerate((1, 2))]
    tried = [
        SettingResult(setting, setting.name, values)
        for setting, values in zip(settings, (1 - frequent, frequent))
    ]
    rules = "ndcg@10", Settings(resamples=500)
    plain, weighed = tuned(tried, *rules), tuned(tried, *rules, weights=asks)
    assert (plain.take, weighed.take) == ("mine[k=1]", "mine[k=2]")
    assert weighed.held_out.mean == pytest.approx(0.1 + 0.8 * 40 / 42, abs=0.02)
    good, bad = weighed.settings
    for number in (good.mean, good.held_out, weighed.curves[0].points[1].mean):
        assert number == pytest.approx(0.1 + 0.8 * 40 / 42, abs=0.02)
    assert (good.p, good.on_front, bad.on_front) == (1.0, True, False)
    assert bad.p < 0.05
    assert tuned(tried, *rules, weights=None) == plain


def test_a_simpler_setting_is_tested_by_asks():
    """What the questions held out say of a simpler setting is the test of weighted leads."""
    rng = np.random.default_rng(5)
    asks = np.where(np.arange(60) % 5 == 0, 25.0, 1.0)
    best = rng.random(60)
    simple = best + np.where(np.arange(60) < 30, -1e-3 * rng.random(60), rng.normal(0.1, 0.3, 60))
    simple[:2] += 0.002  # in so few alike that nothing is told there
    pair_of = [Setting("mine", {"k": k}, (place,)) for place, k in enumerate((1, 2))]
    tried = [SettingResult(own, own.name, v) for own, v in zip(pair_of, (simple, best))]
    halves = np.arange(2), np.arange(30, 60)
    halves = np.concatenate([np.arange(0, 30)]), halves[1]
    result = tuned(tried, "hits@10", Settings(resamples=500), halves=halves, weights=asks)
    if result.held_out.simpler is None:
        pytest.fail("the simpler one is not chosen")
    lead = (simple - best)[30:]
    expected = sign_flip_p((lead * asks[30:] / 25)[:, None], 500)
    assert result.held_out.p == expected[0]
    assert result.held_out.difference == pytest.approx(np.average(lead, weights=asks[30:]))


def test_a_percentile_is_over_the_questions_of_both_and_their_asks():
    """Where either retriever lacks a time of some question, weights are those of the others."""
    dataset = weighted(gold_set(20), lambda i: 1 + i % 3)
    runs = [
        Run(
            {
                query.id: Retrieved(seconds=None if row in lost else start + row / 100)
                for row, query in enumerate(dataset)
            },
            name=name,
        )
        for name, lost, start in (("one", {3}, 0.1), ("other", {5, 6}, 0.2))
    ]
    results = [evaluate(dataset, run, metrics=["mrr@5", "seconds_p50"]) for run in runs]
    difference = compare(results).overall.difference("seconds_p50", "other")
    assert (difference.n, difference.value) == (17, pytest.approx(0.1))
