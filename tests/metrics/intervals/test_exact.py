"""Exact limits of a share: they err as often as they say, whatever the share is."""

from bisect import bisect_left
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from scipy.stats import beta, binom, binomtest

from kragx.comparison.gate_conditions import parse_gates, undecidable
from kragx.comparison.statistics import enough, unseen
from kragx.ground.printing import at_most, limits
from kragx.metrics.intervals import ends_text, exact_limits, with_exact_limits
from tests.thoroughness import some_cases

ROOT = Path(__file__).parents[3]
TAIL = 0.025
RECOMMENDED = {0.01: 1022, 0.02: 509, 0.05: 202, 0.2: 48}
"""How many questions docs/metrics.md recommends for a gate at such a limit."""


def all_limits(n: int) -> np.ndarray:
    """(2, n + 1) the limits of n questions with each number of hits."""
    return np.array([exact_limits(hits, n) for hits in range(n + 1)]).T


def most_passing(n: int, limit: float) -> int:
    """How many hits of n have an upper limit below another; -1 where none does.

    Limits grow with the hits, so that the first one that is not below is found by halving.
    """
    return bisect_left(range(n + 1), limit, key=lambda hits: exact_limits(hits, n)[1]) - 1


def test_known_limits():
    """0 of 300 is at most 1.222 %, as 1 - a^(1/n) has it; the rest as scipy's binomial test."""
    assert exact_limits(0, 300) == pytest.approx((0, 1 - TAIL ** (1 / 300)))
    assert exact_limits(300, 300) == pytest.approx((TAIL ** (1 / 300), 1))
    # As tables of Clopper and Pearson's limits have them for ten trials.
    table = [(0, 0.3085), (0.0025, 0.4450), (0.0252, 0.5561), (0.0667, 0.6525), (0.1216, 0.7376)]
    for hits, ends in enumerate([*table, (0.1871, 0.8129)]):
        assert exact_limits(hits, 10) == pytest.approx(ends, abs=5e-5)
    for hits, n in ((1, 5), (3, 20), (17, 100), (250, 500)):
        peer = binomtest(hits, n).proportion_ci(0.95, "exact")
        assert exact_limits(hits, n) == pytest.approx((peer.low, peer.high))


@some_cases("n", range(5, 501), 124)
def test_each_limit_covers_at_every_rate(n):
    """A share is above its upper limit, or below its lower one, in at most 2.5 % of samples.

    The chance to miss is greatest at the limits themselves, so looking there is looking everywhere.
    """
    hits, (low, high) = np.arange(n + 1), all_limits(n)
    above = binom.cdf(hits[:-1], n, high[:-1])
    below = binom.sf(hits[1:] - 1, n, low[1:])
    assert above.max() <= TAIL + 1e-9
    assert below.max() <= TAIL + 1e-9
    assert above.min() > TAIL - 1e-6, "exact, and no wider than needed"
    assert (np.diff(high) > 0).all()


