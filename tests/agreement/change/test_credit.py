"""Which labels the difference of two lists needs, and what it can be without them."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import evaluate
from kragx.agreement.change.draw import LABELLED, LabelledMetric
from kragx.data import Doc
from kragx.errors import UsageError
from tests.thoroughness import all_cases

NAMES = "abcdefg"


class TwoLists(NamedTuple):
    """Two lists, and the metric whose difference is wanted."""

    metric: LabelledMetric
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def documents(self):
        """Those within the cut-off."""
        return tuple(self.metric.credits(self.old, self.new))

    def wanted(self, labels):
        """What is to be labelled next."""
        return self.metric.wanted(self.metric.credits(self.old, self.new), labels)

    def bounds(self, labels):
        """Between what the difference lies."""
        return self.metric.bounds(self.metric.credits(self.old, self.new), labels)


lists = st.lists(st.sampled_from(NAMES), max_size=4)


def slow_difference(metric, old, new, relevant):
    """The difference as `evaluate` has it, of gold that is all that is known to be relevant."""
    pool = [doc for doc in NAMES if doc in relevant and doc in (*old[: metric.k], *new[: metric.k])]
    gold = dict.fromkeys(pool, 1)
    if not gold:
        return 0.0
    values = [
        evaluate(
            {"q": gold}, {"q": [Doc(id=doc) for doc in docs]}, match="id", metrics=[str(metric)]
        ).mean[str(metric)]
        for docs in (old, new)
    ]
    return values[1] - values[0]


@st.composite
def cases(draw):
    """Two short lists, and a metric."""
    metric = LabelledMetric(draw(st.sampled_from(LABELLED)), draw(st.integers(1, 4)))
    return TwoLists(metric, tuple(draw(lists)), tuple(draw(lists)))


@given(cases(), st.sets(st.sampled_from(NAMES)), st.data())
def test_no_label_that_is_left_out_changes_the_difference(case, relevant, data):
    """Whoever labels what is wanted until nothing is knows the difference, whatever the rest is."""
    labels = {}
    while wanted := case.wanted(labels):
        doc = data.draw(st.sampled_from(wanted))
        labels[doc] = doc in relevant
    low, high = case.bounds(labels)
    assert low == high
    rest = [doc for doc in case.documents if doc not in labels]
    for is_relevant in product([False, True], repeat=len(rest)):
        all_labels = labels | dict(zip(rest, is_relevant))
        assert case.bounds(all_labels) == pytest.approx((low, low), abs=1e-12)


@given(cases(), st.sets(st.sampled_from(NAMES)))
def test_with_all_labels_it_is_the_difference_of_the_metric(case, relevant):
    """What is known in the end is what `evaluate` says of both lists with that gold."""
    labels = {doc: doc in relevant for doc in case.documents}
    slow = slow_difference(case.metric, case.old, case.new, relevant)
    assert case.bounds(labels) == pytest.approx((slow, slow), abs=1e-9)


@given(cases(), st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=3))
def test_bounds_are_the_extremes_over_all_unknown_labels(case, known):
    """The bounds are the least and the greatest difference of all that the labels may be."""
    labels = {doc: known[doc] for doc in case.documents if doc in known}
    rest = [doc for doc in case.documents if doc not in labels]
    values = [
        case.bounds(labels | dict(zip(rest, chosen)))[0]
        for chosen in product([False, True], repeat=len(rest))
    ]
    assert case.bounds(labels) == pytest.approx((min(values), max(values)), abs=1e-12)


def test_precision_needs_what_came_or_went_alone():
    """By hand: of [a b c] and [b a d], precision@3 asks for c and d; in another order for none."""
    case = TwoLists(LabelledMetric("precision", 3), ("a", "b", "c"), ("b", "a", "d"))
    assert case.wanted({}) == ("c", "d")
    assert case.bounds({}) == pytest.approx((-1 / 3, 1 / 3))
    assert TwoLists(case.metric, ("a", "b"), ("b", "a")).wanted({}) == ()


def test_hit_rate_asks_for_what_stayed_only_where_that_decides():
    """By hand: c relevant and d not leaves it to a and b, one after the other; both settle it."""
    case = TwoLists(LabelledMetric("hit_rate", 3), ("a", "b", "c"), ("b", "a", "d"))
    assert case.wanted({}) == ("c", "d")
    assert case.wanted({"c": True, "d": True}) == case.wanted({"c": False, "d": False}) == ()
    assert case.wanted({"c": True, "d": False}) == ("a",)
    assert case.wanted({"c": True, "d": False, "a": True}) == ()
    assert case.bounds({"c": True, "d": False, "a": False, "b": False}) == (-1.0, -1.0)


def test_mrr_asks_for_one_after_the_other():
    """By hand: a at rank 1 and 3; relevant, b at 1 of the new list is left; then c says nothing."""
    case = TwoLists(LabelledMetric("mrr", 3), ("a", "c", "b"), ("b", "c", "a"))
    assert case.wanted({}) == ("a",)
    assert case.wanted({"a": True}) == ("b",)
    assert case.bounds({"a": True}) == pytest.approx((-2 / 3, 0.0))
    assert case.wanted({"a": True, "b": True}) == ()
    assert case.wanted({"a": True, "b": False}) == ("c",)


def test_rounding_asks_for_nothing():
    """Three relevant documents that change places make 0 but for rounding; the fourth says nothing.

    Nor do all four whatever the order.
    """
    for order in ("bcad", "cabd", "acbd", "cbad"):
        case = TwoLists(LabelledMetric("ndcg", 4), tuple("abcd"), tuple(order))
        assert case.wanted(dict.fromkeys("abc", True)) == ()


def test_pooled_metrics_divide_by_what_is_known_to_be_relevant():
    """By hand: recall@2 of [a b] and [a c d], a, b and c relevant, is 2/3 - 2/3; d is beyond 2."""
    case = TwoLists(LabelledMetric("recall", 2), ("a", "b"), ("a", "c", "d"))
    assert case.bounds({"a": True, "b": False, "c": True}) == pytest.approx((0.5, 0.5))
    assert case.bounds({"a": True, "b": True, "c": True}) == (0.0, 0.0)
    assert case.wanted({"b": False, "c": False}) == ()
    assert case.wanted({"b": False, "c": True}) == ("a",)


@all_cases(
    ("text", "words"),
    [
        ("precision", "cut-off"),
        ("ndcg@5(gain=exp2)", "without options"),
        ("map@5", "cannot be labelled; name one of precision"),
        ("rbp@5", "cannot be labelled; name one of precision"),
        ("nonsense@5", "nonsense"),
    ],
)
def test_what_cannot_be_labelled_is_said(text, words):
    """A metric without a cut-off, with options, or made of more is an error that says so."""
    with pytest.raises(UsageError, match=words):
        LabelledMetric.of(text)


def test_names_of_metrics_are_read_as_elsewhere():
    """Another spelling is the same metric."""
    assert str(LabelledMetric.of("nDCG@10")) == "ndcg@10"
    assert np.isclose(TwoLists(LabelledMetric.of("MRR@2"), ("a",), ()).bounds({"a": True})[0], -1)
