"""The metrics of searches, and those of lists that searches make."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from kragx import DataError, UsageError
from kragx.metrics import compute, parse_all, profile
from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import Votes
from kragx.metrics.scores import intervals_of
from kragx.metrics.search_table import SearchTable
from tests.metrics import searching as slow
from tests.metrics.searching import (
    Asked,
    Tried,
    asked,
    completions,
    evidence,
    listed,
    number,
    questions,
    ranking,
    scores_of,
    searched,
    unknowns,
)
from tests.metrics.support import quick, score, table
from tests.thoroughness import examples

THIRD = asked("ab", "x", "y z", "a")
AT_ONCE = asked("c", "c")
"""The third search brings one of two, and the first the only one."""


def test_by_hand():
    """Half of two after three steps, all of one after the first."""
    both = (THIRD, AT_ONCE)
    assert number("evidence_recall@1", *both) == 0.5
    assert number("evidence_recall@3", *both) == 0.75
    assert number("evidence_recall", *both) == 0.75
    assert number("first_search", *both) == pytest.approx(2 / 3)
    assert number("first_search(need=all)", *both) == 0.5
    assert number("rescue", *both) == 1.0
    assert number("ndcg@10", *both) == 0.5
    # Of 40 tokens 30 went until the first gold of the one, 10 of the other; two items were found.
    assert number("tokens_to_evidence", *both) == 10
    assert number("tokens_to_evidence_p90", *both) == 30
    assert number("seconds_to_evidence_p90(need=all)", *both) == inf
    assert number("tokens_per_gold", *both) == 20
    assert number("seconds_per_gold", *both) == 2
    assert number("searches_per_gold", *both) == 2


def test_steps_in_vain_wasted_and_repeated():
    """A step after all that was found is wasted; a question that finds nothing was in vain."""
    wasted, in_vain = asked("ab", "a x", "b a", "x a y", "a"), asked("a", "x", "y")
    scores = scores_of(["waste", "repeated", "rescue"], searched(wasted, in_vain))
    assert scores["waste"].values.tolist() == [0.5, pytest.approx(nan, nan_ok=True)]
    assert scores["waste"].counts == {"n_in_vain": 1, "n_unmeasured": 0}
    # b is new, a is not; x and a are not, y is; a is not: 4 of 6. Nothing comes again of the other.
    assert scores["repeated"].values.tolist() == [pytest.approx(4 / 6), 0.0]
    assert scores["rescue"].values.tolist() == [pytest.approx(nan, nan_ok=True), 0.0]
    assert scores["rescue"].counts == {"n_at_once": 1, "n_unmeasured": 0}


def test_side_by_side_is_one_step():
    """Seconds are those of the slower lane with all its tries, tokens those of all searches."""
    fast = (Tried((0,), seconds=1, tokens=5),)
    slow_lane = (Tried((), failed=True, seconds=1, tokens=1), Tried((1,), seconds=2, tokens=7))
    question = Asked(((0.0,), (1.0,)), (1.0,), ((fast, slow_lane),))
    assert number("evidence_recall@1", question) == 1
    assert number("seconds_to_evidence", question) == 3
    assert number("tokens_to_evidence", question) == 13
    assert number("searches_per_gold", question) == 2  # what was tried again counts once


def test_what_nobody_measured():
    """It counts as a step and in cost, and is never 0: without another there is no value."""
    number_from_a_database = ((Tried(None, tokens=4, seconds=1),),)
    found = ((Tried((0,), tokens=6, seconds=1),),)
    later = Asked(((1.0,),), (1.0,), (number_from_a_database, found))
    names = ["evidence_recall@1", "evidence_recall@2", "first_search", "rescue", "waste"]
    names += ["tokens_to_evidence"]
    values = {name: s.values[0] for name, s in scores_of(names, searched(later)).items()}
    assert isnan(values.pop("evidence_recall@1"))
    assert isnan(values.pop("rescue"))  # nobody knows whether it was needed
    assert values == {
        "evidence_recall@2": 1,
        "first_search": 0.5,
        "waste": 0,
        "tokens_to_evidence": 10,
    }
    alone = replace(later, steps=(number_from_a_database,))
    for name, scores in scores_of([*names, "tokens_per_gold"], searched(alone)).items():
        assert scores.mean is None, name
        assert scores.counts["n_unmeasured"] == 1


def test_who_failed_found_nothing():
    """A question that failed is 0 whatever came before, and its evidence never came; a failed step
    has brought nothing, and is no unmeasured one.
    """
    failed = replace(AT_ONCE, answered=False)
    names = ["evidence_recall", "first_search", "rescue", "tokens_to_evidence", "tokens_per_gold"]
    numbers = {name: s.mean for name, s in scores_of(names, searched(failed)).items()}
    assert numbers == dict(zip(names, (0, 0, 0, inf, inf)))
    assert number("tokens_per_gold", failed, AT_ONCE) == 20  # what it spent is spent
    lost = Asked((), (1.0,), (), answered=False)
    assert number("tokens_per_gold", lost, AT_ONCE) == 10  # nobody knows what it spent
    tried = Asked(((1.0,),), (1.0,), (((Tried(failed=True),),), ((Tried((0,)),),)))
    assert number("evidence_recall@1", tried) == 0
    assert number("first_search", tried) == 0.5
    assert number("evidence_recall", Asked((), (1.0,), ())) == 0  # searched for nothing
    beside = replace(tried, steps=(((Tried(failed=True),), (Tried(None),)), tried.steps[1]))
    assert number("evidence_recall@1", beside) is None  # what the other one brought nobody knows
    unknown = replace(tried, steps=(tried.steps[0], ((Tried(None),),)))
    assert number("evidence_recall@1", unknown) is None  # nor what this question ever brought


def test_never():
    """Below half there is no median: it is infinite, and counted; with half there is one."""
    in_vain = asked("a", "x")
    scores = scores_of(["tokens_to_evidence"], searched(AT_ONCE, in_vain, in_vain))
    assert scores["tokens_to_evidence"].mean == inf
    assert scores["tokens_to_evidence"].counts["n_never"] == 2
    assert number("tokens_to_evidence", AT_ONCE, in_vain) == 10
    assert number("tokens_to_evidence_p90", *[AT_ONCE] * 9, in_vain) == 10
    assert number("tokens_to_evidence_p90", *[AT_ONCE] * 8, in_vain) == inf


def test_tokens_that_nobody_says():
    """They are no 0: the question has no cost, whether it found anything or not."""
    unsaid = asked("a", "a", tokens=nan)
    partly = replace(unsaid, steps=(*unsaid.steps, *AT_ONCE.steps))
    in_vain = asked("a", "x", tokens=nan)
    for question in (unsaid, partly, in_vain):
        scores = scores_of(["tokens_to_evidence", "tokens_per_gold"], searched(question, AT_ONCE))
        for each in scores.values():
            assert (each.mean, each.counts["n_uncounted"], each.n_scored) == (10, 1, 1)
    counted = searched(partly, in_vain).with_counted_tokens(np.array([7, 5]))
    assert counted.tokens.tolist() == [7, 7, 5]


def test_counted_tokens_of_searches_without_documents():
    """One that failed brought nothing; of one that is not measured nobody knows."""
    question = Asked(
        ((1.0,),), (1.0,), (((Tried(failed=True),), (Tried(None),), (Tried((0, 0)),)),)
    )
    counted = searched(question).with_counted_tokens(np.array([3]))
    assert counted.tokens[[0, 2]].tolist() == [0, 6]
    assert isnan(counted.tokens[1])
    empty = Asked((), (1.0,), (((Tried(failed=True),), (Tried(None),)),))
    (nothing, unknown) = searched(empty).with_counted_tokens(np.zeros(0, np.int64)).tokens
    assert (nothing, isnan(unknown)) == (0, True)


def test_without_searches():
    """It is an error that says what to do."""
    looked = evidence(searched(AT_ONCE))
    looked.searches = None
    with pytest.raises(UsageError, match=r"evidence_recall@1.*'searches' in the run"):
        compute(looked.table, parse_all(["evidence_recall@1"]), evidence=looked)


def test_what_is_the_same_but_in_its_words():
    """In one search a document counts once, as in any list; in the next one it does again."""
    other_words = Asked(((0.0,), (1.0,)), (1.0,), (((Tried((0, 1)),),),), same=(0, 0))
    assert number("evidence_recall", other_words) == 0
    again = replace(other_words, steps=(((Tried((0,)),),), ((Tried((1,)),),)))
    assert number("first_search", again) == 0.5
    assert number("repeated", again) == 1


# -- against the slow and obvious way -----------------------------------------------------------

SLOW = {
    **{
        f"evidence_recall{cut}": lambda q, n=n, k=k, rel=rel: slow.evidence_recall(q, n, k, rel)
        for cut, n, k, rel in (
            ("@1", 1, None, 0),
            ("@2(k=1)", 2, 1, 0),
            ("(k=2)", None, 2, 0),
            ("@3(rel=2)", 3, None, 2),
        )
    },
    "first_search": slow.first_search,
    "first_search(need=all)": lambda q: slow.first_search(q, "all"),
    "rescue": slow.rescue,
    "waste": slow.waste,
    "waste(rel=2)": lambda q: slow.waste(q, 2),
    "repeated": slow.repeated,
    "tokens_to_evidence": lambda q: slow.to_evidence(q, "tokens"),
    "tokens_to_evidence_p90(need=all)": lambda q: slow.to_evidence(q, "tokens", "all"),
    "seconds_to_evidence(need=all)": lambda q: slow.to_evidence(q, "seconds", "all"),
    "seconds_to_evidence_p90(rel=2)": lambda q: slow.to_evidence(q, "seconds", rel=2),
}
COSTS = ("tokens", "seconds", "searches")
PER_GOLD = [f"{what}_per_gold" for what in COSTS]
ALL = [*SLOW, *PER_GOLD]


@given(st.lists(questions(), min_size=1, max_size=4))
@examples(300)
def test_each_metric_against_the_obvious_way(some: list[Asked]) -> None:
    """Every value and every number, with failed, retried, parallel and unmeasured searches."""
    scores = scores_of(ALL, searched(*some))
    for name, reference in SLOW.items():
        expected = [float(reference(question)) for question in some]
        assert scores[name].values.tolist() == pytest.approx(expected, nan_ok=True), name
        known = [value for value in expected if not isnan(value)]
        if "_to_evidence" in name:
            percent = 90 if "p90" in name else 50
            assert scores[name].mean == pytest.approx(slow.least_of(expected, percent)), name
        else:
            mean = sum(known) / len(known) if known else None
            assert scores[name].mean == pytest.approx(mean), name
    for what in COSTS:
        value = scores[f"{what}_per_gold"].mean
        assert value == pytest.approx(slow.per_gold(some, what)), what


@given(st.lists(questions(), min_size=1, max_size=3), st.randoms(use_true_random=False))
@quick
def test_the_order_of_parallel_searches_never_matters(some, random) -> None:
    """Nothing changes, to the last bit, but the lists that they make."""
    others = [
        slow.shuffled(question, lambda step: random.sample(step, len(step))) for question in some
    ]
    before, after = (scores_of(ALL, searched(*each)) for each in (some, others))
    for name in ALL:
        assert np.array_equal(before[name].values, after[name].values, equal_nan=True), name
        assert before[name].mean == after[name].mean, name


LISTS = [("retrieved", "turns"), ("first", "turns"), ("last", "turns"), ("read", "turns")]
LISTS += [("all", "turns"), ("all", "chain")]


@given(st.lists(questions(), min_size=1, max_size=4), st.sampled_from(LISTS))
@examples(300)
def test_each_list_against_the_obvious_way(some: list[Asked], named: tuple[str, str]) -> None:
    """Every metric of a list is that of a ranking that was written down by hand."""
    searches = searched(*some)
    lists = [listed(question, *named) for question in some]
    places = searches.places(*named)
    assert places.is_there.tolist() == [docs is not None for docs in lists]
    starts = searches.table.doc_start[:-1]
    got = np.split(places.docs, places.start[1:-1])
    assert [
        [int(doc - start) if doc >= 0 else -1 for doc in docs] for docs, start in zip(got, starts)
    ] == [docs or [] for docs in lists]
    rankings = [ranking(question, docs or ()) for question, docs in zip(some, lists)]
    by_hand, ours = table(*rankings), searches.of(*named)
    for name in ("doc_start", "repeated", "pair_doc", "pair_gold", "pair_score"):
        assert np.array_equal(getattr(by_hand, name), getattr(ours, name)), name


def test_options_choose_the_list():
    """The first list is empty of gold, all of them by turns bring it second, chained third."""
    question = replace(asked("a", "x y", "a"), final=(2,), read=(0, -1, 2))
    metrics = [f"mrr@5(of={name})" for name in ("retrieved", "first", "last", "all", "read")]
    metrics += ["mrr@5(of=all, order=chain)", "mrr@5"]
    scores = scores_of(metrics, searched(question, basis="retrieved"))
    expected = [1, 0, 1, 1 / 2, 1 / 3, 1 / 3, 1]
    assert [each.mean for each in scores.values()] == pytest.approx(expected)
    assert score(ranking(question, listed(question, "all")), "mrr@5") == [0.5]


@given(st.lists(questions(), min_size=2, max_size=4), st.data())
@quick
def test_parts_joined_are_the_whole(some: list[Asked], data) -> None:
    """The table of some questions and that of the others make that of all."""
    cut = data.draw(st.integers(1, len(some) - 1))
    joined = SearchTable.joined([searched(*some[:cut]), searched(*some[cut:])])
    whole, parts = scores_of(ALL, searched(*some)), scores_of(ALL, joined)
    for name in ALL:
        assert whole[name].mean == parts[name].mean, name
    for named in LISTS:
        ours, theirs = joined.places(*named), searched(*some).places(*named)
        assert ours.docs.tolist() == theirs.docs.tolist()
        assert ours.start.tolist() == theirs.start.tolist()


# -- what is not known --------------------------------------------------------------------------


def enclosed(some: list[Asked], names: list[str]) -> None:
    """The bounds of each number enclose what it is however the unknown turns out."""
    ways = [list(completions(question)) for question in some]
    scores = scores_of(names, searched(*some))
    for completed in product(*ways):
        for name, known in scores_of(names, searched(*completed)).items():
            bounds, value = scores[name].bounds, known.mean
            if value is None:
                continue
            if bounds is None:
                is_sure = scores[name].mean is not None
                assert not is_sure or value == pytest.approx(scores[name].mean), name
                continue
            assert bounds[0] - 1e-9 <= value <= bounds[1] + 1e-9, (name, bounds, value)


def n_unknown(some: list[Asked]) -> int:
    """How many scores and grades are not known."""
    return sum(isnan(cell) for q in some for row in (*q.scores, q.grades) for cell in row)


@pytest.mark.integration
@pytest.mark.parametrize("grades", [(1.0, 1.0, 0.0), (1.0, nan, nan)])
@given(st.data())
@examples(400)
def test_bounds_enclose_every_completion(grades: tuple[float, ...], data) -> None:
    """Whichever of the scores that are not known match, and whatever turns out to be gold."""
    some = data.draw(st.lists(unknowns(grades), min_size=1, max_size=3))
    assume(0 < n_unknown(some) <= 6)
    enclosed(some, [name for name in ALL if "rel" not in name])


def test_bounds_by_hand():
    """One document of which nothing is known: found by the first of two steps, or by none."""
    question = asked("a", "x", "y")
    unknown = replace(question, scores=((nan,), (0.0,)))
    scores = scores_of(ALL, searched(unknown, AT_ONCE))
    assert scores["evidence_recall@1"].bounds == (0.5, 1.0)
    assert scores["first_search"].bounds == (0.5, 1.0)
    assert scores["rescue"].bounds is not None
    assert scores["tokens_to_evidence_p90(need=all)"].bounds == (10, inf)
    assert scores["tokens_to_evidence_p90(need=all)"].mean is None
    assert scores["tokens_per_gold"].bounds == (15, 30)
    assert 15 < scores["tokens_per_gold"].mean < 30
    # What was found of one in three known documents: 30 / (1 + 1/2).
    assert scores["tokens_per_gold"].mean == pytest.approx(20)
    # What comes again does so whatever is gold, also where nothing is known of any document.
    again = Asked(((nan,), (nan,)), (1.0,), (((Tried((0,)),),), ((Tried((0, 1)),),)))
    repeated = scores_of(["repeated"], searched(again))["repeated"]
    assert (repeated.mean, repeated.bounds) == (0.5, None)


def test_votes_reach_as_far_as_judges_differ():
    """Where one judge votes for a match and another against it, numbers may be either's."""
    searches = searched(asked("a", "a", "x"), AT_ONCE)
    matches = searches.table
    low, high = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    assert matches.pair_score.tolist() == [1.0, 1.0]
    votes = Votes(low, high, matches.grade, matches.grade)
    scores = scores_of(ALL, replace(searches, table=replace(matches, votes=votes)))
    assert scores["evidence_recall@1"].vote_bounds == (0.5, 1.0)
    assert scores["tokens_per_gold"].vote_bounds == (15, 30)
    assert scores["tokens_to_evidence_p90(need=all)"].vote_bounds == (10, inf)
    assert scores["tokens_per_gold"].mean == 15


