"""A metric over several runs of one retriever, which answers otherwise each time, as agents do.

And over the parts of one run, whose queries follow one another.

A question is the unit however often it was asked: its value is the mean over the runs in which it
has one, and means, intervals and tests are of these values. To count each answer by itself would
take the runs of one question for as many questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, fields, replace
from typing import Any, TypeVar

import numpy as np

from kragx.data.lists import Floats
from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import PooledCounts
from kragx.metrics.scores import COLUMNS, NOT_ONE_TO_ONE, MetricScores, bounds_of, number_of
from kragx.metrics.spec import MetricSpec

PARTLY = "n_in_some_runs"
"""Counts the questions that have a value in some runs and none in others."""


def over_runs(several: Sequence[MetricScores]) -> MetricScores:
    """The scores of a metric over r runs; what nobody can average is the first run's.

    A percentile is of all answers, as that of each question's mean would know little of the slow
    ones. A run's own number, such as a throughput, is the mean of the runs'. Pooled counts add
    up; bounds are the means of the runs' bounds.

    Args:
        several: of each run, of the same questions.

    Returns:
        The scores, which have the number of each run under `MetricScores.runs`.
    """
    first, metric = several[0], several[0].spec.metric
    ratio, values = _ratio(several), mean_values([score.values for score in several])
    assert values is not None  # all have values
    pooled = _pooled(several)
    micro = mean_of([score.micro for score in several])
    micro_bounds = _ends(((score.micro_bounds, score.micro) for score in several), mean_of)
    # Where each run knows all, counts are pooled over the runs; an estimate has none to pool.
    if pooled and metric.pooled and micro is not None and micro_bounds is None:
        micro = metric.pooled(pooled)
    return replace(
        first,
        values=values,
        mean=_number(several, values) if ratio is None else ratio.value,
        ratio=ratio,
        runs=tuple(score.mean for score in several),
        pooled=pooled,
        micro=micro,
        bounds=_ends(((score.bounds, score.mean) for score in several), mean_of),
        micro_bounds=micro_bounds,
        vote_bounds=_ends(((score.vote_bounds, score.mean) for score in several), mean_of),
        maxima=mean_values([score.maxima for score in several]),
        extremes=_ends(((score.extremes, score.values) for score in several), mean_values),
        not_one_to_one=max(score.not_one_to_one for score in several),
        counts=_counts(several, values),
    )


def over_parts(
    spec: MetricSpec,
    columns: Mapping[str, Any],
    sums: Mapping[str, Any],
    weights: Floats | None,
    unit: float = 1.0,
) -> MetricScores:
    """The scores of all queries, of which `columns` and `sums` are there, and all is known.

    Args:
        spec: the metric.
        columns: of all queries; those of other metrics may stand among them.
        sums: the same.
        weights: (q) of all queries; None where all are alike.
        unit: what each query weighs in the sums, where all are alike.
    """
    metric = spec.metric
    arrays: list[Any] = [columns.get(f"{spec}{name}") for name in COLUMNS]
    values, maxima, no_gold, low, high, above, below = arrays
    start = f"{spec} "
    counts = {name.removeprefix(start): n for name, n in sums.items() if name.startswith(start)}
    n_many = counts.pop(NOT_ONE_TO_ONE, 0)
    pooled = micro = None
    if metric.pooled is not None:
        names = [column.name for column in fields(PooledCounts)]
        pooled = PooledCounts(*(counts.pop(name) / unit for name in names))
    ratio = None if above is None else Ratio(above, below, weights)
    extremes = None if low is None else (low, high)
    bounds = None if extremes is None else bounds_of(*extremes, weights)
    mean = number_of(metric, values, bounds, weights=weights) if ratio is None else ratio.value
    if metric.pooled is not None and pooled is not None and mean is not None:
        micro = metric.pooled(pooled)
    return MetricScores(
        spec,
        values,
        mean,
        no_gold,
        pooled,
        micro,
        bounds,
        maxima=maxima,
        not_one_to_one=n_many,
        extremes=extremes,
        counts=counts,
        ratio=ratio,
        weights=weights,
    )


def _number(several: Sequence[MetricScores], values: Floats) -> float | None:
    """The metric's number: of the questions' values, of all answers, or the mean of the runs'."""
    metric, weights = several[0].spec.metric, several[0].weights
    numbers = [score.mean for score in several]
    # What is not known is no better for what is.
    if any(score.mean is None and score.bounds for score in several):
        return None
    if metric.from_run is not None or (metric.is_mean and not all(s.is_mean for s in several)):
        return mean_of(numbers)
    if not metric.is_mean:
        values = np.concatenate([score.values for score in several])
        weights = None if weights is None else np.tile(weights, len(several))
    return number_of(metric, values, weights=weights)


def _ratio(several: Sequence[MetricScores]) -> Ratio | None:
    """The sum over a sum in which each question has what its runs add above and below."""
    ratios = [score.ratio for score in several if score.ratio is not None]
    if len(ratios) < len(several):
        return None
    counts = np.array([ratio.counts for ratio in ratios])
    above, below = (
        np.where(counts, [getattr(ratio, side) for ratio in ratios], 0.0).sum(axis=0)
        for side in ("numerator", "denominator")
    )
    return Ratio(above, below, ratios[0].weights).of(np.asarray(counts.any(axis=0)))


def mean_of(numbers: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None without any."""
    present = [number for number in numbers if number is not None]
    return float(np.mean(present)) if present else None


def mean_values(several: Iterable[Floats | None]) -> Floats | None:
    """(q) the mean of what there is of each question; NaN without. None if all of them are."""
    present = [values for values in several if values is not None]
    if not present:
        return None
    n = (~np.isnan(present)).sum(axis=0)
    return np.where(n > 0, np.nansum(present, axis=0) / np.maximum(n, 1), np.nan)


def _pooled(several: Sequence[MetricScores]) -> PooledCounts | None:
    counts = [astuple(score.pooled) for score in several if score.pooled is not None]
    return PooledCounts(*map(sum, zip(*counts))) if counts else None


_End = TypeVar("_End", float, Floats)


def _ends(
    runs: Iterable[tuple[tuple[_End, _End] | None, _End | None]],
    mean: Callable[[Iterable[_End | None]], _End | None],
) -> tuple[_End, _End] | None:
    """The mean of the ends of those runs that have any, and of what the others have instead."""
    of_runs = list(runs)
    if all(ends is None for ends, _ in of_runs):
        return None
    low, high = map(mean, zip(*(ends or (value, value) for ends, value in of_runs)))
    return None if low is None or high is None else (low, high)


def _counts(several: Sequence[MetricScores], values: Floats) -> dict[str, int]:
    """Each count of the run in which it is the greatest, and those that the values tell."""
    names = dict.fromkeys(name for score in several for name in score.counts)
    counts = {name: max(score.counts.get(name, 0) for score in several) for name in names}
    is_absent = np.isnan([score.values for score in several]).any(axis=0)
    n_partly = int((is_absent & ~np.isnan(values)).sum())
    return counts | ({PARTLY: n_partly} if n_partly else {})
