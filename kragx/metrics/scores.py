"""What was computed of a metric, and its counts; of scores that are not known, the bounds.

Where some scores are not known there is an estimate, and the bounds it lies in. A score that is not
known is never taken for 0. A query's bounds are what its value can become: nothing unknown matches,
or all of it does. Hit rate, MRR, precision, recall, F1, MAP and nDCG never fall when more matches,
so these two are the extremes; where that does not hold (redundancy, MAP over its hits, and whatever
divides by the gold when the gold itself is not known) a query with anything unknown has [0, 1].

The value is low + p (high - low), where p is the share of relevant documents among those of which
all is known: what is missing counts as relevant as often as the rest. With one missing score this
is the expected value, if scores are missing at random. Leaving queries with missing scores out
instead would favour those that have a match anyway; leaving the documents out would count them as 0
in precision and recall.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import isclose, isnan
from typing import Any

import numpy as np

from kragx.data.lists import Bools, Floats, Ints
from kragx.ground.errors import DataError
from kragx.metrics.intervals import Interval, Ratio, mean_intervals, with_exact_limits
from kragx.metrics.match_table import MatchTable, PooledCounts, RowPlace, Votes
from kragx.metrics.profiles import LEFT_OUT, Profile
from kragx.metrics.spec import Metric, MetricSpec, holds
from kragx.metrics.weights import counting, weighted_mean

_CLOSE = 1e-9


@dataclass(frozen=True)
class MetricScores:
    """The values of one metric.

    Attributes:
        spec: which metric.
        values: (q) one for each query; NaN where there is none (left out, or undefined).
        mean: the metric's number: the macro average over the queries that have a value, or the
            run's own number (a percentile, a throughput); None if there is nothing to take it of,
            and of what must not be found where not all is known.
        no_gold: (q) which queries have no gold for this metric; None if it is not made of matches
            alone, and so defined without gold as well.
        pooled: the counts of its micro average, if it has one; what is not known counts as no
            match.
        micro: the micro average; None for a metric that has none, and where no query was scored.
        bounds: what `mean` can become once every score is known; None if all are.
        micro_bounds: the same for the micro average; None also where it is not known.
        vote_bounds: what `mean` can become where several judges have decided, each pair by any of
            their votes: nothing above the strictest, or all by the most lenient; what is not known
            as in `bounds`. None of one judge.
        maxima: (q) the greatest value that each query could have reached, if that depends on the
            data.
        not_one_to_one: in how many queries another tool would give another number: it is its
            metric, and credits each gold item once. 0 of kragx's own metrics.
        extremes: (q) of what must not be found the least and the greatest values.
        counts: of how many queries something is so, as the metric has it.
        runs: of a retriever that was asked several times the number of each run, None where it has
            none; empty of one. `values` are then means over the runs (`over_runs`).
        ratio: what each query adds to a sum over a sum, where the metric's number is one; no query
            has a value then.
        weights: (q) how many asks each query stands for; None where all are alike. The number, its
            bounds, `pooled` and `maximum` are by these; `counts` are of queries.
    """

    spec: MetricSpec
    values: Floats
    mean: float | None
    no_gold: Bools | None = None
    pooled: PooledCounts | None = None
    micro: float | None = None
    bounds: tuple[float, float] | None = None
    micro_bounds: tuple[float, float] | None = None
    vote_bounds: tuple[float, float] | None = None
    maxima: Floats | None = None
    not_one_to_one: int = 0
    extremes: tuple[Floats, Floats] | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    runs: tuple[float | None, ...] = ()
    ratio: Ratio | None = None
    weights: Floats | None = None

    @property
    def maximum(self) -> float | None:
        """The greatest value that `mean` could have reached, if that depends on the data."""
        return None if self.maxima is None else weighted_mean(self.maxima, self.weights)

    @property
    def n_scored(self) -> int:
        """How many queries have a value, and so are in the mean, or a part in the ratio."""
        counts = ~np.isnan(self.values) if self.ratio is None else self.ratio.counts
        return int(counts.sum())

    @property
    def is_mean(self) -> bool:
        """Whether `mean` is the mean of `values`, and so has an interval."""
        return is_mean(self.spec.metric, self.mean, self.values, weights=self.weights)

    @property
    def columns(self) -> dict[str, Floats | Bools]:
        """(q) what each query has, by name: the values under that of the metric."""
        ratio = self.ratio
        arrays = (
            *(self.values, self.maxima, self.no_gold),
            *(self.extremes or (None, None)),
            *((None, None) if ratio is None else (ratio.numerator, ratio.denominator)),
        )
        columns = zip(COLUMNS, arrays)
        return {f"{self.spec}{name}": array for name, array in columns if array is not None}

    @property
    def sums(self) -> dict[str, float]:
        """Counts by name; those of queries that follow one another add up."""
        pooled = {} if self.pooled is None else asdict(self.pooled)
        sums = {**self.counts, NOT_ONE_TO_ONE: self.not_one_to_one, **pooled}
        return {f"{self.spec} {name}": n for name, n in sums.items()}


COLUMNS = ("", " at most", " no gold", " at least", " at best", " above", " below")
"""What stands behind a metric's name: its values, the most they could have reached, who has no
gold, what they can become where not all is known, and what each adds to a sum over a sum."""

NOT_ONE_TO_ONE = "not one to one"
"""The same of the count of questions of which another tool would give another number."""


def is_mean(
    metric: Metric | None, number: float | None, values: Floats, *, weights: Floats | None = None
) -> bool:
    """Whether a metric's number is the mean of the queries' values.

    It is not for percentiles and throughput, nor for K-RAG's F1 of means: the run has one number,
    and no query has a part in it that could be resampled.

    Args:
        metric: None for one that cannot be loaded.
        number: as it is shown; None where there is none.
        values: (q); NaN where a query has none.
        weights: (q); None where all are alike.
    """
    if metric is not None and not metric.is_mean:
        return False
    if metric is not None and metric.reads_forbidden and number is None:
        return True
    mean = weighted_mean(values, weights)
    if number is None or mean is None:
        return number is None and mean is None
    return isclose(mean, number, rel_tol=_CLOSE, abs_tol=_CLOSE)


def intervals_of(scores: Sequence[MetricScores]) -> dict[str, Interval | None]:
    """The 95 % interval of each mean by canonical name; None where there is none.

    As `mean_intervals` and `Ratio` have it: of a run's own number, of fewer than three values, and
    where all are the same within their range, there is none.
    """
    intervals: dict[str, Interval | None] = {str(score.spec): None for score in scores}
    means = [score for score in scores if score.is_mean]
    if means:
        values = np.ascontiguousarray(np.stack([score.values for score in means], axis=1))
        metrics, weights = [mean.spec.metric for mean in means], means[0].weights
        shifts = [doubt(m.mean, m.bounds, m.values, weights=weights) for m in means]
        ends = with_exact_limits(
            mean_intervals(values, [metric.limits for metric in metrics], weights=weights),
            values,
            [metric.interval for metric in metrics],
            np.array([_n_open(mean) for mean in means]),
            np.array(shifts).T,
            weights=weights,
        )
        for score, (low, high) in zip(means, ends.T.tolist()):
            intervals[str(score.spec)] = None if isnan(low) else (low, high)
    ratios = ((str(score.spec), score.ratio) for score in scores if score.ratio is not None)
    return intervals | {name: ratio.interval() for name, ratio in ratios}


def _n_open(scores: MetricScores) -> int:
    """Of how many questions that weigh anything it is not known whether they leak."""
    if scores.weights is None or scores.extremes is None:
        return scores.counts.get("n_open", 0)
    low, high = scores.extremes
    return int(((low < high) & (scores.weights > 0)).sum())


def doubt(
    mean: float | None,
    bounds: tuple[float, float] | None,
    values: Floats,
    *,
    weights: Floats | None = None,
) -> tuple[float, float]:
    """How far what is not known may put a mean, below 0 and above it.

    Where there is no mean, as what must not be found is not known everywhere, that of the `values`.
    """
    of_values = weighted_mean(values, weights)
    if bounds is None or of_values is None:
        return 0.0, 0.0
    mean = of_values if mean is None else mean
    return bounds[0] - mean, bounds[1] - mean


def number_of(
    metric: Metric,
    values: Floats,
    bounds: tuple[float, float] | None = None,
    *,
    weights: Floats | None = None,
) -> float | None:
    """The number that the queries' values make by their weights; None without any.

    Nor is there one of what must not be found where it has `bounds`: what is not known of that is
    no better for what is.
    """
    is_open = metric.reads_forbidden and bounds is not None
    return None if is_open else metric.number(values, weights)


def bounds_of(
    low: Floats, high: Floats, weights: Floats | None = None
) -> tuple[float, float] | None:
    """Between which means values lie; None where all of them are known."""
    if np.array_equal(counting(low, weights)[0], counting(high, weights)[0]):
        return None
    lowest, greatest = weighted_mean(low, weights), weighted_mean(high, weights)
    return None if lowest is None or greatest is None else (lowest, greatest)


def valueless(scores: MetricScores) -> MetricScores:
    """The scores of a run that answered nothing: no query has a value, and no bound is known."""
    nothing = np.full_like(scores.values, np.nan)
    return MetricScores(scores.spec, nothing, None, scores.no_gold, weights=scores.weights)


def counted(counts: Mapping[str, Any], scores: Sequence[MetricScores]) -> dict[str, Any]:
    """Counts of a run with those of single metrics, which replace what was there of others.

    ``metrics``: how many queries have a value, of metrics that look at documents or times, and of
    those whose counts differ from the whole; ``pooled``: what micro averages are made of;
    ``not_one_to_one``: in how many queries another tool's metric would differ there.
    """
    usual = {"n_scored": counts["n_scored"], "n_no_gold": counts["n_no_gold"]}
    of_metrics: dict[str, dict[str, Any]] = {"metrics": {}, "pooled": {}, "not_one_to_one": {}}
    for score in scores:
        name, count = str(score.spec), {"n_scored": score.n_scored}
        if score.no_gold is not None:
            count["n_no_gold"] = int(score.no_gold.sum())
        count |= score.counts
        if count != usual:  # most count as the whole does, and a result need not say so for each
            of_metrics["metrics"][name] = count
        if score.pooled:
            of_metrics["pooled"][name] = asdict(score.pooled.rounded)
        if score.not_one_to_one:
            of_metrics["not_one_to_one"][name] = score.not_one_to_one
    whole = dict(counts)
    for name, by_metric in of_metrics.items():
        whole.pop(name, None)
        if by_metric:
            whole[name] = by_metric
    return whole


def with_no_gold(
    values: Floats,
    empty: Bools,
    table: MatchTable,
    n_came: Ints,
    spec: MetricSpec,
    profile: Profile,
) -> Floats:
    """(c, q) what becomes of queries without gold; what a view keeps is not written into.

    Args:
        values: of all queries; 0 or undefined without gold.
        empty: (q) which have no gold.
        table: of all queries.
        n_came: (q) how many documents came in the end, as they abstain where none did.
        spec: the metric.
        profile: has the rule.

    Raises:
        DataError: the profile refuses such a query.
    """
    forgotten = np.flatnonzero(empty & ~table.unanswerable).tolist()
    if profile.no_gold == "error" and forgotten:
        queries = "query has" if len(forgotten) == 1 else "queries have"
        raise DataError(
            "{spec}: {n_forgotten} {queries} no gold, this the first; add gold, mark those that "
            "nothing answers with answerable: false, or choose no_gold: skip",
            field=RowPlace(forgotten[0]),
            spec=spec,
            n_forgotten=len(forgotten),
            queries=queries,
        )
    if profile.no_gold in LEFT_OUT:
        return np.where(empty, np.nan, values)
    if profile.no_gold == "abstain":
        abstained = table.answered & (n_came == 0)
        return np.where(empty & ~np.isnan(values), abstained, values)
    # Every metric is 0 without gold, or undefined without a relevant document.
    all_of_nothing = profile.no_gold_hits and spec["need"] == "all"
    return np.where(empty, 1.0, values) if all_of_nothing else values


def extremes(table: MatchTable) -> tuple[MatchTable, MatchTable]:
    """The table with every unknown score and grade at its least, and at its greatest."""
    return _replace_unknown(table, 0.0, 0.0), _replace_unknown(
        # At its greatest an unknown score is a match, also where no grade reaches the threshold.
        table,
        max(table.top, table.threshold),
        table.top,
    )


def by_votes(table: MatchTable, votes: Votes) -> tuple[MatchTable, MatchTable]:
    """`extremes` by the strictest, and by the most lenient of several judges' votes."""
    low = replace(table, pair_score=votes.pair_low, grade=votes.grade_low, votes=None)
    high = replace(table, pair_score=votes.pair_high, grade=votes.grade_high, votes=None)
    return extremes(low)[0], extremes(high)[1]