# -- a sum over a sum ---------------------------------------------------------------------------


def test_a_ratio_by_hand():
    """60 tokens for 3 items are 20 each; without an item it is infinite, without anything None."""
    ratio = Ratio(np.array([10.0, 20.0, 30.0, nan]), np.array([1.0, 2.0, 0.0, 4.0]))
    assert (ratio.value, ratio.counts.sum()) == (20, 3)
    assert ratio.of(np.array([True, True, False, True])).value == 10
    assert Ratio(np.array([1.0]), np.array([0.0])).value == inf
    assert Ratio(np.array([0.0]), np.array([0.0])).value is None
    assert Ratio(np.array([nan]), np.array([nan])).value is None


def test_intervals_of_ratios():
    """There is one with three questions that differ; it is a run's, and the same each time."""
    ratio = Ratio(np.array([10.0, 20.0, 30.0, 5.0]), np.array([1.0, 2.0, 1.0, 1.0]))
    low, high = ratio.interval()
    assert low < ratio.value == 13 < high
    assert ratio.interval() == (low, high)
    alike = Ratio(np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0]))
    assert alike.interval() is None
    assert Ratio(np.array([1.0, 2.0]), np.array([1.0, 1.0])).interval() is None
    # A resample may find nothing at all.
    rare = Ratio(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.0, 0.0, 0.0]))
    assert rare.interval()[1] == inf
    scores = scores_of(PER_GOLD, searched(THIRD, AT_ONCE, asked("a", "x a", "a")))
    intervals = intervals_of([*scores.values()])
    assert all(intervals[name][0] < scores[name].mean < intervals[name][1] for name in PER_GOLD)


