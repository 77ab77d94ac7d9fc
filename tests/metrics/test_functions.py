"""A plain function as a metric: what it is given, what it may give, and what is known of it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from hypothesis import given

from kragx import UsageError, compare, evaluate
from kragx.evaluation.criteria import Criteria
from kragx.metrics import MetricWarning, known_metric, measure, parse

from .support import Ranking, compute, quick, ranking, rankings, table
from .test_trec_metrics import relevances


def found_grades(relevances: list[float], gold_grades: list[float]) -> float:
    """How much of the grades is found?"""
    return sum(relevances) / sum(gold_grades)


@measure(range=(0, 9), better="lower")
def rank_of_first(relevances: list[float], gold_grades: list[float]) -> float | None:
    """At which rank does gold stand?"""
    return next((rank for rank, grade in enumerate(relevances, 1) if grade), None)


@given(rankings(min_gold=1))
@quick
def test_what_it_is_given(query: Ranking) -> None:
    """The largest grade that each rank finds first, uncut, and the grades of all gold, descending.

    Without gold it is not called.
    """
    calls: list[object] = []

    def noting(relevances: list[float], gold_grades: list[float]) -> float:
        calls.append((relevances, gold_grades))
        return 1.0

    compute(table(query), [parse(noting), parse("recall@1")])
    gold = sorted((grade for grade in query.grades if grade > 0), reverse=True)
    assert calls == ([(relevances(query), gold)] if gold else [])


def test_values() -> None:
    """Every query has its own value, None is no value, and an empty list is a list."""
    queries = [ranking(["", "b"], [1, 3]), ranking([], [1]), ranking(["a", "a"], [2])]
    found, rank = compute(table(*queries), [parse(found_grades), parse(rank_of_first)])
    assert found.values.tolist() == [0.75, 0.0, 1.0]
    assert rank.values.tolist()[::2] == [2.0, 1.0]
    assert isnan(rank.values[1])
    assert rank.mean == 1.5


def test_by_name_and_by_path() -> None:
    """It stands under its name, by its import path under that, and is asked for by any of them."""
    path = f"{__name__}:found_grades"
    gold, run = {"q": {"a": 1, "b": 3}}, {"q": [{"id": "b"}]}
    result = evaluate(gold, run, match="id", metrics=[found_grades, path])
    assert result.mean == {"found_grades": 0.75, path: 0.75}
    assert result[found_grades] == result["found_grades"] == result[path] == 0.75
    assert evaluate(gold, run, match="id", metrics=found_grades).mean == {"found_grades": 0.75}
    known = known_metric(f"{__name__}:rank_of_first")
    assert known is not None
    assert (known.better, known.range, known.question) == (
        "lower",
        (0.0, 9),
        "At which rank does gold stand?",
    )


def test_direction_in_a_comparison() -> None:
    """Which is better follows from what was said of the function, a local one too."""

    @measure(range=(0, 10), better="lower")
    def rank(relevances: list[float], gold_grades: list[float]) -> float:
        return next(rank for rank, grade in enumerate([*relevances, 1.0], 1) if grade)

    gold = [[f"g{n}"] for n in range(30)]
    near = evaluate(
        gold, [[f"g{n}"] for n in range(30)], match="exact", name="near", metrics=[rank]
    )
    far = evaluate(
        gold, [["x", f"g{n}"] for n in range(30)], match="exact", name="far", metrics=[rank]
    )
    (difference,) = compare([near, far], resamples=500).overall.differences
    assert (difference.against, difference.verdict) == ("near", "worse")


def test_other_processes() -> None:
    """A function goes to other processes by itself, or by the path that it was named by."""
    asked = [rank_of_first, f"{__name__}:found_grades", "P@5", "mrr"]
    criteria = Criteria.of(metrics=asked)
    there = pickle.loads(pickle.dumps(criteria))
    assert there.specs == criteria.specs
    assert [*map(str, there.specs)] == ["rank_of_first", f"{__name__}:found_grades", "P@5", "mrr"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("high", "'high' is neither a number nor None"),
        (float("nan"), "nan is neither"),
        (1.5, "1.5 is outside of the range that it names, 0 to 1"),
    ],
)
def test_what_it_may_not_give(value: object, problem: str) -> None:
    """What is no number, or outside of its range, is refused with the metric and the query."""

    @measure(range=(0, 1))
    def wrong(relevances: list[float], gold_grades: list[float]) -> object:
        return value

    with pytest.raises(UsageError, match=rf"metric 'wrong', query 'q1': {problem}"):
        evaluate([["a"]], [["a"]], metrics=[wrong])


def test_mistakes() -> None:
    """What it raises, a name that is taken or none, and a cut-off are refused."""

    def division(relevances: list[float], gold_grades: list[float]) -> float:
        return 1 / len(relevances)

    def lone(relevances: list[float]) -> float:
        return 1.0

    with pytest.raises(UsageError, match=r"positional argument.*; write def mine\(relevances, "):
        evaluate([["a"]], [[]], metrics=[lone])
    with pytest.raises(UsageError, match=r"'division', query 'q1': ZeroDivisionError[^;]*$"):
        evaluate([["a"]], [[]], metrics=[division])
    for name in ("recall", "RR", "mean_seconds"):
        division.__name__ = name
        with pytest.raises(UsageError, match=f"{name}.*a metric has that name"):
            parse(division)
    with pytest.raises(UsageError, match="a function without a name"):
        parse(lambda relevances, gold_grades: 1.0)
    with pytest.raises(UsageError, match="leave '@5' out"):
        parse(f"{__name__}:found_grades@5")
    with pytest.raises(UsageError, match="no function of two"):
        parse(f"{__name__}:relevances")


def test_without_gold() -> None:
    """Without gold its value is what the profile says: none, or 0."""
    queries = table(ranking(["a"], [1]), ranking(["x"], [0], gold="x"))
    (skipped,), (zero,) = (
        compute(queries, [parse(found_grades)], rule) for rule in ("skip", "zero")
    )
    assert np.isnan(skipped.values).tolist() == [False, True]
    assert zero.values.tolist() == [1.0, 0.0]


def test_what_is_not_known() -> None:
    """Of a pair that is not known the range bounds the value, and a claim to rise the two cases.

    A function of which nothing is known has no mean then, and that is said.
    """

    def top(relevances: list[float], gold_grades: list[float]) -> float:
        return relevances[0]

    known = table(ranking(["a", "a"], [1]), ranking(["a", "x"], [1]), ranking(["x"], [1], gold="a"))
    scores = known.pair_score.copy()
    scores[0] = np.nan
    unknown = replace(known, pair_score=scores)
    within = parse(measure(range=(0, 4))(top))
    (ranged,) = compute(unknown, [within])
    assert ranged.bounds == pytest.approx((1 / 3, 5 / 3))
    del top.metric  # type: ignore[attr-defined]
    with pytest.warns(MetricWarning, match=r"top has no mean: .*@measure\(range=\(0, 1\)\)"):
        (bare,) = compute(unknown, [parse(top)])
    assert (bare.mean, bare.bounds) == (None, None)
    assert np.isnan(bare.values).tolist() == [True, False, False]
