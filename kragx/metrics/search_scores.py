"""What is computed of a metric of searches, with its bounds where matches are not known.

Shares are bounded as those of a list are (`kragx.metrics.scores`). What it took until something was
found falls with each match, and a cost per found gold item too: their ends are those of all that is
not known matching, and of nothing. A question of which it is open what is gold may cost anything,
or have no part in it. A percentile has no estimate between its bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kragx.errors import UsageError
from kragx.metrics.evidence import Evidence
from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import Bools, MatchTable
from kragx.metrics.profiles import Profile
from kragx.metrics.scores import MetricScores, Unknown, by_votes, extremes
from kragx.metrics.search_table import SearchTable
from kragx.metrics.spec import MetricSpec, defined


def search_scores(
    evidence: Evidence, spec: MetricSpec, profile: Profile, probes: Bools
) -> MetricScores:
    """The scores of a metric of searches.

    Args:
        evidence: with searches.
        spec: the metric.
        profile: says what is relevant where that is estimated.
        probes: (q) which questions only ask for what must not be found; they have no value.

    Raises:
        UsageError: no searches are known.
    """
    searches = evidence.searches
    if searches is None:
        raise UsageError(
            f"metric {str(spec)!r} looks at searches, and none are known",
            remedy="use evaluate, with 'searches' in the run",
        )
    table = searches.table
    concerned = spec.metric.concerns(table.unanswerable) & ~probes

    def at(settled: MatchTable) -> MetricScores:
        return _scored(replace(searches, table=settled), spec, concerned)

    scores = at(table)
    if table.has_unknown:
        scores = _between(Unknown.of(table, profile), extremes(table), at)
    if table.votes is not None:
        reach = _between(Unknown.of_votes(table, table.votes), by_votes(table, table.votes), at)
        scores = replace(scores, vote_bounds=reach.bounds)
    if spec.metric.counts is not None:
        scores = replace(scores, counts=spec.metric.counts(evidence, spec))
    return scores


def _scored(searches: SearchTable, spec: MetricSpec, concerned: Bools) -> MetricScores:
    metric = spec.metric
    assert metric.from_searches is not None  # only those come here
    result = metric.from_searches(searches, spec)
    if isinstance(result, Ratio):
        ratio = result.of(concerned)
        return MetricScores(spec, np.full(len(concerned), np.nan), ratio.value, ratio=ratio)
    values = np.where(concerned, result, np.nan)
    scored = defined(values)
    return MetricScores(spec, values, metric.number(scored) if scored.size else None)


def _between(
    unknown: Unknown,
    extreme: tuple[MatchTable, MatchTable],
    at: Callable[[MatchTable], MetricScores],
) -> MetricScores:
    low, high = map(at, extreme)
    if low.ratio is not None and high.ratio is not None:
        return _ratio_between(unknown.rate, low, low.ratio, high.ratio)
    if low.spec.metric.is_mean:
        return unknown.between(low, high)
    return _percentile_between(unknown.open_gold, low, high)


def _ratio_between(rate: float | None, low: MetricScores, few: Ratio, many: Ratio) -> MetricScores:
    """A cost per found gold item, from what is found at both extremes.

    A question that may be without gold has no part in the lower end but what it finds, and in the
    upper end its costs alone.
    """
    n_few = np.where(few.counts, few.denominator, 0.0)
    certain = np.where(few.counts, many.numerator, 0.0)
    least = Ratio(certain, many.denominator).value
    most = Ratio(many.numerator, np.where(many.counts, n_few, np.nan)).value
    if least is None or most is None or least == most:
        return low
    if rate is None:  # without a single document of which all is known
        return replace(low, mean=None, bounds=(least, most), ratio=None)
    ratio = replace(few, denominator=n_few + rate * (many.denominator - n_few)).of(few.counts)
    return replace(low, mean=ratio.value, bounds=(least, most), ratio=ratio)


def _percentile_between(is_open: Bools, low: MetricScores, high: MetricScores) -> MetricScores:
    """A percentile of what falls with each match, from its values at both extremes.

    Args:
        is_open: (q) of which questions it is not known what is gold.
        low: where nothing unknown matches, so that the values are the greatest.
        high: where all of it does.
    """
    has_part, number = ~np.isnan(high.values), low.spec.metric.number
    if not has_part.any():
        return high
    bounds = (
        number(np.where(is_open, 0.0, high.values)[has_part]),
        number(np.where(is_open, np.inf, low.values)[has_part]),
    )
    values = np.where((low.values == high.values) & ~is_open, low.values, np.nan)
    if bounds[0] == bounds[1]:
        return replace(low, values=values, mean=bounds[0])
    return replace(low, values=values, mean=None, bounds=bounds)
