"""Tests of millions of questions: beside those of thousands, and at their level."""

from __future__ import annotations

import numpy as np
import pytest

from kragx.comparison import compare
from kragx.comparison.statistics import paired_tests, randomisation_tests
from tests.comparison.support import evaluation, gold_set

VALUES, SHARES = (-1.0, -0.5, 0.0, 0.5, 1.0), (0.05, 0.1, 0.7, 0.1, 0.05)


def some_differences(seed, n=4_000, c=3):
    """Differences of three metrics, most of them 0."""
    random = np.random.default_rng(seed)
    return random.choice(VALUES, p=SHARES, size=(n, c)) + random.normal(0, 0.02, c)


@pytest.fixture
def grouped(monkeypatch):
    """The tests of questions by a thousand groups of them, as of very many."""
    monkeypatch.setattr(randomisation_tests, "GROUPS", 1_000)

    def tests(columns, n, *options, **named):
        with monkeypatch.context() as patched:
            patched.setattr(randomisation_tests, "MANY", 0)
            return paired_tests(columns, n, *options, **named)

    return tests


def test_by_hand(grouped):
    """1,060 of 2,000 differ one way, and p is near the normal 0.0073; groups of all are exact."""
    column = np.where(np.arange(2_000) < 1_060, 1.0, -1.0)
    (tests,), (family,) = grouped([column], 2_000, [np.arange(2_000)])
    assert tests.z == pytest.approx([2.6833], abs=0.15)
    assert tests.p == pytest.approx([0.0073], abs=0.004)
    assert family.n_tests == 1
    # What the largest of one standard normal number is by chance, with either sign.
    assert np.quantile(family.maxima, 0.95) == pytest.approx(1.96, abs=0.05)


def test_few_that_differ_are_flipped(grouped):
    """Of ten questions that differ among many p is exact: 2 of 1,024 ways are as extreme."""
    column = np.zeros(5_000)
    column[:10] = 0.25
    (tests,), _ = grouped([column], 5_000, [np.arange(5_000)])
    assert tests.p.tolist() == [2 / 1_024]


@pytest.mark.integration
def test_it_decides_as_flips_of_each_question(grouped):
    """Over all questions and in a part p is about the same, and so is what it decides."""
    logs, same = [], []
    for seed in range(8):
        differences = some_differences(seed, n=8_000)
        parts = [np.arange(8_000), np.arange(0, 8_000, 2)]
        plain, (family,) = paired_tests(differences.T, 8_000, parts, 1_000, handicap=0.5)
        by_group, (other,) = grouped(differences.T, 8_000, parts, 1_000, handicap=0.5)
        assert other.n_tests == family.n_tests == 6
        for flipped, drawn in zip(plain, by_group):
            assert drawn.z == pytest.approx(flipped.z, rel=0.08, abs=0.08)
            logs += [*zip(np.log(flipped.p), np.log(np.maximum(drawn.p, 1 / 1_001)))]
            same += [*((flipped.p <= 0.05) == (drawn.p <= 0.05))]
        # What the largest of all statistics is by chance does not depend on the way.
        quantiles = [np.quantile(tests.maxima, (0.5, 0.95)) for tests in (family, other)]
        assert quantiles[0] == pytest.approx(quantiles[1], abs=0.2)
    assert np.corrcoef(np.transpose(logs))[0, 1] > 0.98
    assert np.mean(same) > 0.96


@pytest.mark.integration
def test_level(grouped):
    """Where two retrievers are equal, p is at most .05 in about 5 % of 2,000 draws."""
    random, n_false = np.random.default_rng(7), 0
    for seed in range(2_000):
        column = random.choice(VALUES, p=SHARES, size=4_000) * random.random(4_000)
        (tests,), _ = grouped([column], 4_000, [np.arange(4_000)], 499, seed)
        n_false += tests.p[0] <= 0.05
    assert 60 <= n_false <= 139  # 100 by chance, four deviations either way are 39


