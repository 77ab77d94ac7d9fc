"""Tests made together: by hand, beside every flip there is, and at their level."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from kragx.comparison.statistics import Family, paired_tests, sign_flip_p, worse_parts
from tests.thoroughness import examples

SEED = 5


def flip_tests(columns, parts, *options, **named):
    """`paired_tests` of a table (q, c)."""
    return paired_tests(columns.T, len(columns), parts, *options, **named)


def every_flip(columns):
    """The p of each column against the largest statistic of them all, over every flip."""
    norm = np.sqrt((columns**2).sum(axis=0))
    signs = np.array(list(itertools.product((1, -1), repeat=len(columns))))
    largest = np.abs(signs @ columns / norm).max(axis=1)
    observed = np.abs(columns.sum(axis=0)) / norm
    return np.array([(largest >= z - 1e-9).mean() for z in observed])


def test_by_hand():
    """Differences 1, 1, 1 and 1, 1, -1: a flip in eight turns either into three of one sign.

    The first column is all of one sign in 2 of 8 flips and the second in 2 others, so the first,
    with p = .25 by itself, has p = .5 as one of both.
    """
    columns = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    (tests,), (family,) = flip_tests(columns, [np.arange(3)], 20_000, SEED)
    assert tests.p.tolist() == [0.25, 1.0]
    assert tests.z.tolist() == pytest.approx([3**0.5, 3**-0.5])
    assert family.n_tests == 2
    assert family.adjusted(tests.p, tests.z).tolist() == pytest.approx([0.5, 1.0], abs=0.015)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@examples(20)
def test_near_every_flip(seed, c):
    """The corrected p is the share of all flips whose largest statistic is as large."""
    columns = np.random.default_rng(seed).integers(-2, 3, (9, c)).astype(float)
    columns[0] = 1
    (tests,), (family,) = flip_tests(columns, [np.arange(9)], 4_000, SEED)
    expected = every_flip(columns)
    assert family.adjusted(tests.p, tests.z) == pytest.approx(expected, abs=0.05)


def test_by_itself_a_test_is_not_corrected():
    """Where nothing else is tested, p stays as it is, however it was found."""
    for n in (6, 60):
        column = np.random.default_rng(n).normal(0.2, 1, (n, 1))
        (tests,), (family,) = flip_tests(column, [np.arange(n)])
        assert tests.p == sign_flip_p(column)
        assert family.adjusted(tests.p, tests.z) == tests.p
        assert family.least(0.05) == pytest.approx(1.96, abs=0.001)


def test_parts_are_tests_of_their_own():
    """A part's p is that of its rows alone; corrected, it is one of all parts."""
    columns = np.random.default_rng(0).normal(0.1, 1, (40, 3))
    parts = [np.arange(40), np.arange(10), np.arange(10, 40)]
    tests, (family,) = flip_tests(columns, parts, 2_000, SEED)
    assert family.n_tests == 9
    assert tests[1].p.tolist() == sign_flip_p(columns[:10]).tolist()
    largest = max(test.z.max() for test in tests)
    for test in tests:
        adjusted = family.adjusted(test.p, test.z)
        assert (adjusted >= test.p).all()
        assert (adjusted >= family.adjusted(np.zeros(1), np.array([largest]))).all()


def test_nothing_differs():
    """Without any difference every p is 1; without any value there is no test."""
    columns = np.zeros((30, 2))
    columns[:, 1] = np.nan
    (tests,), (family,) = flip_tests(columns, [np.arange(30)])
    assert tests.p.tolist() == [1.0, 1.0]
    assert family.n_tests == 1
    assert Family.of([]).n_tests == 0


def test_families_join():
    """The tests of two tables, of which each random flip is the same, are one family."""
    columns = np.random.default_rng(1).normal(0, 1, (50, 6))
    rows = [np.arange(50)]
    (tests,), (whole,) = flip_tests(columns, rows, 1_000, SEED)
    halves = [
        flip_tests(columns[:, some], rows, 1_000, SEED)[1][0] for some in (range(3), [3, 4, 5])
    ]
    joined = Family.of(halves)
    assert joined.n_tests == whole.n_tests == 6
    assert joined.adjusted(tests.p, tests.z) == pytest.approx(whole.adjusted(tests.p, tests.z))


def test_a_handicap_weighs_parts_less():
    """With a handicap of the parts the whole is hardly corrected for them, and they are more so."""
    columns = np.random.default_rng(0).normal(0.3, 1, (60, 1))
    rows = [np.arange(60), *np.arange(60).reshape(6, 10)]
    fair, (level,) = flip_tests(columns, rows, 4_000, SEED)
    held, (behind,) = flip_tests(columns, rows, 4_000, SEED, handicap=1.0)
    assert behind.n_tests == level.n_tests == 7
    whole = [each.adjusted(t[0].p, t[0].z) for each, t in ((level, fair), (behind, held))]
    assert held[0].p <= whole[1] < whole[0]
    best = max(range(1, 7), key=lambda part: fair[part].z)
    part = [each.adjusted(t[best].p, t[best].z) for each, t in ((level, fair), (behind, held))]
    assert part[0] < part[1]


def test_the_least_that_is_decided():
    """From `least` on p is at most the level, below it is above."""
    columns = np.random.default_rng(2).normal(0, 1, (60, 10))
    _, (family,) = flip_tests(columns, [np.arange(60)])
    z = family.least(0.05)
    p = family.adjusted(np.zeros(2), np.array([z * 0.99, z * 1.01]))
    assert p[0] > 0.05 > p[1]


def test_a_part_that_is_worse_as_fishers_exact_test():
    """Of hits the chance that a part has so few is hypergeometric."""
    values = np.ones(60)
    values[[0, 1, 2, 3, 4, 5, 30, 40]] = 0.0
    parts = [np.arange(12), np.arange(20, 60)]
    tests, family = worse_parts(values, parts, 20_000, SEED)
    expected = [stats.hypergeom.cdf(hits, 60, 52, size) for hits, size in ((6, 12), (38, 40))]
    assert tests.p[0] == pytest.approx(expected[0], abs=0.002)
    assert tests.p[1] == 1.0  # above the mean of all
    assert family.n_tests == 2
    assert tests.z[1] == 0


def test_parts_that_cannot_be_worse():
    """A part without values, or all there is, has no test; equal values have p = 1."""
    values = np.append(np.full(20, 0.5), np.full(5, np.nan))
    tests, family = worse_parts(values, [np.arange(20, 25), np.arange(25), np.arange(4)], 500)
    assert np.isnan(tests.p).tolist() == [True, True, False]
    assert tests.p[2] == 1.0
    assert family.n_tests == 1
    tests, family = worse_parts(values[20:], [np.arange(5)])
    assert np.isnan(tests.p).all()
    assert family.n_tests == 0


@pytest.mark.integration
def test_families_hold_the_level():
    """Of 400 families of 30 null tests that hang together 5 % at most have a false alarm."""
    rng = np.random.default_rng(8)
    alarms = []
    for _ in range(400):
        shared = rng.normal(0, 1, (50, 1))
        columns = shared + rng.normal(0, 1, (50, 30))
        (tests,), (family,) = flip_tests(columns, [np.arange(50)], 499, SEED)
        alarms.append((family.adjusted(tests.p, tests.z) <= 0.05).any())
    assert 0.02 <= np.mean(alarms) <= 0.07
