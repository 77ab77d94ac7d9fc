"""Metrics where some scores are not known: an estimate, and the bounds it lies in.

A score that is not known is never taken for 0. A query's bounds are what its value can become:
nothing unknown matches, or all of it does. Hit rate, MRR, precision, recall, F1, MAP and nDCG never
fall when more matches, so these two are the extremes; where that does not hold (redundancy, MAP
over its hits, and whatever divides by the gold when the gold itself is not known) a query with
anything unknown has [0, 1].

The value is low + p (high - low), where p is the share of relevant documents among those of which
all is known: what is missing counts as relevant as often as the rest. With one missing score this
is the expected value, if scores are missing at random. Leaving queries with missing scores out
instead would favour those that have a match anyway; leaving the documents out would count them as 0
in precision and recall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kragx.metrics.profiles import Profile
from kragx.metrics.spec import MetricSpec
from kragx.metrics.table import Bools, Floats, MatchTable

if TYPE_CHECKING:
    from kragx.metrics.engine import MetricScores

Compute = Callable[[MatchTable, Sequence[MetricSpec], Profile], "tuple[MetricScores, ...]"]

# These depend on which documents are relevant, but not on how much gold there is.
_WITHOUT_GOLD_COUNT = ("hit_rate", "mrr", "precision")


def bounded(
    table: MatchTable, specs: Sequence[MetricSpec], profile: Profile, compute: Compute
) -> tuple[MetricScores, ...]:
    """Compute each metric on what is known, with bounds.

    Args:
        table: a match table with NaN among its scores or grades.
        specs: the metrics.
        profile: as for `compute`.
        compute: the engine, for tables in which everything is known.
    """
    unknown = np.isnan(table.pair_score)
    of_doc = _queries_of_docs(table)
    open_gold = np.zeros(table.n_queries, bool)
    open_gold[table.gold_query[np.isnan(table.grade)]] = True
    unsure = open_gold.copy()
    unsure[of_doc[table.pair_doc[unknown]]] = True
    rate = _relevant_share(table, unknown, profile)
    lows = compute(_settled(table, 0.0, 0.0), specs, profile)
    highs = compute(_settled(table, max(table.top, table.threshold), table.top), specs, profile)
    return tuple(
        _one(low, high, rate, unsure, open_gold) for low, high in zip(lows, highs, strict=True)
    )


def _one(
    low: MetricScores,
    high: MetricScores,
    rate: float | None,
    unsure: Bools,
    open_gold: Bools,
) -> MetricScores:
    spec = low.spec
    free = open_gold & (not _rises_with_gold(spec)) if _rises_with_matches(spec) else unsure
    least, most = low.values.copy(), high.values.copy()
    # A query that may or may not have a value: in the mean or not, whichever is worse.
    perhaps: Bools = np.isnan(least) != np.isnan(most)
    if spec.name == "redundancy":  # has no value without a relevant document
        perhaps = perhaps | (free & ~np.isnan(most))
    least[perhaps & np.isnan(least)] = 0.0
    most[perhaps & np.isnan(most)] = 1.0
    in_mean = ~np.isnan(most)
    least[free & in_mean], most[free & in_mean] = 0.0, 1.0
    p = np.nan if rate is None else rate
    # Without a single document of which all is known, what is unsure has no estimate.
    values = np.where(unsure, low.values + p * (high.values - low.values), low.values)
    bounds = None
    mean = None
    if in_mean.any():
        bounds = (_extreme(least, in_mean, perhaps, -1), _extreme(most, in_mean, perhaps, 1))
        known = values[~np.isnan(values)]
        if known.size:
            mean = float(np.clip(known.mean(), *bounds))
    micro = None
    if low.micro is not None and high.micro is not None and not open_gold.any():
        micro = (low.micro, high.micro)
    estimate = None if micro is None or rate is None else micro[0] + rate * (micro[1] - micro[0])
    return replace(
        low,
        values=values,
        mean=mean,
        bounds=bounds,
        micro_bounds=micro,
        micro_estimate=low.micro if estimate is None else estimate,
    )


def _rises_with_matches(spec: MetricSpec) -> bool:
    if spec.ideal == "retrieved" or spec.gain == "score" or spec.macro == "means":
        return False
    return spec.name != "redundancy" and not (spec.name == "map" and spec.norm == "hits")


def _rises_with_gold(spec: MetricSpec) -> bool:
    if spec.name == "hit_rate" and spec.need == "all":
        return False
    return spec.name in _WITHOUT_GOLD_COUNT


def _extreme(values: Floats, in_mean: Bools, perhaps: Bools, sign: int) -> float:
    """The lowest (-1) or highest (1) mean, each query that may be left out at its worst."""
    sure = in_mean & ~perhaps
    total, count = float(values[sure].sum()), int(sure.sum())
    for value in sorted((float(each) for each in values[in_mean & perhaps]), reverse=sign > 0):
        if count and sign * value <= sign * total / count:
            break
        total, count = total + value, count + 1
    return total / count


def _queries_of_docs(table: MatchTable) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.repeat(np.arange(table.n_queries), table.n_docs)


def _relevant_share(table: MatchTable, unknown: Bools, profile: Profile) -> float | None:
    """The relevant documents among those of which all is known, in queries with gold."""
    in_question = np.isin(_queries_of_docs(table), table.gold_query)
    in_question[table.pair_doc[unknown]] = False
    if not in_question.any():
        return None
    grade = table.grade[table.pair_gold]
    counts = table.matched & (grade >= profile.rel if profile.rel else grade > 0)
    relevant = np.zeros(len(table.repeated), bool)
    relevant[table.pair_doc[counts]] = True
    return float(relevant[in_question].mean())


def _settled(table: MatchTable, score: float, grade: float) -> MatchTable:
    """The table with every unknown score and grade replaced; a score of 0 is no pair."""
    scores = np.where(np.isnan(table.pair_score), score, table.pair_score)
    kept = scores > 0
    return replace(
        table,
        pair_doc=table.pair_doc[kept],
        pair_gold=table.pair_gold[kept],
        pair_score=scores[kept],
        grade=np.where(np.isnan(table.grade), grade, table.grade),
    )
