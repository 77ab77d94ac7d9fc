"""Each two of the retrievers tested, over all queries and in slices, and the views of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isclose

import numpy as np

from kragx.comparison.aligned import Aligned, Key, Means, Pair
from kragx.comparison.comparison import FEW, View
from kragx.comparison.estimates import (
    N_FAMILIES,
    Difference,
    Estimate,
    Families,
    Leader,
    definition_of,
    family_of,
)
from kragx.comparison.statistics import (
    NO_FAMILY,
    TOLERANCE,
    Family,
    Flipped,
    Rows,
    mean_intervals,
    paired_tests,
    worse_parts,
)
from kragx.comparison.statistics.evidence import signed
from kragx.ground.json_values import to_jsonable
from kragx.metrics import Floats, Ints

SLICE_HANDICAP = 0.5
"""By so many standard errors more than the whole a slice has to differ: then looking at slices
costs the other metrics over all questions next to nothing, though all are one family."""


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
        return tuple(
            (metric, first, second)
            for metric in self.aligned.metrics
            if metric in self.aligned.tested
            for first, second in combinations(self.aligned.retrievers, 2)
        )

    @cached_property
    def flipped(self) -> tuple[list[Flipped], Families]:
        """The tests over all queries, then within each slice; and their families."""
        n, settings = len(self.aligned.query_ids), self.aligned.settings
        if not self.pairs:
            return [], Families()
        # Part 0 is all queries, and the first metric there alone is the question that was asked.
        parts = [np.arange(n), *self.slices]
        metrics = [metric for metric, _, _ in self.pairs]
        tests, families = paired_tests(
            signed(map(self.aligned.gains, self.pairs), self.aligned.weights),
            n,
            parts,
            settings.resamples,
            settings.seed,
            handicap=SLICE_HANDICAP,
            family_of=np.array([self._families_of(metrics, place) for place in range(len(parts))]),
            n_families=N_FAMILIES,
        )
        return tests, Families(*families)

    def _families_of(self, metrics: Iterable[str], place: int) -> Ints:
        """Which family the tests of metrics belong to, over all queries (0) or in a slice."""
        first = self.aligned.metrics[0]
        return np.array([family_of(metric, first, whole=not place) for metric in metrics])

    @cached_property
    def weaker(self) -> tuple[Floats, Floats, Family]:
        """For each slice whether the leading retriever does as well there: p and statistic.

        By the first metric. NaN where fewer than `FEW` queries have a value, and for what cannot
        be tested.
        """
        aligned, p, z = self.aligned, np.full(len(self.slices), np.nan), np.zeros(len(self.slices))
        metric, settings = aligned.metrics[0], aligned.settings
        better = aligned.better[metric]
        if metric not in aligned.tested or better == "neither" or not aligned.retrievers:
            return p, z, NO_FAMILY
        # The leader over all queries: who leads within a slice was picked by that slice.
        name = aligned.best(self.whole).get(metric, aligned.retrievers[0])
        values = aligned.columns[metric, name].values
        scored = [(~np.isnan(values[rows])).sum() for rows in self.slices]
        large = [number for number, n in enumerate(scored) if n >= FEW]
        if not large:
            return p, z, NO_FAMILY
        tests, family = worse_parts(
            -values if better == "lower" else values,
            [self.slices[number] for number in large],
            settings.resamples,
            settings.seed,
            handicap=SLICE_HANDICAP,
            weights=aligned.weights,
        )
        p[large], z[large] = tests.p, tests.z
        return p, z, family

    @property
    def families(self) -> Families:
        """All of these tests."""
        of_slices = [NO_FAMILY] * N_FAMILIES
        of_slices[self._families_of(self.aligned.metrics[:1], 1)[0]] = self.weaker[2]
        return Families.joined([self.flipped[1], Families(*of_slices)])

    def _corrected(self, family_of: Ints, p: Floats, z: Floats, families: Families) -> Floats:
        """The p of some tests of these families as the settings want it."""
        is_corrected = self.aligned.settings.correction == "family"
        return families.adjusted(family_of, p, z) if is_corrected else p

    def p_worse(self, families: Families) -> list[float | None]:
        """For each slice the corrected p of `weaker`."""
        p, z, _ = self.weaker
        families_of = self._families_of(self.aligned.metrics[:1] * len(p), 1)
        plain: list[float | None] = to_jsonable(self._corrected(families_of, p, z, families))
        return plain

    def view(self, families: Families, place: int = 0) -> View:
        """All queries (0), or those of a slice, each test as one of a family."""
        part = self.aligned if not place else self.aligned.rows(self.slices[place - 1])
        means = part.means() if place else self.whole
        if not part.retrievers:
            return View(len(part.query_ids), {}, {}, ())
        best = part.best(means)
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
        # The best against the baseline stands in both lists, and is measured once.
        pairs = dict.fromkeys(to_baseline + to_best)
        tested = [pair for pair in pairs if pair[0] in part.tested]
        estimates, differences = self._measured(part, means, tested, place, families)
        differences |= {
            pair: part.untested(pair, estimates) for pair in pairs if pair not in differences
        }
        return View(
            n=len(part.query_ids),
            means={
                name: {metric: estimates[metric, name] for metric in part.metrics}
                for name in part.retrievers
            },
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

    def _measured(
        self, part: Aligned, means: Means, pairs: Sequence[Pair], place: int, families: Families
    ) -> tuple[dict[Key, Estimate], dict[Pair, Difference]]:
        """The means and the differences with their intervals, of the same resamples."""
        keys = [*part.columns]
        # What was never found cannot be averaged.
        values = (part.columns[key].values for key in keys)
        finite = [np.where(np.isinf(column), np.nan, column) for column in values]
        # Row by row in memory, as sums of columns depend on it in their last bits.
        table = np.ascontiguousarray(np.stack([*finite, *map(part.gains, pairs)], axis=1))
        ranges = [definition_of(metric).limits for metric, _ in keys] + [None] * len(pairs)
        ends = mean_intervals(table, ranges, *part.settings.resampling, weights=part.weights)
        split = len(keys)
        estimates = part.estimates(keys, table[:, :split], means, ends[:, :split])
        if not pairs:
            return estimates, {}
        tests, numbers = self.flipped[0][place], [self._test_of[pair] for pair in pairs]
        p, families_of = (
            tests.p[numbers],
            self._families_of((metric for metric, *_ in pairs), place),
        )
        p_adjusted = self._corrected(families_of, p, tests.z[numbers], families)
        return estimates, part.differences(pairs, table[:, split:], ends[:, split:], p, p_adjusted)

    @cached_property
    def _test_of(self) -> Mapping[Pair, int]:
        """The test of two, whichever of both is the first."""
        turned = [(metric, second, first) for metric, first, second in self.pairs]
        return {pair: number for pairs in (self.pairs, turned) for number, pair in enumerate(pairs)}


def _as_good(means: Means, metric: str, best: str) -> tuple[str, ...]:
    """The retrievers that have the best value; sums of fractions differ in their last bits."""
    values = {name: of_retriever[metric] for name, of_retriever in means.items()}
    top = values[best] or 0.0
    return tuple(
        name
        for name, value in values.items()
        if value is not None and isclose(value, top, abs_tol=TOLERANCE)
    )
