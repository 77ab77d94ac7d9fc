"""How long retrievers take: which is slower by more than noise, and which find the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import TOLERANCE, difference_interval
from kragx.comparison.view import FEW
from kragx.metrics import METRICS, Floats
from kragx.metrics.weights import weighted_mean

_RATIO = 1.5
_LEAST_SECONDS = 0.001
_MEAN = "seconds_mean"
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")

SPEED = tuple(name for name, metric in METRICS.items() if "second" in metric.unit)
"""The metrics of how long it takes, and what is made of them."""


def slower(
    comparison: Comparison,
    scores: Sequence[RetrieverScores],
    slow: Sequence[str],
    fast: Sequence[str],
) -> dict[str, Any]:
    """The slowest of some against the fastest of others, which are looked at together.

    Nothing where that is noise: less than a millisecond, or an interval with 0, corrected for all
    pairs of retrievers, with half of the level where times are tested, too; or where no metric
    is a time, unless retrievers are set against themselves (`slow` is `fast`), who differ in
    nothing else: then it is by the seconds that their answers took.
    """
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if metric is None and slow is not fast:
        return {}
    tables = {
        score.name: score.seconds_of(comparison.query_ids)
        if metric is None
        else score.table([metric], comparison.query_ids)[:, 0]
        for score in scores
        if score.name in (*slow, *fast)
    }
    seconds = _seconds(comparison, tables, metric)
    slow, fast = (list(filter(seconds.__contains__, names)) for names in (slow, fast))
    if not slow or not fast:
        return {}
    slowest, fastest = max(slow, key=seconds.__getitem__), min(fast, key=seconds.__getitem__)
    long, short = seconds[slowest], seconds[fastest]
    metric = metric or _MEAN
    pair = np.stack([tables[slowest], tables[fastest]], axis=1)
    # A ratio of tiny times is the clock's, and a small ratio is no reason to change anything.
    if long - short < _LEAST_SECONDS or long / short < _RATIO:
        return {}
    if not _is_slower(comparison, pair, metric):
        return {}
    return {
        "metric": metric,
        "slow": slowest,
        "fast": fastest,
        "slow_seconds": long,
        "fast_seconds": short,
        "ratio": long / short,
    }


def _seconds(
    comparison: Comparison, tables: Mapping[str, Floats], metric: str | None
) -> dict[str, float]:
    """By a metric, or else the mean, what each takes, where it takes any time at all."""
    means, weights = comparison.overall.means, comparison.weights
    return {
        name: value
        for name, values in tables.items()
        if (
            value := weighted_mean(values, weights) if metric is None else means[name][metric].value
        )
    }


def _is_slower(comparison: Comparison, pair: Floats, metric: str) -> bool:
    """Whether the first of (q, 2) times is the longer one by more than noise."""
    settings, n = comparison.statistics, len(comparison.retrievers)
    # The slowest and the fastest are picked from all pairs, so the interval is as wide as for all
    # of them (Bonferroni).
    looked_at = comb(n, 2) * (2 if comparison.n_tests_of_times else 1)
    ends = difference_interval(
        pair,
        METRICS[metric].number,
        weights=comparison.weights,
        confidence=1 - settings.alpha / max(1, looked_at),
        seed=settings.seed,
    )
    return ends is not None and ends[0] > 0


def equal_groups(comparison: Comparison, scores: Sequence[RetrieverScores]) -> list[list[str]]:
    """The retrievers that find the same, as vector stores do over the same vectors, or by mistake.

    All values of theirs are equal but times, and not the same for every query, as where all is
    found; nor are there so few that chance makes them equal.
    """
    if comparison.overall.n < FEW:
        return []
    metrics = [metric for metric in comparison.metrics if metric not in SPEED]
    groups: list[list[RetrieverScores]] = []
    for score in scores:
        for group in groups:
            if _find_the_same(group[0], score, comparison, metrics):
                group.append(score)
                break
        else:
            groups.append([score])
    return [[member.name for member in group] for group in groups if len(group) > 1]


def _find_the_same(
    first: RetrieverScores, second: RetrieverScores, comparison: Comparison, metrics: Sequence[str]
) -> bool:
    """Whether two retrievers have the same numbers in some metrics, of which one varies."""
    varies = False
    for metric in metrics:
        values, right_values = (
            np.append(score.table([metric], comparison.query_ids), np.float64(score.means[metric]))
            for score in (first, second)
        )
        if not np.allclose(values, right_values, rtol=0, atol=TOLERANCE, equal_nan=True):
            return False
        measured = values[:-1][~np.isnan(values[:-1])]
        varies = varies or bool(measured.size and np.ptp(measured) > TOLERANCE)
    return varies