@dataclass(frozen=True)
class Unknown:
    """What is not known of a match table, for q queries.

    Attributes:
        rate: the share of relevant documents among those of which all is known; None without any.
        unsure: (q) whether anything of the query is not known.
        open_gold: (q) whether it is not known what is gold.
    """

    rate: float | None
    unsure: Bools
    open_gold: Bools

    @classmethod
    def of(cls, table: MatchTable, profile: Profile) -> Unknown:
        """What a table with NaN among its scores or grades leaves open."""
        return cls(_relevant_share(table, profile), *_open_queries(table))

    @classmethod
    def of_votes(cls, table: MatchTable, votes: Votes) -> Unknown:
        """What is open in a table while it is open which of several votes is right."""
        disputed = replace(
            table,
            pair_score=np.where(votes.pair_low == votes.pair_high, table.pair_score, np.nan),
            grade=np.where(votes.grade_low == votes.grade_high, table.grade, np.nan),
        )
        unsure, open_gold = _open_queries(disputed)
        return cls(None, unsure, open_gold)

    def between(self, low: MetricScores, high: MetricScores) -> MetricScores:
        """The estimate of a metric with its bounds, from its scores at both extremes."""
        metric, weights = low.spec.metric, low.weights
        free = self.unsure  # what may be anything
        if holds(metric.rises_with_matches, low.spec):
            free = self.open_gold & low.spec.needs_all_gold
        # Sums in another order: rounding may put what is equal the wrong way round.
        lowest = low.values
        highest = np.where(high.values < lowest, lowest, high.values)
        no_low, no_high = np.isnan(lowest), np.isnan(highest)
        # A query that may or may not have a value: in the mean or not, whichever is worse.
        perhaps: Bools = (
            (no_low != no_high)
            | (metric.may_be_undefined & free & ~no_high)
            | (metric.undefined_by_gold & self.open_gold)
        )
        in_mean = perhaps | ~no_high
        least_value, greatest_value = metric.ends
        lowest = np.where((free & in_mean) | (perhaps & no_low), least_value, lowest)
        highest = np.where((free & in_mean) | (perhaps & no_high), greatest_value, highest)
        # Without a single document of which all is known, what may differ has no estimate.
        rate = np.nan if self.rate is None else self.rate
        differs = self.unsure & (free | (low.values != high.values))
        values = np.where(differs, low.values + rate * (high.values - low.values), low.values)
        bounds = mean = micro_bounds = None
        if weights is not None:
            in_mean &= weights > 0
        if in_mean.any():
            bounds = (
                _extreme(lowest, in_mean, perhaps, -1, weights),
                _extreme(highest, in_mean, perhaps, 1, weights),
            )
            mean = weighted_mean(values, weights)
            mean = None if mean is None else float(np.clip(mean, *bounds))
        if bounds is not None and not np.isfinite(bounds).all():
            # What nothing bounds has no estimate: not of these queries, and so not of all.
            values, bounds, mean = np.where(free, np.nan, values), None, None
        micro = low.micro
        if low.micro is not None and high.micro is not None and not self.open_gold.any():
            micro_bounds = (low.micro, high.micro)
            if self.rate is not None:
                micro = low.micro + self.rate * (high.micro - low.micro)
        return replace(
            low,
            values=values,
            mean=mean,
            bounds=bounds,
            micro=micro,
            micro_bounds=micro_bounds,
        )


