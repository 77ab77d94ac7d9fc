"""Values of several retrievers, row by row for the same queries, and what each by itself says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite
from typing import Any

import numpy as np

from kragx.comparison.estimates import (
    Difference,
    Direction,
    Estimate,
    Settings,
    Verdict,
    definition_of,
)
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import TOLERANCE, Rows, effect_sizes, sure_bounds, tally
from kragx.comparison.statistics.evidence import ids_at, of_rows, rows_of, total
from kragx.ground.errors import UsageError
from kragx.ground.json_values import to_jsonable
from kragx.metrics import Bools, Floats
from kragx.metrics.intervals import Interval, Ratio, ratio_difference_interval, with_exact_limits
from kragx.metrics.scores import doubt
from kragx.metrics.weights import effective_n, weighted_mean

Means = Mapping[str, Mapping[str, float | None]]
"""For each retriever each metric's number."""

Key = tuple[str, str]
"""Metric and retriever."""

Pair = tuple[str, str, str]
"""Metric, retriever, and the one it is set against."""

Names = tuple[str, tuple[str, ...]]
"""Metric, and a retriever alone, or with the one it is set against."""


@dataclass(frozen=True)
class Column:
    """What one retriever scored in one metric, query by query.

    Attributes:
        values: (q); NaN where there is none.
        doubt: how far missing judgements may put the sum of all values, lower and higher.
        n_open: of how many queries it is not known, though one has a value, at most.
        bounds: between which values the mean lies where some are not known; None of a part of the
            queries, of which that is not kept.
        ratio: of a metric that is a sum over a sum what each query adds, where that is known.
    """

    values: Floats
    doubt: Interval = (0.0, 0.0)
    n_open: int = 0
    bounds: Interval | None = None
    ratio: Ratio | None = None

    @classmethod
    def of(cls, score: RetrieverScores, metric: str, rows: Rows | None) -> Column:
        """Of some queries of a retriever; None for all."""
        values, bounds = score.values[metric], score.bounds.get(metric)
        below, above = doubt(score.means[metric], bounds, values, weights=score.weights)
        n = total(score.weights, ~np.isnan(values))
        # A percentile of several runs is of all their answers, of which the values are the means.
        if score.runs is not None and not score.is_mean(metric):
            values = np.full_like(values, np.nan)
        n_open = score.counts.get("metrics", {}).get(metric, {}).get("n_open", 0)
        ratio = score.ratios.get(metric)
        column = cls(values, (-below * n, above * n), n_open, bounds, ratio)
        return column.rows(slice(None) if rows is None else rows)

    def rows(self, rows: Rows | slice) -> Column:
        """Of some of its queries, of which no more can be open than have no value."""
        values = self.values[rows]
        return replace(
            self,
            values=values,
            n_open=min(self.n_open, int(np.isnan(values).sum())),
            bounds=self.bounds if len(values) == len(self.values) else None,
            ratio=self.ratio and self.ratio.rows(rows),
        )

    @property
    def present(self) -> Bools:
        """(q) which queries have a value."""
        return ~np.isnan(self.values)


