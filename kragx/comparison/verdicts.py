"""The arithmetic of a comparison: values of several retrievers, row by row, and a view of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.comparison.comparison import Settings
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import (
    TOLERANCE,
    Interval,
    effect_sizes,
    holm,
    mean_intervals,
    sign_flip_p,
    sure_bounds,
    tally,
)
from kragx.comparison.view import Difference, Direction, Estimate, Leader, Verdict, View
from kragx.errors import UsageError
from kragx.metrics import Floats, Ints, known_metric
from kragx.plain import plain

Means = Mapping[str, Mapping[str, float | None]]
"""For each retriever each metric's number."""

Pair = tuple[str, str, str]
"""Metric, retriever, and the one it is set against."""


@dataclass(frozen=True)
class Aligned:
    """Values of several retrievers, row by row for the same queries.

    Attributes:
        query_ids: (q).
        retrievers: by name.
        metrics: all of them.
        columns: for each metric and retriever (q) the values; NaN where there is none.
        tested: the metrics whose number is the mean of the queries' values.
        better: for each metric its direction.
        baseline: the retriever that the others are set against.
        settings: of the statistics.
        doubts: for each metric and retriever how far missing judgements may put the sum of all
            values lower, and higher.
    """

    query_ids: tuple[str, ...]
    retrievers: tuple[str, ...]
    metrics: tuple[str, ...]
    columns: Mapping[tuple[str, str], Floats]
    tested: frozenset[str]
    better: Mapping[str, Direction]
    baseline: str
    settings: Settings
    doubts: Mapping[tuple[str, str], tuple[float, float]]

    @classmethod
    def of(
        cls,
        scores: Sequence[RetrieverScores],
        metrics: Sequence[str],
        baseline: str,
        settings: Settings,
    ) -> Aligned:
        """Join by query id, in the order of the first; what not all have is left out.

        Raises:
            UsageError: no query is common to all.
        """
        shared = set.intersection(*(set(own.query_ids) for own in scores))
        if not shared:
            raise UsageError("the evaluations have no query in common; queries join by id")
        query_ids = tuple(query_id for query_id in scores[0].query_ids if query_id in shared)
        return cls(
            query_ids,
            tuple(own.name for own in scores),
            tuple(metrics),
            {
                (metric, own.name): column
                for own in scores
                for metric, column in zip(metrics, own.table(metrics, query_ids).T)
            },
            frozenset(metric for metric in metrics if all(own.is_mean(metric) for own in scores)),
            {metric: scores[0].better[metric] for metric in metrics},
            baseline,
            settings,
            {(metric, own.name): own.doubt(metric) for own in scores for metric in metrics},
        )

    def without(self, retrievers: Collection[str]) -> Aligned:
        """The same without some of the retrievers."""
        return replace(
            self,
            retrievers=tuple(name for name in self.retrievers if name not in retrievers),
            columns={key: own for key, own in self.columns.items() if key[1] not in retrievers},
        )

    def rows(self, rows: Sequence[int]) -> Aligned:
        """The same for some of the queries."""
        return replace(
            self,
            query_ids=tuple(self.query_ids[row] for row in rows),
            columns={key: column[list(rows)] for key, column in self.columns.items()},
        )

    def means(self) -> Means:
        """Of these values; None for what is not made of them."""
        return {
            name: {
                metric: self._number(metric, self.columns[metric, name]) for metric in self.metrics
            }
            for name in self.retrievers
        }

    def _number(self, metric: str, values: Floats) -> float | None:
        known_as, known = known_metric(metric), values[~np.isnan(values)]
        if not known.size:
            return None
        if metric in self.tested:
            return float(known.mean())
        return None if known_as is None or known_as.is_mean else known_as.number(known)

    def view(self, means: Means) -> View:
        """Compare on these rows; `means` are the numbers to show, those of reports or `means`."""
        if not self.retrievers:
            return View(len(self.query_ids), {}, {}, ())
        best, settings = self._best(means), self.settings
        to_baseline = [
            (metric, name, self.baseline)
            for metric in self.metrics
            for name in self.retrievers
            if name != self.baseline and self.baseline in self.retrievers
        ]
        to_best = [
            (metric, top, name)
            for metric, top in best.items()
            for name in self.retrievers
            if name != top and means[name][metric] is not None
        ]
        pairs = list(dict.fromkeys(to_baseline + to_best))
        tested = [pair for pair in pairs if pair[0] in self.tested]
        # One table of columns, so that means and differences see the same resamples; row by row in
        # memory, as sums of columns depend on it in their last bits.
        own = list(self.columns.values())
        compared = [
            _zeroed(self.columns[metric, one] - self.columns[metric, other])
            for metric, one, other in tested
        ]
        table = np.ascontiguousarray(np.stack([*own, *compared], axis=1))
        ranges = [*(_range(metric) for metric, _ in self.columns), *[None] * len(tested)]
        ends = mean_intervals(table, ranges, settings.confidence, settings.resamples, settings.seed)
        estimates = self._estimates(means, ends[:, : len(own)])
        differences = {pair: _untested(*pair, estimates) for pair in pairs}
        differences |= self._tested(tested, table[:, len(own) :], ends[:, len(own) :])
        to_others = self._decided([differences[pair] for pair in to_best])
        return View(
            n=len(self.query_ids),
            means=estimates,
            leaders={
                metric: Leader(
                    metric,
                    top,
                    tuple(other for other in to_others if other.metric == metric),
                    tested=metric in self.tested,
                )
                for metric, top in best.items()
            },
            differences=self._decided([differences[pair] for pair in to_baseline]),
        )

    def _best(self, means: Means) -> dict[str, str]:
        """For each metric the first retriever with the best value."""
        best: dict[str, str] = {}
        for metric in self.metrics:
            known = [name for name in self.retrievers if means[name][metric] is not None]
            if len(known) > 1 and self.better[metric] != "neither":
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(known, key=lambda name: means[name][metric] or 0.0)
        return best

    def _estimates(self, means: Means, ends: Floats) -> dict[str, dict[str, Estimate]]:
        """The means with the intervals of their columns."""
        estimates: dict[str, dict[str, Estimate]] = {name: {} for name in self.retrievers}
        values = np.stack(list(self.columns.values()), axis=1)
        n = (~np.isnan(values)).sum(axis=0).tolist()
        sure = self._sure([(metric, (name,)) for metric, name in self.columns], values, ends)
        # Where the queries' values do not make a metric's number, their interval is none of it.
        is_mean = [metric in self.tested for metric, _ in self.columns]
        bounds = plain(np.where(is_mean, np.concatenate([ends, sure]), np.nan).T)
        for (metric, name), own_n, (low, high, *own_sure), own_is in zip(
            self.columns, n, bounds, is_mean
        ):
            estimates[name][metric] = Estimate(
                means[name][metric], low, high, own_n, own_is, *own_sure
            )
        return estimates

    def _sure(
        self, columns: Sequence[tuple[str, tuple[str, ...]]], values: Floats, ends: Floats
    ) -> Floats:
        """(2, c) `sure_bounds` of columns: of a retriever, or of one's difference from another."""
        sides = np.zeros((2, len(columns)))  # the least and the greatest value
        doubts = np.zeros((2, len(columns)))  # how far missing judgements may put the sum
        for column, (metric, names) in enumerate(columns):
            known_as = known_metric(metric)
            least, greatest = (None, None) if known_as is None else known_as.range
            width = np.inf if least is None or greatest is None else greatest - least
            sides[:, column] = least or 0, np.inf if greatest is None else greatest
            below, above = self.doubts[metric, names[0]]
            if len(names) > 1:
                sides[:, column] = -width, width
                other_below, other_above = self.doubts[metric, names[1]]
                below, above = below + other_above, above + other_below
            doubts[:, column] = -below, above
        sure = sure_bounds(values, ends, sides[0], sides[1], self.settings.confidence)
        n: Ints = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        sure += doubts / n
        return sure

    def _tested(
        self, pairs: Sequence[Pair], columns: Floats, ends: Floats
    ) -> dict[Pair, Difference]:
        """The differences of (q, len(pairs)) columns, before any correction."""
        above, ties, below = tally(columns)
        lower = np.array([self.better[metric] == "lower" for metric, _, _ in pairs], bool)
        n = above + ties + below
        p = sign_flip_p(columns, self.settings.resamples, self.settings.seed)
        sure = self._sure([(metric, (one, other)) for metric, one, other in pairs], columns, ends)
        numbers = {
            "low": _zeroed(ends[0]),
            "high": _zeroed(ends[1]),
            "sure_low": sure[0],
            "sure_high": sure[1],
            "n": n,
            "p": np.where(n, p, np.nan),
            "effect": effect_sizes(columns),
            "wins": np.where(lower, below, above),
            "ties": ties,
            "losses": np.where(lower, above, below),
        }
        return {
            pair: Difference(
                *pair,
                value=_difference(self._number(pair[0], columns[:, column])),
                **{name: plain(values[column]) for name, values in numbers.items()},
            )
            for column, pair in enumerate(pairs)
        }

    def _decided(self, differences: Sequence[Difference]) -> tuple[Difference, ...]:
        """A family of differences: p corrected, and what each says."""
        p = np.array([difference.p for difference in differences], float)  # None becomes NaN
        adjusted = map(plain, holm(p) if self.settings.correction == "holm" else p)
        return tuple(
            replace(difference, p_adjusted=p, verdict=self._verdict(difference, p))
            for difference, p in zip(differences, adjusted)
        )

    def _verdict(self, difference: Difference, p: float | None) -> Verdict:
        value, better = difference.value, self.better[difference.metric]
        # Where all queries differ by the same there is no interval, and p alone decides.
        ends = (difference.low, difference.high)
        low, high = (value if end is None else end for end in ends)
        if p is None:
            return "untested"
        if p > self.settings.alpha or low is None or high is None or low <= 0 <= high:
            return "undecided"
        if better == "neither":
            return "different"
        return "better" if (low > 0) == (better == "higher") else "worse"


def _range(metric: str) -> Interval | None:
    """Between what a metric's values lie; None where that is not known on both sides."""
    known = known_metric(metric)
    if known is None or known.range[1] is None:
        return None
    return known.range[0], known.range[1]


def _zeroed(differences: Floats) -> Floats:
    """What differs in its last digits alone does not differ."""
    return np.where(np.abs(differences) <= TOLERANCE, 0.0, differences)


def _difference(value: float | None) -> float | None:
    """The same of one number."""
    return 0.0 if value is not None and abs(value) <= TOLERANCE else value


def _untested(
    metric: str, retriever: str, against: str, estimates: Mapping[str, Mapping[str, Estimate]]
) -> Difference:
    """Two numbers of runs, which are compared as they stand."""
    one, other = estimates[retriever][metric], estimates[against][metric]
    value = None if one.value is None or other.value is None else one.value - other.value
    return Difference(metric, retriever, against, _difference(value), n=min(one.n, other.n))