def with_bounds(
    table: MatchTable,
    profile: Profile,
    scored: Callable[[MatchTable], Sequence[MetricScores]],
    between: Callable[[Unknown, MetricScores, MetricScores], MetricScores],
) -> list[MetricScores]:
    """The scores of a table; with bounds where not all of it is known, or several judges differ.

    Args:
        table: the matches.
        profile: says what is relevant where that is estimated.
        scored: scores metrics of a table that is known whole.
        between: makes of the scores at both extremes the estimate with its bounds.
    """

    def bounded(unknown: Unknown, ends: tuple[MatchTable, MatchTable]) -> list[MetricScores]:
        return [*map(partial(between, unknown), *map(scored, ends))]

    is_known = not table.has_unknown
    scores = scored(table) if is_known else bounded(Unknown.of(table, profile), extremes(table))
    if table.votes is None:
        return [*scores]
    # What judges dispute is known, if not agreed on: it has bounds of its own.
    reach = bounded(Unknown.of_votes(table, table.votes), by_votes(table, table.votes))
    return [replace(score, vote_bounds=wide.bounds) for score, wide in zip(scores, reach)]


def _extreme(
    values: Floats, in_mean: Bools, perhaps: Bools, sign: int, weights: Floats | None
) -> float:
    """The lowest (-1) or highest (1) mean, each query that may be left out at its worst."""
    query_weights = np.ones_like(values) if weights is None else weights
    is_certain, is_open = in_mean & ~perhaps, in_mean & perhaps
    total = float((query_weights[is_certain] * values[is_certain]).sum())
    count = float(query_weights[is_certain].sum())
    terms = zip(values[is_open].tolist(), query_weights[is_open].tolist())
    # The worst first: once one would not move the mean that way, no later one does.
    for value, weight in sorted(terms, reverse=sign > 0):
        if count and sign * value <= sign * total / count:
            break
        total, count = total + weight * value, count + weight
    return total / count


