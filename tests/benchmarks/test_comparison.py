"""Intervals and paired tests, beside scipy, and a whole comparison in seconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy import stats

from kragx.comparison import RetrieverScores, Settings, compare_scores
from kragx.comparison.statistics import sign_flip_p
from kragx.data.lists import Floats
from kragx.metrics.intervals import percentile_intervals

from .support import once, sides, take, turns
from .workloads import SIZE

COLUMNS = 30
RESAMPLES = 2_000
BATCH = 100
"""What scipy is given at once, lest it fill the memory."""


@cache
def values(queries: int) -> tuple[Floats, Floats]:
    """(queries, metrics) of two retrievers, alike but not the same."""
    rng = np.random.default_rng(0)
    level = rng.random((queries, 1))
    one, other = np.clip(level + rng.normal(0, 0.2, (2, queries, COLUMNS)), 0, 1).round(3)
    return one, other


@turns
@sides("kragx", "peer-scipy")
def test_intervals(benchmark: Any, side: str, turn: int) -> None:
    """The bootstrap interval of each of 30 means."""
    one, _ = values(SIZE.metric_queries)

    def ours() -> Floats:
        return percentile_intervals(one, 0.95, RESAMPLES)

    def theirs() -> Any:
        return stats.bootstrap(
            (one,),
            np.mean,
            axis=0,
            n_resamples=RESAMPLES,
            batch=BATCH,
            method="percentile",
            vectorized=True,
            rng=np.random.default_rng(0),
        ).confidence_interval

    found = take(benchmark, "statistics-intervals", ours if side == "kragx" else theirs)
    assert np.shape(found) == (2, COLUMNS)


@turns
@sides("kragx", "peer-scipy")
def test_paired_tests(benchmark: Any, side: str, turn: int) -> None:
    """The p of each of 30 differences."""
    one, other = values(SIZE.metric_queries)

    def ours() -> Floats:
        return sign_flip_p(one - other, RESAMPLES)

    def theirs() -> Any:
        return stats.permutation_test(
            (one, other),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            axis=0,
            permutation_type="samples",
            n_resamples=RESAMPLES,
            batch=BATCH,
            vectorized=True,
            rng=np.random.default_rng(0),
        ).pvalue

    found = take(benchmark, "statistics-tests", ours if side == "kragx" else theirs)
    assert np.shape(found) == (COLUMNS,)


@sides("kragx")
@once
def test_comparison(benchmark: Any, side: str, turn: int) -> None:
    """Five retrievers, 30 metrics, 10,000 resamples: all intervals, tests and leaders."""
    base, _ = values(SIZE.metric_queries)
    metrics = [f"ndcg@{k}" for k in range(1, COLUMNS + 1)]
    rng = np.random.default_rng(1)
    settings = {
        "dataset": {"hash": "0", "name": "made", "version": None},
        "profile": {"missing": "empty"},
        "deviations": {},
        "match": {},
        "versions": {},
    }
    scored = []
    for number in range(5):
        own = np.clip(base + rng.normal(0.002 * number, 0.1, base.shape), 0, 1)
        scored.append(
            RetrieverScores(
                name=f"r{number}",
                match="id",
                settings=settings,
                query_ids=tuple(map(str, range(len(own)))),
                values=dict(zip(metrics, own.T)),
                means=dict(zip(metrics, own.mean(axis=0).tolist())),
                better=dict.fromkeys(metrics, "higher"),
            )
        )
    found = take(
        benchmark, "statistics-comparison", lambda: compare_scores(scored, Settings()), rounds=1
    )
    assert len(found.overall.differences) == 4 * COLUMNS
