"""Halving: who goes when, and that the best rarely does."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.tuning import Halving, Rules, halve
from tests.thoroughness import examples

RULES = Rules("m", resamples=400, looks=3)
ROUNDS = Halving(20, 2)


def race(table, halving=ROUNDS, rules=RULES, **options):
    """The drops of settings s0, s1, ... with these values (q, m), and how often each was asked."""
    asked = {}

    def ask(names, rows):
        asked.update(dict.fromkeys(names, len(rows)))
        return {name: table[rows, int(name[1:])] for name in names}

    names = [f"s{place}" for place in range(table.shape[1])]
    return halve(names, np.arange(len(table)), halving, ask, rules, **options), asked


@examples(100)
@given(st.integers(10, 80), st.floats(1.1, 5), st.integers(0, 400))
def test_rounds_grow_and_end_before_all_questions(start, factor, n):
    """Each round has more questions than the one before, and the last look has them all."""
    halving = Halving(start, factor)
    sizes = halving.rounds(n)
    assert all(one < other for one, other in zip([0, *sizes], [*sizes, n])) or n == 0
    assert halving.looks(n) == len(sizes) + 1
    assert sizes[:1] == ([start] if start < n else [])


def test_who_is_clearly_worse_goes_at_once_and_is_asked_no_further():
    """By hand: one is .6 behind on each of twenty questions; the other two are alike."""
    rng = np.random.default_rng(0)
    table = rng.random((100, 1)) * 0.3 + [0.6, 0.0, 0.6] + rng.normal(0, 0.01, (100, 3))
    drops, asked = race(table)
    (drop,) = drops
    assert (drop.name, drop.n_questions) == ("s1", 20)
    assert drop.best in {"s0", "s2"}
    assert drop.behind == pytest.approx(0.6, abs=0.02)
    assert asked == {"s0": 80, "s1": 20, "s2": 80}


def test_what_is_spared_or_failed_or_alone_is_not_dropped():
    """A baseline stays however bad; what failed is not known; of one nothing is asked in rounds."""
    table = np.tile([0.9, 0.1], (60, 1)) + np.random.default_rng(0).normal(0, 0.01, (60, 2))
    assert race(table, spared={"s1"})[0] == ()
    assert race(table[:, :1]) == ((), {})
    failing = halve(
        ["s0", "s1"],
        np.arange(60),
        Halving(20, 2),
        lambda names, rows: {"s0": table[rows, 0], "s1": None},
        RULES,
    )
    assert failing == ()


def test_lower_may_be_better():
    """Of a metric that should be small the larger one goes."""
    table = np.tile([0.9, 0.1], (60, 1)) + np.random.default_rng(0).normal(0, 0.01, (60, 2))
    drops, _ = race(table, rules=Rules("m", better="lower", resamples=400))
    assert [drop.name for drop in drops] == ["s0"]


def test_questions_without_a_value_decide_nothing():
    """A round in which no question has a value drops nobody."""
    assert race(np.full((60, 3), np.nan))[0] == ()


@pytest.mark.integration
@pytest.mark.parametrize("gaps", [np.zeros(6), np.linspace(0, 0.1, 6)])
@pytest.mark.parametrize("kind", ["normal", "hits", "ranks"])
def test_the_best_is_dropped_less_often_than_stated(kind, gaps):
    """Over four looks, at 95 %: of six settings the first, the best, goes in at most 5 %."""
    rng, trials, lost, saved = np.random.default_rng(11), 150, 0, 0
    halving = Halving(25, 2)
    for trial in range(trials):
        hard = rng.random((150, 1))
        if kind == "normal":
            table = hard + rng.normal(0, 0.15, (150, 6)) - gaps
        elif kind == "hits":
            table = (0.7 * hard + 0.4 * rng.random((150, 6)) + 2 * gaps < 0.7).astype(float)
        else:
            ranks = np.floor(1 + 6 * hard**2 + 3 * rng.random((150, 6)) ** 3 + 20 * gaps)
            table = np.where(ranks <= 5, 1 / ranks, 0.0)
        rules = Rules("m", resamples=400, seed=trial, looks=halving.looks(150))
        drops, _ = race(table, halving, rules)
        names = {drop.name for drop in drops}
        # The last look, on all questions, shares the level.
        last = rules.behind(table).p[0] <= rules.alpha
        lost += "s0" in names or bool(last)
        saved += len(names)
    assert lost / trials <= 0.05 + 3 * sqrt(0.05 * 0.95 / trials)
    assert gaps.any() == (saved > trials)
