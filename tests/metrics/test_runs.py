"""A metric over several runs of one retriever (`kragx.metrics.runs`)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from kragx.metrics import MetricScores, parse_all
from kragx.metrics.engine import number_of
from kragx.metrics.intervals import mean_intervals, with_exact_limits
from kragx.metrics.match_table import PooledCounts
from kragx.metrics.runs import PARTLY, over_runs

NAN = math.nan


def scored(metric, *runs):
    """The scores of a metric in each run."""
    (spec,) = parse_all(metric)
    rows = (np.array(row, float) for row in runs)
    return [MetricScores(spec, row, number_of(spec.metric, row)) for row in rows]


def test_by_hand():
    """Questions found in 2 of 2, 1 of 2 and 0 of 2 runs are 1, .5 and 0; runs 2/3 and 1/3."""
    joint = over_runs(scored("recall@5", [1, 1, 0], [1, 0, 0]))
    assert joint.values.tolist() == [1, 0.5, 0]
    assert joint.mean == 0.5
    assert joint.runs == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert PARTLY not in joint.counts


def test_undefined_in_some():
    """A question counts by the runs in which it has a value, if any, and that is counted."""
    joint = over_runs(scored("redundancy@5", [0.5, NAN, NAN], [0.1, 0.4, NAN]))
    np.testing.assert_allclose(joint.values, [0.3, 0.4, NAN])
    assert (joint.mean, joint.counts[PARTLY]) == (pytest.approx(0.35), 1)


def test_percentiles():
    """A percentile is of all answers; a question's own value is its mean, as of all metrics."""
    joint = over_runs(scored("seconds_p50", [1, 5, NAN], [9, 50, 3], [2, 80, 2]))
    assert joint.values.tolist() == [4, 45, 2.5]
    assert joint.mean == 4  # of 1 2 2 3 5 9 50 80


def test_slow_answers_stay():
    """One slow answer in ten, of other questions in each run, is slow in the p95 of all runs."""
    runs = [np.where(np.arange(30) % 10 == place, 5.0, 0.1) for place in range(3)]
    joint = over_runs(scored("seconds_p95", *runs))
    assert (joint.mean, joint.runs) == (5.0, (5.0, 5.0, 5.0))
    weights = np.where(np.arange(30) % 10 == 0, 1.0, 9.0)
    weighted = [replace(score, weights=weights) for score in scored("seconds_p95", *runs)]
    assert over_runs(weighted).mean == 5.0


def test_percentiles_not_known():
    """Where one run's percentile has bounds alone, so has that of all."""
    first, second = scored("tokens_to_evidence", [1, NAN], [4, 9])
    joint = over_runs([replace(first, mean=None, bounds=(1.0, math.inf)), second])
    assert (joint.mean, joint.bounds) == (None, (2.5, math.inf))


def test_pooled_and_bounds():
    """Micro averages are of all runs; bounds are means of the runs', or of a run's mean."""
    first, second = scored("precision@2", [0.5, 0.5], [1, 0])
    first = MetricScores(
        first.spec,
        first.values,
        0.5,
        pooled=PooledCounts(2, 2, 2, 0),
        micro=0.5,
        bounds=(0.25, 0.75),
    )
    second = MetricScores(
        second.spec, second.values, 0.5, pooled=PooledCounts(2, 1, 2, 0), micro=2 / 3
    )
    joint = over_runs([first, second])
    assert joint.pooled == PooledCounts(4, 3, 4, 0)
    assert joint.micro == pytest.approx(4 / 7)
    assert joint.bounds == (0.375, 0.625)


@given(arrays(float, (3, 5), elements=st.sampled_from([0.0, 0.25, 1.0, NAN])))
def test_as_question_by_question(rows):
    """As averaging each question's values one after the other, and then the questions'."""
    joint = over_runs(scored("redundancy@5", *rows))
    slow = [
        sum(there) / len(there) if (there := [v for v in column if not math.isnan(v)]) else NAN
        for column in rows.T.tolist()
    ]
    np.testing.assert_allclose(joint.values, slow, atol=1e-12)
    known = [value for value in slow if not math.isnan(value)]
    assert joint.mean == (pytest.approx(sum(known) / len(known)) if known else None)


def test_leaks_in_some_runs():
    """Limits of a promise hold for means over runs: around the mean, no higher than of any run."""
    values = np.array([1 / 3] * 30 + [0.0] * 270)[:, None]
    ends = mean_intervals(values, [(0.0, 1.0)])
    none = np.zeros(1, int), np.zeros((2, 1))
    low, high = with_exact_limits(ends, values, ["exact"], *none)[:, 0]
    assert low < 30 / 3 / 300 < high < 0.14
    nothing = np.zeros((300, 1))
    limits = with_exact_limits(mean_intervals(nothing, [(0.0, 1.0)]), nothing, ["exact"], *none)
    assert limits[:, 0].tolist() == [0, pytest.approx(1 - 0.025 ** (1 / 300))]


@pytest.mark.integration
@pytest.mark.parametrize(("n_questions", "n_runs"), [(40, 3), (100, 5), (200, 3)])
def test_coverage(n_questions, n_runs):
    """Of random agents the interval holds the truth in 93-97 %; of runs as questions it does not.

    Questions are easy or hard for the agent: each has a chance of its own of being answered.
    """
    rng = np.random.default_rng(20 + n_questions)
    n_trials, by_question, by_answer = 1_500, 0, 0
    spec = parse_all("recall@5")[0]
    for _ in range(n_trials):
        chances = rng.beta(0.6, 0.4, n_questions)  # a mean of .6
        answers = (rng.random((n_runs, n_questions)) < chances).astype(float)
        joint = over_runs([MetricScores(spec, row, float(row.mean())) for row in answers])
        low, high = mean_intervals(joint.values[:, None], [(0.0, 1.0)])[:, 0]
        by_question += bool(low <= 0.6 <= high)
        independent = mean_intervals(answers.reshape(-1, 1), [(0.0, 1.0)])[:, 0]
        by_answer += bool(independent[0] <= 0.6 <= independent[1])
    assert 0.93 <= by_question / n_trials <= 0.97
    assert by_answer / n_trials < 0.88
