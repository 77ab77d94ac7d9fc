"""What the grades that are left can do to a comparison."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from kragx.comparison.statistics import sign_flip_p
from kragx.metrics import parse
from kragx.workshop.queue.deciding import ALPHA, Rule, deciding_metric, verdict
from tests.thoroughness import examples

METRICS = ["ndcg@3", "ndcg@3(gain=exp2)", "precision@2", "recall@3", "recall@2(rel=2)", "mrr@3"]
METRICS += ["hit_rate@2", "mrr@2(rel=2)"]
TOP = 2


def rule(name: str) -> Rule:
    """The rule of a metric, of grades up to 2."""
    own = Rule.of(parse(name), TOP)
    assert own is not None
    return own


@st.composite
def ranked(draw, most=4):
    """Ranks of two retrievers over a question's documents, 0 where one does not have it."""
    size = draw(st.integers(1, most))
    lists = [draw(st.permutations(range(size))) for _ in range(2)]
    lengths = [draw(st.integers(0, size)) for _ in range(2)]
    ranks = np.zeros((2, size), int)
    for row, order, length in zip(ranks, lists, lengths):
        row[order[:length]] = np.arange(1, length + 1)
    return ranks


def counts(own: Rule, ranks):
    """How often each is among what the metric looks at, where nothing has a copy."""
    return ((ranks > 0) & (ranks <= own.k)).astype(int)


@pytest.mark.parametrize("name", METRICS)
@given(ranks=ranked(6), data=st.data())
@examples(60)
def test_values_are_those_of_the_metric(name, ranks, data):
    """The arithmetic gives what `evaluate` gives for the same gold and lists."""
    grades = data.draw(st.lists(st.integers(0, TOP), min_size=ranks.shape[1]))[: ranks.shape[1]]
    own = rule(name)
    least = parse(name)["rel"] or 1
    gold = [[{"id": str(n), "grade": g} for n, g in enumerate(grades) if g]]
    gains = own.gains(np.array(grades, float))
    for row, weights in zip(ranks, own.weights(ranks, counts(own, ranks))):
        order = [str(n) for n in np.argsort(row, kind="stable") if row[n]]
        value = own.values(weights, gains)
        if max(grades) < least:
            assert value == 0  # a question that is in no mean
            continue
        run = [[{"id": one} for one in order]]
        expected = evaluate(gold, run, match="id", metrics=[name]).mean[str(parse(name))]
        assert value == pytest.approx(expected)


def every(own: Rule, grades, left):
    """All the gains that there may be."""
    choices = [range(TOP + 1) if free else [grade] for grade, free in zip(grades, left)]
    return own.gains(np.array(list(product(*choices)), float))


@pytest.mark.parametrize("name", METRICS)
@given(ranks=ranked(5), data=st.data())
@examples(100)
def test_bounds_against_brute_force(name, ranks, data):
    """No grades that are left go beyond the bounds; of most metrics some reach them."""
    size = ranks.shape[1]
    grades = data.draw(st.lists(st.integers(0, TOP), min_size=size, max_size=size))
    left = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    own = rule(name)
    one, other = own.weights(ranks, counts(own, ranks))
    gains = own.gains(np.array(grades, float))
    low, high = own.bounds(one[None], other[None], gains[None], left[None])
    tried = every(own, grades, left)
    differences = own.values(one, tried) - own.values(other, tried)
    assert low[0] <= differences.min() + 1e-9
    assert high[0] >= differences.max() - 1e-9
    if not name.startswith(("ndcg", "recall")) or not left.any():
        assert (low[0], high[0]) == pytest.approx((differences.min(), differences.max()))


@given(data=st.data())
@examples(60)
def test_certain_verdicts_against_brute_force(data):
    """Where a verdict is certain all grades that may be left give it, and else two differ.

    Few questions, so that p is exact; precision, so that the bounds are, and are reached together.
    """
    q = data.draw(st.integers(5, 7))
    own = rule("precision@2")
    ranks = [data.draw(ranked(3)) for _ in range(q)]
    frees = data.draw(st.lists(st.integers(0, q - 1), max_size=2))  # questions with one left
    low, high, ways = [], [], []
    for number, of_question in enumerate(ranks):
        size = of_question.shape[1]
        grades = data.draw(st.lists(st.integers(0, TOP), min_size=size, max_size=size))
        left = np.zeros(size, bool)
        left[: frees.count(number)] = True
        one, other = own.weights(of_question, counts(own, of_question))
        bounds = own.bounds(
            one[None], other[None], own.gains(np.array(grades) * 1.0)[None], left[None]
        )
        low.append(bounds[0])
        high.append(bounds[1])
        tried = every(own, grades, left)
        ways.append(np.unique(own.values(one, tried) - own.values(other, tried)))
    certain = verdict(np.concatenate(low), np.concatenate(high))
    columns = np.array(list(product(*ways))).T
    p, sums = sign_flip_p(columns), columns.sum(axis=0)
    of_each = np.where(p > ALPHA, "undecided", np.where(sums > 0, "better", "worse"))
    if certain == "open":
        assert len(set(of_each)) > 1
    else:
        assert set(of_each) == {certain}


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=10), st.data())
@examples(200)
def test_p_never_rises_with_a_difference(differences, data):
    """While the sum is above 0 more of any difference makes p no larger: certainty rests on it."""
    before = np.round(np.array(differences), 3)
    after = before.copy()
    after[data.draw(st.integers(0, len(before) - 1))] += data.draw(st.floats(0, 2))
    p = sign_flip_p(np.stack([before, after], axis=1))
    if before.sum() > 1e-9:
        assert p[1] <= p[0] + 1e-12


def test_all_known_is_certain():
    """With every grade known nothing is open, and a clear difference is said to be one."""
    clear, even = np.full(8, 0.5), np.array([0.5, -0.5] * 4)
    assert verdict(clear, clear) == "better"
    assert verdict(-clear, -clear) == "worse"
    assert verdict(even, even) == "undecided"
    assert verdict(-clear, clear) == "open"


def test_which_metric_decides():
    """The first that the arithmetic knows; of others ndcg@10 takes the place."""
    assert str(deciding_metric(["seconds_mean", "map@5", "recall@5", "mrr@10"])) == "recall@5"
    assert str(deciding_metric(["ndcg", "precision@5(over=retrieved)"])) == "ndcg@10"
    assert str(deciding_metric(["my.own:METRIC@5"])) == "ndcg@10"
