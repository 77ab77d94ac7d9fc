"""What is computed of a metric of searches, with its bounds where matches are not known.

Shares are bounded as those of a list are (`kragx.metrics.scores`). What it took until something was
found falls with each match, and a cost per found gold item too: their ends are those of all that is
not known matching, and of nothing. A question of which it is open what is gold may cost anything,
or have no part in it. A percentile has no estimate between its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from kragx.data.lists import Bools
from kragx.ground.errors import UsageError
from kragx.metrics.evidence import Evidence
from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import MatchTable
from kragx.metrics.profiles import Profile
from kragx.metrics.scores import MetricScores, Unknown, with_bounds, with_no_gold
from kragx.metrics.search_table import SearchTable, SearchView
from kragx.metrics.spec import MetricSpec


def search_scores(
    evidence: Evidence, specs: Sequence[MetricSpec], profile: Profile, probes: Bools
) -> list[MetricScores]:
    """The scores of metrics of searches.

    Args:
        evidence: with searches.
        specs: at least one.
        profile: says what becomes of questions without gold, and what is relevant where that is
            estimated.
        probes: (q) which questions only ask for what must not be found; they have no value.

    Raises:
        UsageError: no searches are known.
        DataError: a question has no gold and the profile refuses it.
    """
    searches = evidence.searches
    if searches is None:
        raise UsageError(
            "metric {value!r} looks at searches, and none are known",
            remedy="use evaluate, with 'searches' in the run",
            value=str(specs[0]),
        )
    table = searches.table

    def scored(matches: MatchTable) -> list[MetricScores]:
        return _scored(replace(searches, table=matches), specs, profile, probes)

    scores = with_bounds(table, profile, scored, _between)
    if not table.has_unknown:
        return scores
    return [replace(score, counts=known.counts) for score, known in zip(scores, scored(table))]


def _scored(
    searches: SearchTable, specs: Sequence[MetricSpec], profile: Profile, probes: Bools
) -> list[MetricScores]:
    """The scores where all that matches is known; one view serves several metrics."""

    @cache
    def view(rel: float | None, k: int | None) -> SearchView:
        return SearchView(searches, rel, k)

    weights = searches.table.weights

    def score(spec: MetricSpec) -> MetricScores:
        metric, search_view = spec.metric, view(spec["rel"], spec["k"])
        assert metric.from_searches is not None  # only those come here
        concerned = metric.concerns(searches.table.unanswerable) & ~probes
        counts = {} if metric.counts is None else metric.counts(search_view, spec)
        result = metric.from_searches(search_view, spec)
        if isinstance(result, Ratio):
            ratio = replace(result, weights=weights).of(concerned)
            nothing = np.full(len(concerned), np.nan)
            return MetricScores(
                spec, nothing, ratio.value, ratio=ratio, counts=counts, weights=weights
            )
        values = np.where(concerned, result, np.nan)
        if metric.better == "higher":  # such a one is 0 where nothing is found
            # As metrics of lists have questions without gold; one for which anything came in the
            # end did not abstain, and one of which nobody knows what came has no value.
            is_empty = (search_view.n_gold == 0) & search_view.is_known(spec.rank) & ~probes
            values, n_came = np.where(is_empty, 0.0, values), searches.n_came
            values = with_no_gold(values, is_empty, searches.table, n_came, spec, profile)
        number = metric.number(values, weights)
        return MetricScores(spec, values, number, counts=counts, weights=weights)

    return [score(spec) for spec in specs]


def _between(unknown: Unknown, low: MetricScores, high: MetricScores) -> MetricScores:
    """The estimate of a metric, and bounds where it may change."""
    if low.ratio is not None and high.ratio is not None:
        return _ratio_between(unknown.rate, low, low.ratio, high.ratio)
    if low.spec.metric.is_mean:
        score = unknown.between(low, high)
        is_open = score.bounds is not None and score.bounds[0] < score.bounds[1]
        is_same = np.array_equal(low.values, high.values, equal_nan=True)
        # What nothing unknown touches has no bounds, rather than two that are equal.
        return low if is_same and not is_open else score
    return _percentile_between(unknown.open_gold, low, high)


def _ratio_between(
    rate: float | None, low: MetricScores, lower: Ratio, upper: Ratio
) -> MetricScores:
    """A cost per found gold item, from what is found at both extremes.

    A question that may be without gold has no part in the lower end but what it finds, and in the
    upper end its costs alone.
    """
    n_few = np.where(lower.counts, lower.denominator, 0.0)
    certain = np.where(lower.counts, upper.numerator, 0.0)
    lowest = replace(upper, numerator=certain).value
    highest = replace(upper, denominator=np.where(upper.counts, n_few, np.nan)).value
    if lowest is None or highest is None or lowest == highest:
        return low
    if rate is None:  # without a single document of which all is known
        return replace(low, mean=None, bounds=(lowest, highest), ratio=None)
    ratio = replace(lower, denominator=n_few + rate * (upper.denominator - n_few)).of(lower.counts)
    return replace(low, mean=ratio.value, bounds=(lowest, highest), ratio=ratio)


def _percentile_between(is_open: Bools, low: MetricScores, high: MetricScores) -> MetricScores:
    """A percentile of what falls with each match, from its values at both extremes.

    Args:
        is_open: (q) of which questions it is not known what is gold.
        low: where nothing unknown matches, so that the values are the greatest.
        high: where all of it does.
    """
    has_part, metric = ~np.isnan(high.values), low.spec.metric
    lowest, highest = (
        metric.number(np.where(has_part, values, np.nan), low.weights)
        for values in (
            np.where(is_open, 0.0, high.values),
            np.where(is_open, np.inf, low.values),
        )
    )
    if lowest is None or highest is None:
        return low
    values = np.where((low.values == high.values) & ~is_open, low.values, np.nan)
    if lowest == highest:
        return replace(low, values=values, mean=lowest)
    return replace(low, values=values, mean=None, bounds=(lowest, highest))