def drawn(rng: np.random.Generator, n: int) -> Ratio:
    """Agents that search as long as they find nothing, so that costs and finds hang together."""
    n_searches = rng.geometric(0.4, n)
    tokens = rng.lognormal(6, 0.5, n) * n_searches
    return Ratio(tokens, rng.binomial(3, 0.7 / n_searches).astype(np.float64))


@pytest.mark.integration
@pytest.mark.parametrize("n", [60, 300])
def test_intervals_of_ratios_hold_the_truth(n):
    """In 93 to 97 of 100 evaluations, as 95 are promised."""
    rng = np.random.default_rng(5)
    truth = drawn(rng, 2_000_000).value
    ends = [drawn(rng, n).interval(count=1000) for _ in range(1500)]
    coverage = np.mean([low <= truth <= high for low, high in ends])
    assert 0.93 <= coverage <= 0.97, coverage


def test_intervals_of_many_questions_agree():
    """From 10,000 on the straight line gives what resamples give below."""
    rng = np.random.default_rng(6)
    ratio = drawn(rng, 10_001)
    fewer = Ratio(ratio.numerator[:-1], ratio.denominator[:-1])
    assert ratio.interval() == pytest.approx(fewer.interval(count=400), rel=0.02)


@given(
    st.lists(questions(), min_size=1, max_size=3),
    st.sampled_from(["skip", "zero", "abstain"]),
    st.booleans(),
)
@quick
def test_questions_without_gold_are_scored_as_of_lists(of, no_gold, hits):
    """What all searches brought is one quantity, whichever metric asks, by each rule.

    Of documents that are the same only to the letter: in a list another one counts once.
    """
    of = [replace(question, same=tuple(range(len(question.same)))) for question in of]
    looked = evidence(searched(*of))
    rules = replace(profile("kragx"), no_gold=no_gold, no_gold_hits=hits)
    names = ["evidence_recall", "recall(of=all)", "first_search", "first_search(need=all)"]
    specs = parse_all([*names, "hit_rate(of=all)", "hit_rate(of=all, need=all)", "waste", "rescue"])
    together, recall, first, last, some, whole, waste, rescue = (
        score.values for score in compute(looked.table, specs, rules, looked)
    )
    np.testing.assert_allclose(together, recall)
    np.testing.assert_array_equal(first > 0, some > 0)
    np.testing.assert_array_equal(np.isnan(first), np.isnan(some))
    np.testing.assert_array_equal(last > 0, whole > 0)
    without = [not slow.golds(question) for question in of]
    assert np.isnan(waste[without]).all()
    assert np.isnan(rescue[without]).all()


def test_questions_without_gold_are_refused():
    """Where the profile wants gold, as metrics of lists do."""
    looked = evidence(searched(asked("", "x")))
    rules = replace(profile("kragx"), no_gold="error")
    with pytest.raises(DataError, match="evidence_recall: 1 query has no gold"):
        compute(looked.table, parse_all(["evidence_recall"]), rules, looked)
