"""The paired randomisation test, effect sizes, tallies: beside scipy, by hand, and at its level."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from kragx.comparison import Settings
from kragx.comparison.aligned import Aligned, Column
from kragx.comparison.pair_tests import PairTests
from kragx.comparison.statistics import (
    difference_interval,
    effect_sizes,
    queries_needed,
    sign_flip_p,
    tally,
)

SEED = 5


def test_by_hand():
    """Differences 1, 2, 3: of the 8 ways to flip signs two reach a sum of 6, so p = 2/8."""
    assert sign_flip_p(np.array([[1.0], [2.0], [3.0]])).tolist() == [0.25]


def test_identical_runs():
    """Without any difference p is 1, whatever is missing."""
    zeros = np.zeros((30, 2))
    zeros[:5, 1] = np.nan
    assert sign_flip_p(zeros).tolist() == [1.0, 1.0]
    assert np.isnan(effect_sizes(zeros)).all()


@pytest.mark.parametrize("n", [4, 7, 11])
def test_equals_scipy_where_all_flips_are_taken(n):
    """With few queries p is exact, and that of scipy.stats.permutation_test."""
    rng = np.random.default_rng(n)
    one, other = rng.random((2, n, 5)).round(1)
    ours = sign_flip_p(one - other)
    for column in range(5):
        theirs = stats.permutation_test(
            (one[:, column], other[:, column]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        ).pvalue
        assert ours[column] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.integration
def test_near_scipy_where_flips_are_drawn():
    """With many queries p is that of scipy within what 10,000 random flips leave open."""
    rng = np.random.default_rng(2)
    one = rng.random((80, 6)).round(2)
    other = np.clip(one + rng.normal(0.02, 0.1, (80, 6)), 0, 1)
    ours = sign_flip_p(one - other, 20_000, SEED)
    for column in range(6):
        theirs = stats.permutation_test(
            (one[:, column], other[:, column]),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=20_000,
            vectorized=True,
            rng=np.random.default_rng(1),
        ).pvalue
        spread = (theirs * (1 - theirs) / 20_000) ** 0.5
        assert ours[column] == pytest.approx(theirs, abs=6 * spread + 1e-4)


def test_the_count_is_that_of_the_formula():
    """With random flips p = (b + 1) / (N + 1): the least p of 999 flips is 0.001."""
    p = sign_flip_p(np.full((40, 1), 0.1) + np.arange(40)[:, None] / 1000, 999, SEED)
    assert p.tolist() == [0.001]


@given(
    st.lists(
        st.one_of(st.none(), st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 0.5, 1.0])),
        min_size=1,
        max_size=9,
    )
)
def test_exact_p_equals_enumeration(differences):
    """The p equals the share of all sign patterns as extreme, equal fractions counted as equal."""
    known = [each for each in differences if each is not None]
    sums = [
        sum(sign * each for sign, each in zip(signs, known, strict=True))
        for signs in itertools.product((1, -1), repeat=len(known))
    ]
    expected = np.mean([abs(each) >= abs(sum(known)) - 1e-9 for each in sums])
    ours = sign_flip_p(np.array([differences], float).T)
    assert ours[0] == pytest.approx(expected)


def test_small_differences_of_values_near_1():
    """Thirds of thousandths below 1 are off in their last bits, and equal sums stay equal."""
    steps = np.array([1, 2, 3, -3, -1, -2, 1, -3, 2])
    values = 0.9 + steps / 3000
    expected = sign_flip_p(steps[:, None].astype(float))
    assert sign_flip_p((values - 0.9)[:, None]) == expected == [1.0]


@pytest.mark.integration
def test_the_seed_decides_the_bits():
    """The same seed gives the same p, to the last bit; another one does not."""
    x = np.random.default_rng(0).normal(0.01, 0.3, (2500, 3))
    alone = sign_flip_p(x, 5000, SEED)
    assert np.array_equal(alone, sign_flip_p(x, 5000, SEED))
    assert not np.array_equal(alone, sign_flip_p(x, 5000, SEED + 1))


@pytest.mark.integration
def test_same_bits_at_any_number_of_blas_threads():
    """A process whose BLAS has one thread finds the same bits as one with two."""
    code = """
