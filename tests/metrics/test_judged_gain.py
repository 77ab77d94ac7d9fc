"""nDCG whose gain is the judge's best grade so far: `gain_from=judge`."""

from __future__ import annotations

from dataclasses import replace
from math import log2

import pytest
from hypothesis import example, given, strategies as st

from kragx import UsageError, evaluate
from kragx.metrics import parse

from .support import Ranking, compute, quick, table

TOP = 3.0
THRESHOLD = 2.0


GRADES = st.integers(1, 4).flatmap(
    lambda m: st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=1, max_size=5)
)


def judged(grades: list[list[int]], metric: str) -> float:
    """The metric of one query whose pairs have these grades, retrieved down and gold across."""
    return judged_together([grades], metric)[0]


def judged_together(queries: list[list[list[int]]], metric: str) -> list[float]:
    """The same of each of several queries."""
    rankings = [
        Ranking(
            scores=tuple(tuple(float(grade) for grade in row) for row in grades),
            grades=(1.0,) * len(grades[0]),
            repeated=(False,) * len(grades),
        )
        for grades in queries
    ]
    graded = replace(table(*rankings, threshold=THRESHOLD), top=TOP)
    (scores,) = compute(graded, [parse(metric)])
    values: list[float] = scores.values.tolist()
    return values


def reference(grades: list[list[int]], k: int, gain: str) -> float:
    """The definition, word by word: T_t is the sum of the t largest best grades seen by depth t."""

    def value(grade: float) -> float:
        return 2**grade - 1 if gain == "exp2" else grade

    n_gold = len(grades[0])

    def total(depth: int, *, found_at_once: bool) -> float:
        gains = []
        for gold in range(n_gold):
            seen = [row[gold] for row in grades[:depth]]
            if found_at_once:
                gains.append(value(TOP))
            elif any(grade >= THRESHOLD for grade in seen):
                gains.append(value(max(seen)))
        return sum(sorted(gains, reverse=True)[:depth])

    def dcg(*, found_at_once: bool) -> float:
        discounts = [1 / log2(1 + t) for t in range(1, k + 1)] + [0.0]
        return sum(
            total(t, found_at_once=found_at_once) * (discounts[t - 1] - discounts[t])
            for t in range(1, k + 1)
        )

    return dcg(found_at_once=False) / dcg(found_at_once=True)


def test_a_better_document_later_adds_its_difference() -> None:
    """A gold item graded 2 at rank 1 and 3 at rank 2 has gain 2 first and 1 more at rank 2."""
    assert judged([[2], [3]], "ndcg@1(gain_from=judge)") == pytest.approx(2 / 3)
    assert judged([[2], [3]], "ndcg@2(gain_from=judge)") == pytest.approx((2 + 1 / log2(3)) / 3)


@quick
@given(
    grades=GRADES,
    k=st.integers(1, 6),
    gain=st.sampled_from(["linear", "exp2"]),
)
def test_equals_the_definition(grades: list[list[int]], k: int, gain: str) -> None:
    """The layers by grade equal the definition, for any grades."""
    found = judged(grades, f"ndcg@{k}(gain={gain}, gain_from=judge)")
    assert found == pytest.approx(reference(grades, k, gain), abs=1e-12)
    assert 0 <= found <= 1


@quick
@example(queries=[[[0], [2]], [[0], [0], [0], [3]]], gain="exp2")
@given(queries=st.lists(GRADES, min_size=2, max_size=4), gain=st.sampled_from(["linear", "exp2"]))
def test_grades_of_other_questions_do_not_matter(queries: list[list[list[int]]], gain: str) -> None:
    """To the last bit, a question has the value among others that it has alone."""
    metric = f"ndcg@5(gain={gain}, gain_from=judge)"
    assert judged_together(queries, metric) == [judged(grades, metric) for grades in queries]


def test_without_a_judge_it_is_refused() -> None:
    """A matcher that gives no grades has none to take as gains."""
    with pytest.raises(UsageError, match=r"gain_from=judge.*llm"):
        evaluate([["a"]], [["a"]], match="exact", metrics=["ndcg@3(gain_from=judge)"])