@dataclass(frozen=True)
class Aligned:
    """Values of several retrievers, row by row for the same queries.

    Attributes:
        query_ids: (q).
        retrievers: by name.
        metrics: all of them.
        columns: for each metric and retriever what it scored.
        tested: the metrics whose number is the mean of the queries' values.
        better: for each metric its direction.
        baseline: the retriever that the others are set against.
        settings: of the statistics.
        weights: (q) for how many asks each query stands; None where all are alike.
    """

    query_ids: Sequence[str]
    retrievers: tuple[str, ...]
    metrics: tuple[str, ...]
    columns: Mapping[Key, Column]
    tested: frozenset[str]
    better: Mapping[str, Direction]
    baseline: str
    settings: Settings
    weights: Floats | None = None

    @classmethod
    def of(
        cls,
        scores: Sequence[RetrieverScores],
        metrics: Sequence[str],
        baseline: str,
        settings: Settings,
        out: Collection[str] = (),
    ) -> Aligned:
        """Join by query id, in the order of the first; what not all have is left out.

        So is what is `out`, as it is not the same question.

        Raises:
            UsageError: no query is common to all, or one of them has not the same weight in all.
        """
        query_ids, rows = shared_ids([score.query_ids for score in scores], out)
        if not len(query_ids):
            raise UsageError("the evaluations have no query in common; queries join by id")
        means = product(metrics, zip(scores, rows))
        return cls(
            query_ids,
            tuple(score.name for score in scores),
            tuple(metrics),
            {
                (metric, score.name): Column.of(score, metric, of_score)
                for metric, (score, of_score) in means
            },
            frozenset(
                metric for metric in metrics if all(score.is_mean(metric) for score in scores)
            ),
            {metric: scores[0].better[metric] for metric in metrics},
            baseline,
            settings,
            shared_weights(scores, query_ids, rows),
        )

    def rows(self, rows: Rows) -> Aligned:
        """The same for some of the queries."""
        return replace(
            self,
            query_ids=ids_at(self.query_ids, rows),
            columns={key: column.rows(rows) for key, column in self.columns.items()},
            weights=of_rows(self.weights, rows),
        )

    def means(self) -> Means:
        """Of these values; None for what is not made of them, and where some are not known."""
        return {
            name: {
                metric: self._mean(metric, self.columns[metric, name]) for metric in self.metrics
            }
            for name in self.retrievers
        }

    def _mean(self, metric: str, column: Column) -> float | None:
        if column.n_open:
            return None
        if column.ratio is not None:
            return column.ratio.value
        return self._number(metric, column.values, self.weights)

    def _number(self, metric: str, values: Floats, weights: Floats | None) -> float | None:
        definition = definition_of(metric)
        if metric in self.tested:
            return weighted_mean(values, weights)
        return None if definition.is_mean else definition.number(values, weights)

    def _bounds(self, column: Column) -> Interval | None:
        """Between which values the mean lies where some are not known; None where all are."""
        if not column.n_open or column.bounds:
            return column.bounds if column.n_open else None
        weights = np.ones(len(column.values)) if self.weights is None else self.weights
        # Which of those without a value are open is not kept: the heaviest at worst.
        heaviest = float(np.sort(weights[~column.present])[-column.n_open :].sum())
        n_asks = float(weights[column.present].sum()) + heaviest
        summed = float((weights * np.nan_to_num(column.values)).sum())
        return (summed / n_asks, (summed + heaviest) / n_asks) if n_asks else None

    def _effective(self, values: Floats) -> float | None:
        """Kish's n of those that there are; None where all weigh alike."""
        return None if self.weights is None else effective_n(self.weights, ~np.isnan(values))

    def best(self, means: Means) -> dict[str, str]:
        """For each metric the first retriever with the best value.

        Where one retriever's value is open it may be the best, and so nobody is.
        """
        best: dict[str, str] = {}
        for metric in self.metrics:
            measured = [name for name in self.retrievers if means[name][metric] is not None]
            is_open = any(self.columns[metric, name].n_open for name in self.retrievers)
            if len(measured) > 1 and self.better[metric] != "neither" and not is_open:
                # `max` takes the first of equal ones: the order in which retrievers were named
                # decides.
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(measured, key=lambda name: means[name][metric] or 0.0)
        return best

    def gains(self, pair: Pair) -> Floats:
        """(q) the values of one retriever minus those of the other."""
        metric, retriever, against = pair
        return _zeroed(
            self.columns[metric, retriever].values - self.columns[metric, against].values
        )

    # -- means ------------------------------------------------------------------------------------

    def estimates(
        self, keys: Sequence[Key], values: Floats, means: Means, ends: Floats
    ) -> dict[Key, Estimate]:
        """The means of (q, len(keys)) values, with the intervals of these."""
        kinds = [definition_of(metric).interval for metric, _ in keys]
        names = [(metric, (name,)) for metric, name in keys]
        bounds, shifts = self._sure(names, values, ends), self._doubts(names, values)
        # What must not be found has exact limits.
        n_open = np.array([self.columns[key].n_open for key in keys])
        confidence = self.settings.confidence
        ends, exact = (
            with_exact_limits(
                limits, values, kinds, n_open, shifts, confidence, weights=self.weights
            )
            for limits in (ends, bounds - shifts)
        )
        bounds = np.where([kind == "score" for kind in kinds], bounds, exact)
        # Where the queries' values do not make a metric's number, their interval is none of it.
        is_mean = [metric in self.tested for metric, _ in keys]
        limits = to_jsonable(np.where(is_mean, np.concatenate([ends, bounds]), np.nan).T)
        return {
            key: self._estimate(key, means[key[1]][key[0]], of_key)
            for key, of_key in zip(keys, limits)
        }

    def _estimate(self, key: Key, value: float | None, ends: Sequence[float | None]) -> Estimate:
        column, (low, high, sure_low, sure_high) = self.columns[key], ends
        if column.ratio is not None:
            low, high = column.ratio.interval(*self.settings.resampling) or (None, None)
            # Nothing bounds what a question may cost, so the interval alone is what is sure.
            return Estimate(value, low, high, int(column.ratio.counts.sum()), False, low, high)
        return Estimate(
            value,
            low,
            high,
            int(column.present.sum()),
            key[0] in self.tested,
            sure_low,
            sure_high,
            exact=definition_of(key[0]).interval != "score",
            bounds=self._bounds(column),
            n_open=column.n_open,
            effective=self._effective(column.values),
        )

    def _sure(self, columns: Sequence[Names], values: Floats, ends: Floats) -> Floats:
        """(2, c) `sure_bounds` of columns: of a retriever, or of one's difference from another."""
        sides = []  # the least and the greatest value
        for metric, (_, *rivals) in columns:
            lowest, width = definition_of(metric).range[0] or 0.0, _width(metric)
            # A difference of two reaches from minus the width to the width, whatever the range.
            sides.append((-width, width) if rivals else (lowest, lowest + width))
        low, high = np.array(sides).reshape(-1, 2).T
        bounds = sure_bounds(
            values, ends, low, high, self.settings.confidence, weights=self.weights
        )
        return bounds + self._doubts(columns, values)

    def _doubts(self, columns: Sequence[Names], values: Floats) -> Floats:
        """(2, c) how far missing judgements may put the means of columns, below 0 and above it."""
        sums = []
        for metric, names in columns:
            (below, above), *rivals = (self.columns[metric, name].doubt for name in names)
            sums.append(
                (
                    -below - sum(rival_above for _, rival_above in rivals),
                    above + sum(rival_below for rival_below, _ in rivals),
                )
            )
        totals = np.array([total(self.weights, present) for present in ~np.isnan(values.T)])
        return np.array(sums).reshape(-1, 2).T / np.where(totals > 0, totals, 1.0)

    # -- differences ------------------------------------------------------------------------------

    def differences(
        self, pairs: Sequence[Pair], gains: Floats, ends: Floats, p: Floats, p_adjusted: Floats
    ) -> dict[Pair, Difference]:
        """The differences of (q, len(pairs)) gains, and what their corrected p says."""
        above, ties, below = tally(gains)
        if self.weights is not None:  # Student's, which knows of no end
            widths = np.array([_width(metric) for metric, _, _ in pairs])
            ends = np.clip(ends, -widths, widths)
        lower = np.array([self.better[metric] == "lower" for metric, _, _ in pairs], bool)
        sure_low, sure_high = self._sure([(pair[0], pair[1:]) for pair in pairs], gains, ends)
        # Ties are counted, too: without any common value there is no p to speak of.
        n = above + ties + below
        numbers = {
            "low": _zeroed(ends[0]),
            "high": _zeroed(ends[1]),
            "sure_low": sure_low,
            "sure_high": sure_high,
            "n": n,
            "p": np.where(n, p, np.nan),
            "p_adjusted": np.where(n, p_adjusted, np.nan),
            "effect": effect_sizes(gains, self.weights),
            "wins": np.where(lower, below, above),
            "ties": ties,
            "losses": np.where(lower, above, below),
        }
        differences = {}
        for pair, column, *row in zip(pairs, gains.T, *map(to_jsonable, numbers.values())):
            of_pair: dict[str, Any] = {
                "value": _zeroed_number(self._number(pair[0], column, self.weights))
            }
            of_pair |= {"effective": self._effective(column), **dict(zip(numbers, row))}
            if any(self.columns[pair[0], name].n_open for name in pair[1:]):
                # What the known queries alone say is nothing where one of both is open.
                of_pair |= dict.fromkeys(("value", "low", "high", "p", "p_adjusted", "effect"))
            if of_pair["p"] is not None:
                of_pair["verdict"] = self._verdict(pair[0], of_pair)
            differences[pair] = Difference(*pair, **of_pair)
        return differences

    def _verdict(self, metric: str, of_pair: Mapping[str, Any]) -> Verdict:
        value, low, high = of_pair["value"], of_pair["low"], of_pair["high"]
        # p and interval are reckoned differently; where they disagree nothing is claimed.
        has_0 = low is not None and high is not None and low <= 0 <= high
        if of_pair["p_adjusted"] > self.settings.alpha or not value or has_0:
            return "undecided"
        if self.better[metric] == "neither":
            return "different"
        return "better" if (value > 0) == (self.better[metric] == "higher") else "worse"

    def untested(self, pair: Pair, estimates: Mapping[Key, Estimate]) -> Difference:
        """Two numbers of runs, over the questions of both; of sums over sums with an interval."""
        keys, ends = [(pair[0], name) for name in pair[1:]], None
        ratio, rival = (self.columns[key].ratio for key in keys)
        if ratio is None or rival is None:
            values, n = self._of_both(keys, [estimates[key] for key in keys])
        else:
            shared = ratio.counts & rival.counts
            values, n = (ratio.of(shared).value, rival.of(shared).value), int(shared.sum())
            ends = ratio_difference_interval(ratio, rival, *self.settings.resampling)
        finite = [value for value in values if value is not None and isfinite(value)]
        value = _zeroed_number(finite[0] - finite[1]) if len(finite) == len(values) else None
        low, high = ends or (None, None)
        return Difference(*pair, value, low, high, low, high, n=n, values=values)

    def _of_both(
        self, keys: Sequence[Key], estimates: Sequence[Estimate]
    ) -> tuple[tuple[float | None, float | None], int]:
        """What two have over the questions where both have a value, and how many these are.

        As their estimates say where that is all of either, or a run's number is not made of values
        that are at hand.
        """
        first, second = (self.columns[key] for key in keys)
        values, n = (estimates[0].value, estimates[1].value), min(mean.n for mean in estimates)
        is_kept = first.present.any() and second.present.any() and None not in values
        if not is_kept or (first.present == second.present).all():
            return values, n
        shared = np.flatnonzero(first.present & second.present)
        if not shared.size:
            return (None, None), 0
        weights, metric = of_rows(self.weights, shared), keys[0][0]
        value, rival = (
            self._number(metric, side.values[shared], weights) for side in (first, second)
        )
        return (values, n) if None in (value, rival) else ((value, rival), len(shared))


