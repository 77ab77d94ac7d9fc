"""Which columns cannot be told from the best."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.comparison.statistics import behind_best
from tests.thoroughness import examples

TABLES = st.integers(2, 7).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n),
        min_size=2,
        max_size=4,
    )
)


def slow(columns):
    """The p of each column over every way to flip the signs, the obvious way."""
    n = len(columns[0])

    def statistic(own, signs):
        largest = 0.0
        for other in columns:
            leads = [b - a for a, b in zip(own, other)]
            norm = sqrt(sum(lead * lead for lead in leads))
            if norm:
                total = sum(sign * lead for sign, lead in zip(signs, leads))
                largest = max(largest, total / norm)
        return largest

    p = []
    for own in columns:
        observed = statistic(own, [1] * n)
        every = [statistic(own, signs) for signs in product((1, -1), repeat=n)]
        p.append(sum(one >= observed - 1e-9 for one in every) / len(every) if observed else 1.0)
    return p


@examples(80)
@given(TABLES)
def test_p_is_the_share_of_flips_with_a_statistic_as_large(columns):
    """Random flips come to what every flip, counted one by one, comes to."""
    count = 4_000
    behind = behind_best(np.array(columns).T, count=count)
    for p, exact in zip(behind.tolist(), slow(columns)):
        assert abs(p - exact) <= 5 * sqrt(exact * (1 - exact) / count) + 2 / count


def test_by_hand():
    """One that is worse on five of five questions: 1 of 32 flips is as extreme; the better is 1."""
    values = np.array([[1.0, 0.0]] * 5)
    behind = behind_best(values, count=20_000)
    assert behind[0] == 1
    assert behind[1] == pytest.approx(1 / 32, abs=0.006)


def test_two_that_never_differ_are_alike():
    """Without a difference p is 1."""
    values = np.repeat(np.tile([0.0, 1.0], 10)[:, None], 2, axis=1)
    behind = behind_best(values)
    assert behind.tolist() == [1, 1]


def test_one_column_and_no_rows():
    """One alone is behind nothing; of no question nothing is known."""
    alone = behind_best(np.ones((4, 1)))
    assert alone.tolist() == [1]
    empty = behind_best(np.empty((0, 3)))
    assert empty.tolist() == [1] * 3


def test_a_shift_of_all_changes_nothing_and_the_order_of_columns_does_not_matter():
    """Only differences count, and each column is looked at in the same way."""
    values = np.random.default_rng(4).random((30, 5))
    one, other = behind_best(values), behind_best(values[:, ::-1] + 3)
    np.testing.assert_allclose(one, other[::-1], atol=1e-12)


def test_groups_of_questions_say_what_questions_say():
    """Of more questions than there are groups the verdict is the same: a clear loser stands out."""
    rng = np.random.default_rng(0)
    values = rng.random((12_000, 1)) + rng.normal(0, 0.3, (12_000, 3)) - [0, 0, 0.05]
    behind = behind_best(values, count=1_000)
    assert behind[2] < 0.01 < max(behind[:2])


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["normal", "hits", "ranks"])
@pytest.mark.parametrize("n", [25, 100])
def test_the_best_is_rarely_told_to_be_worse(kind, n):
    """Of eight that are equal, or of which one is best, that one is lost in at most 5 % + noise."""
    rng, trials, lost = np.random.default_rng(7), 600, 0
    for trial in range(trials):
        gaps = np.zeros(8) if trial % 2 else np.linspace(0, 0.1, 8)
        hard = rng.random((n, 1))
        if kind == "normal":
            values = hard + rng.normal(0, 0.2, (n, 8)) - gaps
        elif kind == "hits":
            values = (0.7 * hard + 0.5 * rng.random((n, 8)) + gaps < 0.7).astype(float)
        else:
            ranks = np.floor(1 + 6 * hard**2 + 3 * rng.random((n, 8)) ** 3)
            values = np.where(ranks <= 5, 1 / ranks, 0.0) - gaps
        behind = behind_best(values, count=500, seed=trial)
        lost += behind[0] <= 0.05
    assert lost / trials <= 0.05 + 3 * sqrt(0.05 * 0.95 / trials)