def _open_queries(table: MatchTable) -> tuple[Bools, Bools]:
    """(q) of which queries anything is not known, and of which it is not known what is gold."""
    open_gold = np.zeros(table.n_queries, bool)
    open_gold[table.gold_query[np.isnan(table.grade)]] = True
    unsure = open_gold.copy()
    unsure[table.doc_query[table.pair_doc[np.isnan(table.pair_score)]]] = True
    return unsure, open_gold


def _relevant_share(table: MatchTable, profile: Profile) -> float | None:
    """The relevant documents among those of which all is known, in queries with gold."""
    of_doc = table.doc_query
    in_question = np.isin(of_doc, table.gold_query)
    in_question[table.pair_doc[np.isnan(table.pair_score)]] = False
    if not in_question.any():
        return None
    counts = table.matched & table.is_gold(profile.rel or None)[table.pair_gold]
    weights = None if table.weights is None else table.weights[of_doc[in_question]]
    return weighted_mean(table.docs_in(counts)[in_question].astype(np.float64), weights)


def _replace_unknown(table: MatchTable, score: float, grade: float) -> MatchTable:
    """The table with every unknown score and grade replaced; a score of 0 is no pair."""
    scores = np.where(np.isnan(table.pair_score), score, table.pair_score)
    grades = np.where(np.isnan(table.grade), grade, table.grade)
    return replace(table, pair_score=scores, grade=grades, votes=None).of_pairs(scores > 0)
