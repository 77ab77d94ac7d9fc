"""The arithmetic of a comparison: values of several retrievers, row by row, and a view of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import isclose

import numpy as np

from kragx.comparison.comparison import Settings
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import (
    NO_FAMILY,
    TOLERANCE,
    Family,
    Flipped,
    Rows,
    effect_sizes,
    flip_tests,
    mean_intervals,
    sure_bounds,
    tally,
    worse_parts,
)
from kragx.comparison.view import (
    FEW,
    Difference,
    Direction,
    Estimate,
    Leader,
    Verdict,
    View,
)
from kragx.errors import UsageError
from kragx.metrics import Floats, Ints, known_metric
from kragx.plain import plain

Means = Mapping[str, Mapping[str, float | None]]
"""For each retriever each metric's number."""

Pair = tuple[str, str, str]
"""Metric, retriever, and the one it is set against."""

SLICE_HANDICAP = 0.5
"""By so many standard errors more than the whole a slice has to differ: then looking at slices
costs the verdict over all questions next to nothing, though all are one family."""


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
        out: Collection[str] = (),
    ) -> Aligned:
        """Join by query id, in the order of the first; what not all have is left out.

        So is what is `out`, as it is not the same question.

        Raises:
            UsageError: no query is common to all.
        """
        shared = set.intersection(*(set(own.query_ids) for own in scores)).difference(out)
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

    def rows(self, rows: Rows) -> Aligned:
        """The same for some of the queries."""
        return replace(
            self,
            query_ids=tuple(self.query_ids[row] for row in rows),
            columns={key: column[rows] for key, column in self.columns.items()},
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

    def best(self, means: Means) -> dict[str, str]:
        """For each metric the first retriever with the best value."""
        best: dict[str, str] = {}
        for metric in self.metrics:
            known = [name for name in self.retrievers if means[name][metric] is not None]
            if len(known) > 1 and self.better[metric] != "neither":
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(known, key=lambda name: means[name][metric] or 0.0)
        return best

    def estimates(self, means: Means, ends: Floats) -> dict[str, dict[str, Estimate]]:
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

    def differences(
        self, pairs: Sequence[Pair], columns: Floats, ends: Floats, p: Floats
    ) -> dict[Pair, Difference]:
        """The differences of (q, len(pairs)) columns, before any correction."""
        above, ties, below = tally(columns)
        lower = np.array([self.better[metric] == "lower" for metric, _, _ in pairs], bool)
        n = above + ties + below
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

    def column(self, pair: Pair) -> Floats:
        """(q) the values of one retriever minus those of the other."""
        metric, retriever, against = pair
        return _zeroed(self.columns[metric, retriever] - self.columns[metric, against])


@dataclass(frozen=True)
class PairTests:
    """Each two retrievers in each metric, over all queries and within slices.

    Whichever two a report speaks of, the best and the one behind it or any other and the baseline,
    they were picked by their values; so the family has every two.

    Attributes:
        aligned: the values.
        whole: the means to show over all queries.
        slices: the rows of each slice.
    """

    aligned: Aligned
    whole: Means
    slices: tuple[Rows, ...] = ()

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Each two retrievers in each metric that can be tested."""
        metrics = [metric for metric in self.aligned.metrics if metric in self.aligned.tested]
        return tuple(
            (metric, one, other)
            for metric in metrics
            for one, other in combinations(self.aligned.retrievers, 2)
        )

    @cached_property
    def flipped(self) -> tuple[list[Flipped], Family]:
        """The tests over all queries, then within each slice; and their family."""
        n, settings = len(self.aligned.query_ids), self.aligned.settings
        if not self.pairs:
            nothing = Flipped(np.empty(0), np.empty(0))
            return [nothing] * (len(self.slices) + 1), NO_FAMILY
        columns = np.stack(list(map(self.aligned.column, self.pairs)), axis=1)
        parts = [np.arange(n), *self.slices]
        return flip_tests(
            columns, parts, settings.resamples, settings.seed, handicap=SLICE_HANDICAP
        )

    @cached_property
    def weaker(self) -> tuple[Floats, Floats, Family]:
        """For each slice whether the leading retriever does as well there: p and statistic.

        By the first metric. NaN for fewer than `FEW` queries, and for what cannot be tested.
        """
        aligned, p, z = self.aligned, np.full(len(self.slices), np.nan), np.zeros(len(self.slices))
        metric, sizes = aligned.metrics[0], list(map(len, self.slices))
        large = [number for number, size in enumerate(sizes) if size >= FEW]
        testable = metric in aligned.tested and aligned.better[metric] != "neither"
        if not large or not testable or not aligned.retrievers:
            return p, z, NO_FAMILY
        name = aligned.best(self.whole).get(metric, aligned.retrievers[0])
        sign = -1.0 if aligned.better[metric] == "lower" else 1.0
        tests, family = worse_parts(
            sign * aligned.columns[metric, name],
            [self.slices[number] for number in large],
            aligned.settings.resamples,
            aligned.settings.seed,
            handicap=SLICE_HANDICAP,
        )
        p[large], z[large] = tests.p, tests.z
        return p, z, family

    @property
    def family(self) -> Family:
        """All of these tests."""
        return Family.of([self.flipped[1], self.weaker[2]])

    def corrected(self, p: Floats, z: Floats, family: Family) -> Floats:
        """The p of some tests as the settings want it."""
        return family.adjusted(p, z) if self.aligned.settings.correction == "family" else p

    def p_worse(self, family: Family) -> list[float | None]:
        """For each slice the corrected p of `weaker`."""
        p, z, _ = self.weaker
        return [plain(value) for value in self.corrected(p, z, family)]

    def overall(self, family: Family) -> View:
        """All queries, each test as one of a family."""
        return self._view(self.aligned, self.whole, self.flipped[0][0], family)

    def slice(self, number: int, family: Family) -> View:
        """The queries of a slice, each test as one of a family."""
        part = self.aligned.rows(self.slices[number])
        return self._view(part, part.means(), self.flipped[0][number + 1], family)

    def _view(self, part: Aligned, means: Means, tests: Flipped, family: Family) -> View:
        if not part.retrievers:
            return View(len(part.query_ids), {}, {}, ())
        best, settings = part.best(means), part.settings
        to_baseline = [
            (metric, name, part.baseline)
            for metric in part.metrics
            for name in part.retrievers
            if name != part.baseline and part.baseline in part.retrievers
        ]
        to_best = [
            (metric, top, name)
            for metric, top in best.items()
            for name in part.retrievers
            if name != top and means[name][metric] is not None
        ]
        pairs = list(dict.fromkeys(to_baseline + to_best))
        tested = [pair for pair in pairs if pair[0] in part.tested]
        # One table of columns, so that means and differences see the same resamples; row by row in
        # memory, as sums of columns depend on it in their last bits.
        own = list(part.columns.values())
        table = np.ascontiguousarray(np.stack([*own, *map(part.column, tested)], axis=1))
        known = (known_metric(metric) for metric, _ in part.columns)
        ranges = [None if metric is None else metric.limits for metric in known]
        ranges += [None] * len(tested)
        ends = mean_intervals(table, ranges, settings.confidence, settings.resamples, settings.seed)
        estimates = part.estimates(means, ends[:, : len(own)])
        differences = {pair: _untested(*pair, estimates) for pair in pairs}
        number_of = {pair: number for number, pair in enumerate(self.pairs)}
        numbers = [
            number_of.get((metric, one, other), number_of.get((metric, other, one), -1))
            for metric, one, other in tested
        ]
        p, z = tests.p[numbers], tests.z[numbers]
        adjusted = self.corrected(p, z, family)
        compared = part.differences(tested, table[:, len(own) :], ends[:, len(own) :], p)
        for pair, p_adjusted in zip(tested, adjusted):
            differences[pair] = self._decided(compared[pair], p_adjusted)
        return View(
            n=len(part.query_ids),
            means=estimates,
            leaders={
                metric: Leader(
                    metric,
                    top,
                    shared=_as_good(means, metric, top),
                    differences=tuple(differences[pair] for pair in to_best if pair[0] == metric),
                    tested=metric in part.tested,
                )
                for metric, top in best.items()
            },
            differences=tuple(differences[pair] for pair in to_baseline),
        )

    def _decided(self, difference: Difference, p_adjusted: float) -> Difference:
        """A difference with what it says."""
        if difference.p is None:
            return difference
        verdict = self._verdict(difference, p_adjusted)
        return replace(difference, p_adjusted=float(p_adjusted), verdict=verdict)

    def _verdict(self, difference: Difference, p_adjusted: float) -> Verdict:
        low, high, better = difference.low, difference.high, self.aligned.better[difference.metric]
        if p_adjusted > self.aligned.settings.alpha or not difference.value:
            return "undecided"
        if low is not None and high is not None and low <= 0 <= high:
            return "undecided"
        if better == "neither":
            return "different"
        return "better" if (difference.value > 0) == (better == "higher") else "worse"


def _as_good(means: Means, metric: str, best: str) -> tuple[str, ...]:
    """The retrievers that have the best value; sums of fractions differ in their last bits."""
    values = {name: of_retriever[metric] for name, of_retriever in means.items()}
    top = values[best] or 0.0
    return tuple(
        name
        for name, value in values.items()
        if value is not None and isclose(value, top, abs_tol=TOLERANCE)
    )


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