@pytest.mark.integration
def test_level_of_a_family(grouped):
    """Of six tests that hang together some adjusted p is at most .05 in about 5 % of 1,000."""
    random, n_false = np.random.default_rng(11), 0
    parts = [np.arange(6_000), np.arange(0, 6_000, 2)]
    for seed in range(1_000):
        common = random.normal(size=(6_000, 1))
        columns = (common + random.normal(size=(6_000, 3))).T
        tests, (family,) = grouped(columns, 6_000, parts, 499, seed)
        p = [family.adjusted(part.p, part.z) for part in tests]
        n_false += np.min(p) <= 0.05
    assert 25 <= n_false <= 78  # 50 by chance, four deviations either way are 28


def test_missing_values_and_what_never_differs(grouped):
    """A question without a value counts for neither; equal columns have p = 1 and z = 0."""
    column = some_differences(3)[:, 0]
    gaps = column.copy()
    gaps[::2] = np.nan
    rows = np.arange(4_000)
    (tests,), (family,) = grouped([gaps, column * 0, column * np.nan], 4_000, [rows], 199)
    (halved,), _ = grouped([np.where(np.isnan(gaps), 0.0, gaps)], 4_000, [rows], 199)
    assert tests.p[0] == halved.p[0]
    assert tests.p[1:].tolist() == [1.0, 1.0]
    assert tests.z[1:].tolist() == [0.0, 0.0]
    assert family.n_tests == 2


@pytest.mark.integration
def test_a_comparison_of_many_is_the_comparison(monkeypatch):
    """Means, intervals, counts and verdicts are the same; p and what hangs on it nearly so."""
    gold = gold_set(600, query_type=lambda i: ("easy", "hard", "rare")[(i % 3) - (i % 90 == 0)])
    ranks = np.random.default_rng(5).integers(1, 14, (3, 600))
    ranks[1] = np.maximum(ranks[0] - np.arange(600) % 2, 1)
    evaluations = [
        evaluation(gold, name, lambda i, own=own: None if own[i] > 10 else int(own[i]))
        for name, own in zip("abc", ranks)
    ]
    plain = compare(evaluations, slices=["query_type"], resamples=1_000)
    monkeypatch.setattr(randomisation_tests, "MANY", 100)
    monkeypatch.setattr(randomisation_tests, "GROUPS", 300)
    many = compare(evaluations, slices=["query_type"], resamples=1_000)
    assert many.n_tests == plain.n_tests
    views = [(plain.overall, many.overall), *zip(plain.slices, many.slices)]
    for one, other in views:
        for name, means in one.means.items():
            for metric, estimate in means.items():
                for field in ("value", "n", "low", "high", "sure_low", "sure_high"):
                    expected = pytest.approx(getattr(estimate, field), abs=1e-9)
                    assert getattr(other.means[name][metric], field) == expected
        for before, after in zip(one.differences, other.differences):
            assert (after.n, after.wins, after.ties) == (before.n, before.wins, before.ties)
            assert after.verdict == before.verdict
            assert after.p_adjusted == pytest.approx(before.p_adjusted, abs=0.05)
    assert [own.kind for own in many.recommendations] == [own.kind for own in plain.recommendations]


def test_families_are_those_of_the_test_itself(grouped):
    """Each test is corrected with its own family alone, whichever way chance is drawn."""
    differences = np.random.default_rng(5).normal(0, 1, (600, 3))
    parts = [np.arange(600), np.arange(0, 600, 3)]
    of = np.array([[0, 1, 2], [1, 1, 2]])
    for own in (
        paired_tests(differences.T, 600, parts, 500, family_of=of, n_families=3),
        grouped(differences.T, 600, parts, 500, family_of=of, n_families=3),
    ):
        _, families = own
        assert [family.n_tests for family in families] == [1, 3, 2]
    apart, (alone,) = paired_tests(differences[:, :1].T, 600, parts[:1], 500)
    together, families = paired_tests(differences.T, 600, parts, 500, family_of=of, n_families=3)
    assert (families[0].maxima == alone.maxima).all()
    assert together[0].p[0] == apart[0].p[0]
