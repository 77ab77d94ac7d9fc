"""The arithmetic of a comparison: values of several retrievers, row by row, and a view of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import isclose, isfinite

import numpy as np

from kragx.comparison.columns import ids_at, joined
from kragx.comparison.comparison import Settings
from kragx.comparison.families import N_FAMILIES, Families, family_of
from kragx.comparison.scores import RetrieverScores, interval_kind
from kragx.comparison.side_by_side import shared_weights
from kragx.comparison.statistics import (
    NO_FAMILY,
    TOLERANCE,
    Family,
    Flipped,
    Rows,
    effect_sizes,
    mean_intervals,
    paired_tests,
    sure_bounds,
    tally,
    worse_parts,
)
from kragx.comparison.statistics.weighted import of_rows, signed, total
from kragx.comparison.view import (
    FEW,
    Difference,
    Direction,
    Estimate,
    Leader,
    Verdict,
    View,
)
from kragx.ground.errors import UsageError
from kragx.ground.json_values import plain
from kragx.metrics import Bools, Floats, Ints, known_metric
from kragx.metrics.intervals import (
    Interval,
    Ratio,
    ratio_difference_interval,
    with_exact_limits,
)
from kragx.metrics.scores import number_of
from kragx.metrics.weights import effective_n, weighted_mean

Means = Mapping[str, Mapping[str, float | None]]
"""For each retriever each metric's number."""

Column = tuple[str, str]
"""Metric and retriever."""

Pair = tuple[str, str, str]
"""Metric, retriever, and the one it is set against."""

_CELLS = 1 << 24
"""So many values at once: of ten million questions a column at a time."""