@pytest.mark.parametrize(("limit", "n"), RECOMMENDED.items())
def test_gates_pass_what_is_good_and_not_what_is_not(limit, n):
    """At the limit 2.5 % pass at most, with any n; of a fifth of it 90 %, with n as recommended."""
    for size in (n // 2, n, n + 1, 2 * n):
        passing = most_passing(size, limit)
        assert (binom.cdf(passing, size, limit) if passing >= 0 else 0) <= TAIL
    for size in range(n, n + 40):
        assert binom.cdf(most_passing(size, limit), size, limit / 5) >= 0.9
    passing = most_passing(n - 1, limit)
    assert binom.cdf(passing, n - 1, limit / 5) < 0.9, "a smaller n would not do"


def test_how_many_it_takes_without_any():
    """`leak@10: surely < 0.01` can pass from 368 questions on, which Wilson's limit cannot."""
    assert {limit: enough(limit, exact=True) for limit in RECOMMENDED} == {
        0.01: 368,
        0.02: 183,
        0.05: 72,
        0.2: 17,
    }
    assert unseen(368, exact=True) < 0.01 < unseen(367, exact=True)
    (gate,) = parse_gates({"leak@10": "surely < 0.01"}, [])
    assert undecidable(gate, 368, 0.95) is None
    assert undecidable(gate, 300, 0.95) == (
        "cannot be decided with 300 questions: even 0.0000 on each would only be surely at most "
        "1.3%; 368 questions can"
    )


@pytest.mark.parametrize("page", ["docs/metrics.md", "docs/metrics.ko.md"])
def test_the_page_recommends_these(page):
    """It says how many it takes, how many to take, and how many of those may leak."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for limit, n in RECOMMENDED.items():
        passing = most_passing(n, limit)
        row = f"surely < {limit}` | {enough(limit, exact=True)} | {n:,} | {passing} |"
        assert row in text


def test_columns():
    """A share's own limits, those of a mean that it caps, and others as they were."""
    values = np.array([[0, 0, 0.5], [0, 0, 0.5], [1, 0.5, 0.5], [np.nan] * 3])
    ends = np.array([[0.1, 0.0, 0.2], [0.9, 1.0, 0.8]])
    doubts = np.array([[-0.1, 0, 0], [0.1, 0.1, 0.1]])
    kinds, n_open = ("exact", "capped", "score"), np.array([1, 0, 0])
    low, high = with_exact_limits(ends, values, kinds, n_open, doubts)
    assert low == pytest.approx([beta.ppf(TAIL, 1, 4), 0, 0.2])
    assert high == pytest.approx([beta.ppf(1 - TAIL, 3, 2), beta.ppf(1 - TAIL, 2, 2), 0.8])
    no_ends = np.full((2, 1), np.nan)  # as of a column without a value
    nothing = with_exact_limits(no_ends, values[3:, :1], ("exact",), n_open[1:2], doubts[:, :1])
    assert np.isnan(nothing).all()


def test_limits_are_shown_rounded_outward():
    """1.222 % is at most 1.3 %, never 0; what has no more digits stands as it is."""
    assert ends_text(*exact_limits(0, 300), 300, exact=True) == "at most 1.3%"
    assert limits(*exact_limits(3, 300)) == "[0.2%, 2.9%]"
    assert limits(*exact_limits(300, 300)) == "at least 98.7%"
    assert [at_most(share) for share in (0.013, 0.01, 0.0130001, 0.2, 1)] == [
        *("1.3%", "1.0%", "1.4%", "20.0%", "100.0%")
    ]
    assert at_most(exact_limits(0, 100_000)[1]) == "0.0037%"
    assert at_most(exact_limits(0, 10_000_000)[1]) == "0.000037%"
    assert at_most(0.00099999) == "0.100%"


@example(n=1.0, share=6.5e-282, level=0.95)
@given(
    st.one_of(st.integers(1, 2_000_000), st.floats(1, 1_000)),
    st.floats(0, 1),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_limits_are_quantiles_of_the_beta_distribution(n: float, share: float, level: float):
    """As scipy has them, of few questions, of two million and of parts, at any confidence."""
    hits, tail = round(n * share) if isinstance(n, int) else n * share, (1 - level) / 2
    low = beta.ppf(tail, hits, n - hits + 1) if hits > 1e-12 else 0.0
    high = beta.ppf(1 - tail, hits + 1, n - hits) if n - hits > 1e-12 else 1.0
    assert exact_limits(hits, n, level) == pytest.approx((low, high), rel=1e-7, abs=1e-12)


def test_a_lower_limit_of_next_to_nothing_is_not_said():
    """Of weighted questions the lower end may be 4e-13; an upper limit is what it says then."""
    assert limits(4e-13, 0.555) == "at most 55.5%"
    assert limits(2.5e-8, 5.6e-6) == "[0.0000025%, 0.00056%]"