import hashlib, numpy as np
from kragx.comparison.statistics import mean_intervals, sign_flip_p
x = np.random.default_rng(0).normal(0.01, 0.3, (3001, 37))
ranges = [None, (-3.0, 3.0)] * 18 + [None]
found = mean_intervals(x, ranges, count=2000).tobytes() + sign_flip_p(x, 2000).tobytes()
print(hashlib.sha256(found).hexdigest())
"""
    found = set()
    for threads in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=dict.fromkeys(names, threads),
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.integration
def test_holds_its_level():
    """Of 10,000 null comparisons, seeded, 5 % have p <= .05, as it should be.

    An unpaired test of the same values has it far less often: what pairing is for.
    """
    one, other = null_comparisons()
    p = sign_flip_p(one - other, 1999, SEED)
    for level, slack in ((0.05, 0.007), (0.01, 0.003)):
        assert (p <= level).mean() == pytest.approx(level, abs=slack)
    unpaired = stats.ttest_ind(one, other).pvalue
    assert (unpaired <= 0.05).mean() < 0.02


def null_comparisons(n=50, comparisons=10_000):
    """Reciprocal ranks of two equally good retrievers, each (n, comparisons).

    Values are as a metric has them (0, fractions, 1, many equal). A query is as hard for both, and
    which of the two finds its answer earlier is left to chance.
    """
    rng = np.random.default_rng(11)
    hardness = rng.integers(1, 10, (n, comparisons))
    ranks = hardness + rng.integers(0, 4, (2, n, comparisons))
    return np.where(ranks > 10, 0.0, 1 / ranks)


@pytest.mark.integration
def test_verdicts_hold_the_level():
    """Of 4,000 null comparisons 5 % at most are called better or worse, and not far fewer.

    A verdict is a small p and an interval without 0. As one family it is 5 % of the tables, here
    100 of 40 metrics each, in which any metric is.
    """
    one, other = null_comparisons(comparisons=4_000)
    metrics = tuple(f"m{column}" for column in range(40))
    queries = tuple(f"q{row}" for row in range(len(one)))
    decided = {"none": [], "family": []}
    for start in range(0, one.shape[1], len(metrics)):
        columns = {
            (metric, name): values[:, start + column]
            for name, values in (("one", one), ("other", other))
            for column, metric in enumerate(metrics)
        }
        better = dict.fromkeys(metrics, "higher")
        for correction, found in decided.items():
            settings = Settings(resamples=999, seed=SEED, correction=correction)
            table = Aligned(
                queries,
                ("one", "other"),
                metrics,
                {key: Column(values) for key, values in columns.items()},
                frozenset(metrics),
                better,
                "one",
                settings,
            )
            tests = PairTests(table, table.means())
            view = tests.view(tests.families)
            found.append([each.verdict for each in view.differences if each.decided])
    ways = [sum(table.count(way) for table in decided["none"]) for way in ("better", "worse")]
    assert 0.04 <= sum(ways) / one.shape[1] <= 0.057
    assert abs(ways[0] - ways[1]) < 60
    assert np.mean(list(map(bool, decided["family"]))) <= 0.1
    assert np.mean(list(map(bool, decided["none"]))) > 0.8


def test_finds_a_difference_that_is_there():
    """A shift of half a standard deviation in 60 queries is found nearly always."""
    x = np.random.default_rng(4).normal(0.5, 1, (60, 500))
    p = sign_flip_p(x, 1999, SEED)
    assert (p <= 0.05).mean() > 0.9


def test_wilcoxon_agrees_in_the_clear_cases():
    """The signed-rank test of scipy decides the same where p is far from 5 %."""
    x = np.random.default_rng(6).normal([0.0, 0.6], 1.0, (60, 2))
    ours = sign_flip_p(x, 9999, SEED)
    theirs = [stats.wilcoxon(x[:, column]).pvalue for column in range(2)]
    assert (ours < 0.05).tolist() == [p < 0.05 for p in theirs] == [False, True]


def test_effect_size_by_hand_and_by_the_t_test():
    """Differences 1, 2, 3 have mean 2 and deviation 1; d_z is t over the root of n."""
    assert effect_sizes(np.array([[1.0], [2.0], [3.0]])).tolist() == [2.0]
    x = np.random.default_rng(0).normal(0.1, 1, (37, 4))
    x[:7, 2] = np.nan
    for column, found in enumerate(effect_sizes(x)):
        known = x[~np.isnan(x[:, column]), column]
        t = stats.ttest_1samp(known, 0).statistic
        assert found == pytest.approx(t / len(known) ** 0.5)


def test_effect_size_is_unknown_without_spread():
    """One query, or the same difference everywhere, has no standard deviation to divide by."""
    assert np.isnan(effect_sizes(np.array([[0.5]]))).all()
    assert np.isnan(effect_sizes(np.full((4, 1), 0.1) + 1e-13)).all()


def test_tally():
    """Differences too small to be more than rounding are ties; undefined ones are nothing."""
    x = np.array([[0.1, 1.0], [0.1 + 0.2 - 0.3, np.nan], [-0.2, np.nan], [0.0, 0.5]])
    assert [each.tolist() for each in tally(x)] == [[1, 2], [2, 0], [1, 0]]


def test_queries_needed():
    """The textbook case: an effect of one half needs 32 pairs for a power of 80 %."""
    assert queries_needed(0.5, stats.norm.ppf(0.975)) == 32
    assert queries_needed(0.0, 1.96) is None
    assert queries_needed(-0.1, 1.96) is None


@pytest.mark.integration
def test_interval_of_a_difference_of_percentiles():
    """A shift is found in any number of a run; noise is not, nor what two queries show."""
    rng = np.random.default_rng(3)
    slow = rng.gamma(2, 0.05, 300)
    pairs = np.stack([slow + 0.02, rng.permutation(slow)], axis=1)
    for percent in (50, 95):
        low, high = difference_interval(pairs, lambda x, _, at=percent: float(np.percentile(x, at)))
        assert low < 0.02 < high
    low, high = difference_interval(pairs, lambda x, _: float(x.mean()))
    assert 0 < low < 0.02 < high
    pairs[5:] = np.nan
    assert difference_interval(pairs, lambda x, _: float(x.mean())) is not None
    pairs[2:] = np.nan
    assert difference_interval(pairs, lambda x, _: float(x.mean())) is None
