"""What each question stands for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.metrics.weights import effective_n, question_weights, weighted_mean


def test_a_mean_by_hand() -> None:
    """Asked 3 times of which all were kept, and once with a chance of a half: (3 1 + 2 0) / 5."""
    weights = question_weights(np.array([3.0, 1.0]), np.array([1.0, 0.5]))
    assert weights is not None
    assert weights.tolist() == [3.0, 2.0]
    assert weighted_mean(np.array([1.0, 0.0]), weights) == pytest.approx(0.6)
    assert effective_n(weights, np.array([True, True])) == pytest.approx(25 / 13)


def test_equal_weights_are_none() -> None:
    """Where each question stands for as many asks, nothing is weighed."""
    assert question_weights(np.array([2.0, 2.0, 1.0]), np.array([1.0, 1.0, 0.5])) is None
    assert weighted_mean(np.array([0.25, np.nan]), None) == 0.25
    assert effective_n(None, np.array([True, False])) == 1.0


def test_what_has_no_value_weighs_nothing() -> None:
    """A question without a value is in no sum; without any weight there is no mean."""
    assert weighted_mean(np.array([np.nan, 0.5]), np.array([9.0, 1.0])) == 0.5
    assert weighted_mean(np.array([0.5, np.nan]), np.array([0.0, 1.0])) is None
    assert weighted_mean(np.array([np.nan]), np.array([1.0])) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 9)), min_size=2, max_size=9))
def test_folded_and_unfolded_means_agree(questions: list[tuple[float, int]]) -> None:
    """A question of weight n adds as much as n questions."""
    values, asks = (np.array(column, np.float64) for column in zip(*questions))
    unfolded = np.repeat(values, asks.astype(int))
    weights = question_weights(asks, np.ones(len(asks)))
    assert weighted_mean(values, weights) == pytest.approx(unfolded.mean())
