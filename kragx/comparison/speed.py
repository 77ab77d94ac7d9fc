"""How long retrievers take: which is slower by more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import difference_interval
from kragx.metrics import METRICS

_RATIO = 1.5
_LEAST_SECONDS = 0.001
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")

SPEED = tuple(name for name, metric in METRICS.items() if "second" in metric.unit)
"""The metrics of how long it takes, and what is made of them."""


def slower(
    comparison: Comparison, scores: Sequence[RetrieverScores], slow: str, fast: Sequence[str]
) -> dict[str, Any]:
    """A retriever against the fastest of others, as values of an advice.

    Nothing where that is noise: less than a millisecond, or an interval with 0, corrected for all
    pairs of retrievers, with half of the level where times are tested, too; or where no metric
    is a time.
    """
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if metric is None:
        return {}
    means = comparison.overall.means
    seconds = {name: means[name][metric].value or 0.0 for name in (slow, *fast)}
    fastest = min(filter(seconds.get, seconds), key=seconds.__getitem__, default=slow)
    long, short = seconds[slow], seconds[fastest]
    if long - short < _LEAST_SECONDS or long / short < _RATIO:
        return {}
    tables = {score.name: score.table([metric], comparison.query_ids) for score in scores}
    settings, n = comparison.statistics, len(comparison.retrievers)
    looked_at = comb(n, 2) * (2 if comparison.n_tests_of_times else 1)
    ends = difference_interval(
        np.hstack([tables[slow], tables[fastest]]),
        METRICS[metric].number,
        confidence=1 - settings.alpha / max(1, looked_at),
        seed=settings.seed,
    )
    if ends is None or ends[0] <= 0:
        return {}
    return {
        "metric": metric,
        "best": slow,
        "best_seconds": long,
        "fastest": fastest,
        "fastest_seconds": short,
        "ratio": long / short,
    }