SLICE_HANDICAP = 0.5
"""By so many standard errors more than the whole a slice has to differ: then looking at slices
costs the other metrics over all questions next to nothing, though all are one family."""


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
        n_open: for each metric and retriever of how many queries it is not known, though one has a
            value (`RetrieverScores.n_open`).
        bounds: for each metric and retriever between which values the mean lies where some are not
            known; empty for a part of the queries, of which that is not kept.
        ratios: for each metric that is a sum over a sum, and retriever, what each query adds, where
            that is known.
        weights: (q) for how many asks each query stands; None where all are alike.
    """

    query_ids: Sequence[str]
    retrievers: tuple[str, ...]
    metrics: tuple[str, ...]
    columns: Mapping[Column, Floats]
    tested: frozenset[str]
    better: Mapping[str, Direction]
    baseline: str
    settings: Settings
    doubts: Mapping[tuple[str, str], tuple[float, float]]
    n_open: Mapping[Column, int] = field(default_factory=dict)
    bounds: Mapping[Column, Interval] = field(default_factory=dict)
    ratios: Mapping[Column, Ratio] = field(default_factory=dict)
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
        query_ids, rows = joined([score.query_ids for score in scores], out)
        if not len(query_ids):
            raise UsageError("the evaluations have no query in common; queries join by id")
        return cls(
            query_ids,
            tuple(score.name for score in scores),
            tuple(metrics),
            {
                (metric, score.name): score.values[metric]
                if own_rows is None
                else score.values[metric][own_rows]
                for score, own_rows in zip(scores, rows)
                for metric in metrics
            },
            frozenset(
                metric for metric in metrics if all(score.is_mean(metric) for score in scores)
            ),
            {metric: scores[0].better[metric] for metric in metrics},
            baseline,
            settings,
            {(metric, score.name): score.doubt(metric) for score in scores for metric in metrics},
            {(metric, score.name): score.n_open(metric) for score in scores for metric in metrics},
            {
                (metric, score.name): score.bounds[metric]
                for score in scores
                for metric in metrics
                if metric in score.bounds and len(score.query_ids) == len(query_ids)
            },
            {
                (metric, score.name): score.ratios[metric].rows(own_rows)
                for score, own_rows in zip(scores, rows)
                for metric in metrics
                if metric in score.ratios
            },
            shared_weights(scores, query_ids, rows),
        )

    def without(self, retrievers: Collection[str]) -> Aligned:
        """The same without some of the retrievers."""
        return replace(
            self,
            retrievers=tuple(name for name in self.retrievers if name not in retrievers),
            columns={
                key: values for key, values in self.columns.items() if key[1] not in retrievers
            },
        )

    def rows(self, rows: Rows) -> Aligned:
        """The same for some of the queries."""
        return replace(
            self,
            query_ids=ids_at(self.query_ids, rows),
            columns={key: values[rows] for key, values in self.columns.items()},
            bounds={},
            ratios={key: ratio.rows(rows) for key, ratio in self.ratios.items()},
            weights=of_rows(self.weights, rows),
        )

    def share(self, rows: Rows) -> dict[str, float | None] | None:
        """By metric which share of the asks with a value some queries have; None if all alike."""
        if self.weights is None:
            return None
        weights = self.weights[rows]
        return {
            metric: total(weights, scored[rows]) / n_asks if n_asks else None
            for metric, (scored, n_asks) in self._scored.items()
        }

    @cached_property
    def _scored(self) -> dict[str, tuple[Bools, float]]:
        """By metric (q) where some retriever has a value, and the asks of these questions."""
        scored = {metric: np.zeros(len(self.query_ids), bool) for metric in self.metrics}
        for (metric, _), values in self.columns.items():
            scored[metric] |= ~np.isnan(values)
        return {metric: (rows, total(self.weights, rows)) for metric, rows in scored.items()}

    def means(self) -> Means:
        """Of these values; None for what is not made of them, and where some are not known."""
        return {
            name: {
                metric: None
                if self._open((metric, name))
                else ratio.value
                if (ratio := self.ratios.get((metric, name))) is not None
                else self._number(metric, self.columns[metric, name])
                for metric in self.metrics
            }
            for name in self.retrievers
        }

    def _open(self, column: Column) -> int:
        """Of how many of these queries a value is not known, at most.

        Of a part of the queries no more can be open than have no value.
        """
        n_open = self.n_open.get(column, 0)
        return min(n_open, int(np.isnan(self.columns[column]).sum())) if n_open else 0

    def _bounds(self, column: Column) -> Interval | None:
        """Between which values the mean lies where some are not known; None where all are."""
        if not (n_open := self._open(column)):
            return None
        if column in self.bounds:
            return self.bounds[column]
        values, weights = self.columns[column], self.weights
        if weights is None:
            n, total = n_open + int((~np.isnan(values)).sum()), float(np.nansum(values))
            return total / n, (total + n_open) / n
        # Which of those without a value are open is not kept: the heaviest at worst.
        unknown, known = np.isnan(values), weights * np.nan_to_num(values)
        most_open = float(np.sort(weights[unknown])[-n_open:].sum())
        n_asks, total = float(weights[~unknown].sum()) + most_open, float(known.sum())
        return (total / n_asks, (total + most_open) / n_asks) if n_asks else None

    def _number(self, metric: str, values: Floats) -> float | None:
        if metric in self.tested:
            return weighted_mean(values, self.weights)
        known_as = known_metric(metric)
        if known_as is None or known_as.is_mean:
            return None
        return number_of(known_as, values, weights=self.weights)

    def best(self, means: Means) -> dict[str, str]:
        """For each metric the first retriever with the best value.

        Where one retriever's value is open it may be the best, and so nobody is.
        """
        best: dict[str, str] = {}
        for metric in self.metrics:
            measured = [name for name in self.retrievers if means[name][metric] is not None]
            is_open = any(self._open((metric, name)) for name in self.retrievers)
            if len(measured) > 1 and self.better[metric] != "neither" and not is_open:
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(measured, key=lambda name: means[name][metric] or 0.0)
        return best

    def estimates(
        self, columns: Sequence[Column], values: Floats, means: Means, ends: Floats
    ) -> Iterator[Estimate]:
        """The means of (q, len(columns)) values, with the intervals of these."""
        n = [int((~np.isnan(self.columns[column])).sum()) for column in columns]
        sure_bounds_of = self._sure([(metric, (name,)) for metric, name in columns], values, ends)
        ends, sure_bounds_of = self._exact(columns, values, ends, sure_bounds_of)
        # Where the queries' values do not make a metric's number, their interval is none of it.
        is_mean = [metric in self.tested for metric, _ in columns]
        bounds = plain(np.where(is_mean, np.concatenate([ends, sure_bounds_of]), np.nan).T)
        for (metric, name), own_n, (low, high, sure_low, sure_high), own_is in zip(
            columns, n, bounds, is_mean
        ):
            if (ratio := self.ratios.get((metric, name))) is not None:
                yield self._of_ratio(means[name][metric], ratio)
                continue
            yield Estimate(
                means[name][metric],
                low,
                high,
                own_n,
                own_is,
                sure_low,
                sure_high,
                exact=interval_kind(metric) != "score",
                bounds=self._bounds((metric, name)),
                n_open=self._open((metric, name)),
                effective=self._effective(self.columns[metric, name]),
            )

    def _effective(self, values: Floats) -> float | None:
        """Kish's n of those that there are; None where all weigh alike."""
        return None if self.weights is None else effective_n(self.weights, ~np.isnan(values))

    def _of_ratio(self, value: float | None, ratio: Ratio) -> Estimate:
        """A sum over a sum, with its interval over the queries."""
        settings = self.settings
        ends = ratio.interval(settings.confidence, settings.resamples, settings.seed)
        low, high = ends or (None, None)
        # Nothing bounds what a question may cost, so the interval alone is what is sure.
        n = int(ratio.counts.sum())
        return Estimate(value, low, high, n, is_mean=False, sure_low=low, sure_high=high)

    def untested(
        self,
        metric: str,
        retriever: str,
        against: str,
        estimates: Mapping[str, Mapping[str, Estimate]],
    ) -> Difference:
        """Two numbers of runs, over the questions of both; of sums over sums with an interval."""
        pair, ends = (retriever, against), None
        estimate, rival = (estimates[name][metric] for name in pair)
        ratio, rival_ratio = (self.ratios.get((metric, name)) for name in pair)
        if ratio is None or rival_ratio is None:
            values, n = self._of_both(metric, pair, (estimate, rival))
        else:
            shared, settings = ratio.counts & rival_ratio.counts, self.settings
            values, n = (ratio.of(shared).value, rival_ratio.of(shared).value), int(shared.sum())
            resampling = settings.confidence, settings.resamples, settings.seed
            ends = ratio_difference_interval(ratio, rival_ratio, *resampling)
        known = [value for value in values if value is not None and isfinite(value)]
        value = _difference(known[0] - known[1]) if len(known) == len(values) else None
        low, high = ends or (None, None)
        return Difference(metric, *pair, value, low, high, low, high, n=n, values=values)

    def _of_both(
        self, metric: str, pair: tuple[str, str], estimates: tuple[Estimate, Estimate]
    ) -> tuple[tuple[float | None, float | None], int]:
        """What two have over the questions where both have a value, and how many these are.

        As their estimates say where that is all of either, or a run's number is not made of values
        that are at hand.
        """
        as_estimated = estimates[0].value, estimates[1].value
        columns = self.columns[metric, pair[0]], self.columns[metric, pair[1]]
        present, rival_present = ~np.isnan(columns[0]), ~np.isnan(columns[1])
        shared = present & rival_present
        is_kept = present.any() and rival_present.any() and None not in as_estimated
        n = min(estimate.n for estimate in estimates)
        if not is_kept or (present == rival_present).all():
            return as_estimated, n
        if not shared.any():
            return (None, None), 0
        value, rival_value = (self._number(metric, column[shared]) for column in columns)
        if value is None or rival_value is None:
            return as_estimated, n
        return (value, rival_value), int(shared.sum())

    def finite(self, column: Column) -> Floats:
        """(q) the values that can be averaged: what was never found cannot."""
        values = self.columns[column]
        return np.where(np.isinf(values), np.nan, values)

    def _exact(
        self, columns: Sequence[Column], values: Floats, ends: Floats, sure: Floats
    ) -> tuple[Floats, Floats]:
        """Intervals and sure bounds, those of what must not be found by exact limits."""
        kinds = [interval_kind(metric) for metric, _ in columns]
        if set(kinds) <= {"score"}:
            return ends, sure
        n_open = np.array([self._open(column) for column in columns])
        doubts = np.array([self.doubts[column] for column in columns]).T
        doubts = doubts / self._totals(values) * [[-1], [1]]
        confidence, weights = self.settings.confidence, self.weights
        nothing = np.zeros_like(doubts)
        return (
            with_exact_limits(ends, values, kinds, n_open, doubts, confidence, weights=weights),
            with_exact_limits(sure, values, kinds, n_open, nothing, confidence, weights=weights),
        )

    def _totals(self, values: Floats) -> Floats:
        """(c) the weights of the queries that have a value, or how many these are."""
        present = ~np.isnan(values)
        totals = np.array([total(self.weights, column) for column in present.T])
        return np.where(totals > 0, totals, 1.0)

    def _sure(
        self, columns: Sequence[tuple[str, tuple[str, ...]]], values: Floats, ends: Floats
    ) -> Floats:
        """(2, c) `sure_bounds` of columns: of a retriever, or of one's difference from another."""
        sides = np.zeros((2, len(columns)))  # the least and the greatest value
        doubts = np.zeros((2, len(columns)))  # how far missing judgements may put the sum
        for column, (metric, names) in enumerate(columns):
            known_as, width = known_metric(metric), _width(metric)
            lowest = 0.0 if known_as is None else known_as.range[0] or 0.0
            sides[:, column] = lowest, lowest + width
            below, above = self.doubts[metric, names[0]]
            if len(names) > 1:
                sides[:, column] = -width, width
                other_below, other_above = self.doubts[metric, names[1]]
                below, above = below + other_above, above + other_below
            doubts[:, column] = -below, above
        bounds = sure_bounds(
            values, ends, sides[0], sides[1], self.settings.confidence, weights=self.weights
        )
        bounds += doubts / self._totals(values)
        return bounds

    def differences(
        self, pairs: Sequence[Pair], columns: Floats, ends: Floats, p: Floats
    ) -> dict[Pair, Difference]:
        """The differences of (q, len(pairs)) columns, before any correction."""
        above, ties, below = tally(columns)
        if self.weights is not None:  # Student's, which knows of no end
            widths = np.array([_width(metric) for metric, _, _ in pairs])
            ends = np.clip(ends, -widths, widths)
        lower = np.array([self.better[metric] == "lower" for metric, _, _ in pairs], bool)
        n = above + ties + below
        bounds = self._sure(
            [(metric, (first, second)) for metric, first, second in pairs], columns, ends
        )
        numbers = {
            "low": _zeroed(ends[0]),
            "high": _zeroed(ends[1]),
            "sure_low": bounds[0],
            "sure_high": bounds[1],
            "n": n,
            "p": np.where(n, p, np.nan),
            "effect": effect_sizes(columns, self.weights),
            "wins": np.where(lower, below, above),
            "ties": ties,
            "losses": np.where(lower, above, below),
        }
        return {
            pair: self._known(
                Difference(
                    *pair,
                    value=_difference(self._number(pair[0], columns[:, column])),
                    effective=self._effective(columns[:, column]),
                    **{name: plain(values[column]) for name, values in numbers.items()},
                )
            )
            for column, pair in enumerate(pairs)
        }

    def _known(self, difference: Difference) -> Difference:
        """A difference; where one of both is open, without what the known queries alone say."""
        names = (difference.retriever, difference.against)
        if not any(self._open((difference.metric, name)) for name in names):
            return difference
        return replace(difference, value=None, low=None, high=None, p=None, effect=None)

    def column(self, pair: Pair) -> Floats:
        """(q) the values of one retriever minus those of the other."""
        metric, retriever, against = pair
        return _zeroed(self.columns[metric, retriever] - self.columns[metric, against])