def shared_weights(
    scores: Sequence[RetrieverScores], query_ids: Sequence[str], rows: Sequence[Rows | None]
) -> Floats | None:
    """(q) for how many asks each question stands, alike for all; None where all weigh alike.

    Args:
        scores: of retrievers.
        query_ids: (q) the questions that are compared.
        rows: for each retriever where these stand.

    Raises:
        UsageError: a question stands for more asks in one result than in another.
    """
    first, *columns = (of_rows(score.weights, own_rows) for score, own_rows in zip(scores, rows))
    alike = np.ones(len(query_ids))
    for score, column in zip(scores[1:], columns):
        one, other = (alike if weights is None else weights for weights in (first, column))
        # Relative: weights may be millions of asks, or chances of a thousandth.
        differing = np.flatnonzero(~np.isclose(one, other, rtol=1e-9, atol=0))
        if differing.size:
            row = int(differing[0])
            raise UsageError(
                "{name!r} and {name_2!r} cannot be compared: question {query_ids!r} stands for "
                "{one:g} asks in the one and for {other:g} in the other; evaluate both with one "
                "gold set, whose weight and inclusion each question then has",
                name=scores[0].name,
                name_2=score.name,
                query_ids=query_ids[row],
                one=one[row],
                other=other[row],
            )
    return first


def shared_ids(
    ids: Sequence[Sequence[str]], out: Collection[str] = ()
) -> tuple[Sequence[str], list[Rows | None]]:
    """The ids that all have, in the order of the first, and where they stand in each.

    Args:
        ids: the query ids of each retriever.
        out: ids that are left out.

    Returns:
        The ids, and for each retriever their rows; None where they are its own as they are.
    """
    first, *columns = ids
    # As a rule all have the same questions in one order, and no set of millions of ids is made.
    if out or not all(first == column for column in columns):
        shared = set(first).intersection(*columns).difference(out)
        first = tuple(query_id for query_id in first if query_id in shared)
    return first, [rows_of(first, column) for column in ids]


def _width(metric: str) -> float:
    """How far apart two values of a metric may lie; infinite where nothing bounds them."""
    lowest, greatest = definition_of(metric).range
    return np.inf if greatest is None else greatest - lowest


def _zeroed(differences: Floats) -> Floats:
    """What differs in its last digits alone does not differ."""
    return np.where(np.abs(differences) <= TOLERANCE, 0.0, differences)


def _zeroed_number(value: float | None) -> float | None:
    """The same of one number."""
    return 0.0 if value is not None and abs(value) <= TOLERANCE else value
