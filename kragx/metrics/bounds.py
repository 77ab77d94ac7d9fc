"""Metrics where some scores are not known: a value, and the bounds it must lie in.

A score that is not known is never taken for 0. Each query's value is that of its known part: a
document without a known match and with an unknown score is left out of the ranking (Sakai,
"Alternatives to Bpref", 2007). Its bounds are what it can become: nothing unknown matches, or all
of it does. Hit rate, MRR, precision, recall, F1, MAP and nDCG never fall when more matches, so
these two are the extremes; where that does not hold (redundancy, MAP over its hits, and whatever
divides by the gold when the gold itself is not known) a query with anything unknown has [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kragx.metrics.profiles import Profile
from kragx.metrics.spec import MetricSpec
from kragx.table import Bools, Floats, MatchTable

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
    left_out = _only_unknown(table, unknown)
    nothing_known = (
        np.bincount(of_doc[left_out], minlength=table.n_queries) == table.n_docs
    ) & unsure
    values = compute(_without(table, left_out), specs, profile)
    lows = compute(_settled(table, 0.0, 0.0), specs, profile)
    highs = compute(_settled(table, np.inf, table.top), specs, profile)
    return tuple(
        _one(value, low, high, unsure, open_gold, nothing_known)
        for value, low, high in zip(values, lows, highs, strict=True)
    )


def _one(
    value: MetricScores,
    low: MetricScores,
    high: MetricScores,
    unsure: Bools,
    open_gold: Bools,
    nothing_known: Bools,
) -> MetricScores:
    spec = value.spec
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
    values = np.clip(value.values, least, most)
    values[nothing_known] = np.nan
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
    return replace(value, values=values, mean=mean, bounds=bounds, micro_bounds=micro)


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


def _only_unknown(table: MatchTable, unknown: Bools) -> Bools:
    """(d) documents with an unknown score and no known match."""
    found = np.zeros(len(table.repeated), bool)
    found[table.pair_doc[unknown]] = True
    found[table.pair_doc[table.matched]] = False
    return found


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


def _without(table: MatchTable, left_out: Bools) -> MatchTable:
    """The table without some documents; what is unknown of the others does not match."""
    known = _settled(table, 0.0, 0.0)
    kept = ~left_out
    before = np.concatenate(([0], np.cumsum(kept)))
    pairs = kept[known.pair_doc]
    return replace(
        known,
        doc_start=before[table.doc_start],
        repeated=table.repeated[kept],
        pair_doc=before[known.pair_doc[pairs]].astype(np.int32),
        pair_gold=known.pair_gold[pairs],
        pair_score=known.pair_score[pairs],
    )