@dataclass(frozen=True)
class PairTests:
    """Each two retrievers in each metric, over all queries and within slices.

    Whichever two a report speaks of, the best and the one behind it or any other and the baseline,
    they were picked by their values; so a family has every two.

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
            (metric, first, second)
            for metric in metrics
            for first, second in combinations(self.aligned.retrievers, 2)
        )

    @cached_property
    def flipped(self) -> tuple[list[Flipped], Families]:
        """The tests over all queries, then within each slice; and their families."""
        n, settings = len(self.aligned.query_ids), self.aligned.settings
        if not self.pairs:
            nothing = Flipped(np.empty(0), np.empty(0))
            return [nothing] * (len(self.slices) + 1), Families()
        parts = [np.arange(n), *self.slices]
        families = np.array(
            [
                [self.family(metric, whole=number == 0) for metric, _, _ in self.pairs]
                for number in range(len(parts))
            ]
        )
        tests, flipped_families = paired_tests(
            signed(map(self.aligned.column, self.pairs), self.aligned.weights),
            n,
            parts,
            settings.resamples,
            settings.seed,
            handicap=SLICE_HANDICAP,
            family_of=families,
            n_families=N_FAMILIES,
        )
        return tests, Families(*flipped_families)

    def family(self, metric: str, *, whole: bool) -> int:
        """Which family the tests of a metric belong to, over all queries or in a slice."""
        return family_of(metric, self.aligned.metrics[0], whole=whole)

    @cached_property
    def weaker(self) -> tuple[Floats, Floats, Family]:
        """For each slice whether the leading retriever does as well there: p and statistic.

        By the first metric. NaN where fewer than `FEW` queries have a value, and for what cannot
        be tested.
        """
        aligned, p, z = self.aligned, np.full(len(self.slices), np.nan), np.zeros(len(self.slices))
        metric = aligned.metrics[0]
        testable = metric in aligned.tested and aligned.better[metric] != "neither"
        if not testable or not aligned.retrievers:
            return p, z, NO_FAMILY
        name = aligned.best(self.whole).get(metric, aligned.retrievers[0])
        values = aligned.columns[metric, name]
        present = ~np.isnan(values)
        large = [number for number, rows in enumerate(self.slices) if present[rows].sum() >= FEW]
        if not large:
            return p, z, NO_FAMILY
        sign = -1.0 if aligned.better[metric] == "lower" else 1.0
        tests, family = worse_parts(
            sign * values,
            [self.slices[number] for number in large],
            aligned.settings.resamples,
            aligned.settings.seed,
            handicap=SLICE_HANDICAP,
            weights=aligned.weights,
        )
        p[large], z[large] = tests.p, tests.z
        return p, z, family

    @property
    def families(self) -> Families:
        """All of these tests."""
        slice_families = [NO_FAMILY] * N_FAMILIES
        slice_families[self.family(self.aligned.metrics[0], whole=False)] = self.weaker[2]
        return Families.joined([self.flipped[1], Families(*slice_families)])

    def corrected(self, family_of: Ints, p: Floats, z: Floats, families: Families) -> Floats:
        """The p of some tests of these families as the settings want it."""
        is_corrected = self.aligned.settings.correction == "family"
        return families.adjusted(family_of, p, z) if is_corrected else p

    def p_worse(self, families: Families) -> list[float | None]:
        """For each slice the corrected p of `weaker`."""
        p, z, _ = self.weaker
        family_of = np.full(len(p), self.family(self.aligned.metrics[0], whole=False))
        return [plain(value) for value in self.corrected(family_of, p, z, families)]

    def overall(self, families: Families) -> View:
        """All queries, each test as one of a family."""
        return self._view(self.aligned, self.whole, 0, families)

    def slice(self, number: int, families: Families) -> View:
        """The queries of a slice, each test as one of a family."""
        part = self.aligned.rows(self.slices[number])
        return self._view(part, part.means(), number + 1, families)

    def _view(self, part: Aligned, means: Means, place: int, families: Families) -> View:
        if not part.retrievers:
            return View(len(part.query_ids), {}, {}, ())
        tests = self.flipped[0][place]
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
        number_of = {pair: number for number, pair in enumerate(self.pairs)}
        number_of |= {
            (metric, second, first): number for (metric, first, second), number in number_of.items()
        }
        estimates: dict[str, dict[str, Estimate]] = {name: {} for name in part.retrievers}
        compared: dict[Pair, Difference] = {}
        columns: list[Column | Pair] = [*part.columns, *tested]
        # Whatever stands in a block, means and differences see the same resamples.
        step = max(1, _CELLS // max(len(part.query_ids), 1))
        for block in (columns[start : start + step] for start in range(0, len(columns), step)):
            singles = [column for column in block if len(column) == 2]
            set_against = [pair for pair in block if len(pair) == 3]
            # Row by row in memory, as sums of columns depend on it in their last bits.
            table = np.ascontiguousarray(
                np.stack(
                    [*map(part.finite, singles), *map(part.column, set_against)],
                    axis=1,
                )
            )
            definitions = (known_metric(metric) for metric, _ in singles)
            ranges = [None if metric is None else metric.limits for metric in definitions]
            ranges += [None] * len(set_against)
            resampling = settings.confidence, settings.resamples, settings.seed
            ends = mean_intervals(table, ranges, *resampling, weights=part.weights)
            split = len(singles)
            for (metric, name), estimate in zip(
                singles, part.estimates(singles, table[:, :split], means, ends[:, :split])
            ):
                estimates[name][metric] = estimate
            numbers = [number_of[pair] for pair in set_against]
            p, z = tests.p[numbers], tests.z[numbers]
            rows = part.differences(set_against, table[:, split:], ends[:, split:], p)
            own_family = np.array([self.family(pair[0], whole=not place) for pair in set_against])
            adjusted = self.corrected(own_family, p, z, families)
            for pair, p_adjusted in zip(set_against, adjusted.tolist()):
                compared[pair] = self._decided(rows[pair], p_adjusted)
        untested = (pair for pair in pairs if pair not in compared)
        differences = {pair: part.untested(*pair, estimates) for pair in untested} | compared
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
        return replace(difference, p_adjusted=p_adjusted, verdict=verdict)

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


def _width(metric: str) -> float:
    """How far apart two values of a metric may lie; infinite where nothing bounds them."""
    known_as = known_metric(metric)
    lowest, greatest = (None, None) if known_as is None else known_as.range
    return np.inf if lowest is None or greatest is None else greatest - lowest


def _zeroed(differences: Floats) -> Floats:
    """What differs in its last digits alone does not differ."""
    return np.where(np.abs(differences) <= TOLERANCE, 0.0, differences)


def _difference(value: float | None) -> float | None:
    """The same of one number."""
    return 0.0 if value is not None and abs(value) <= TOLERANCE else value
