"""The arithmetic of a comparison: values of several retrievers, row by row, and a view of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.comparison.comparison import Settings
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import effect_sizes, holm, mean_intervals, sign_flip_p, tally
from kragx.comparison.view import Difference, Direction, Estimate, Leader, Verdict, View
from kragx.errors import UsageError
from kragx.metrics import Floats, known_metric
from kragx.plain import plain

Means = Mapping[str, Mapping[str, float | None]]
Pair = tuple[str, str, str]
"""Metric, retriever, and the one it is set against."""


@dataclass(frozen=True)
class Aligned:
    """Values of several retrievers, row by row for the same queries.

    Attributes:
        query_ids: (q).
        metrics: (c) all of them.
        tested: those whose number is the mean of the queries' values.
        better: for each metric its direction.
        values: for each retriever (q, c).
    """

    query_ids: tuple[str, ...]
    metrics: tuple[str, ...]
    tested: frozenset[str]
    better: Mapping[str, Direction]
    values: Mapping[str, Floats]

    @classmethod
    def of(
        cls, scores: Sequence[RetrieverScores], metrics: Sequence[str], cautions: list[str]
    ) -> Aligned:
        """Join by query id; what not all have is left out, and `cautions` says so.

        Raises:
            UsageError: no query is common to all.
        """
        others = [set(own.query_ids) for own in scores[1:]]
        shared = tuple(
            query_id for query_id in scores[0].query_ids if all(query_id in ids for ids in others)
        )
        if not shared:
            raise UsageError("the evaluations have no query in common; queries join by id")
        if left_out := max(len(own.query_ids) for own in scores) - len(shared):
            cautions.append(f"queries that not all have, left out of the comparison: {left_out}")
        return cls(
            query_ids=shared,
            metrics=tuple(metrics),
            tested=frozenset(
                metric for metric in metrics if all(own.is_mean(metric) for own in scores)
            ),
            better={metric: scores[0].better[metric] for metric in metrics},
            values={own.name: own.table(metrics, shared) for own in scores},
        )

    def rows(self, rows: Sequence[int]) -> Aligned:
        """The same for some of the queries."""
        return replace(
            self,
            query_ids=tuple(self.query_ids[row] for row in rows),
            values={name: values[list(rows)] for name, values in self.values.items()},
        )

    def means(self) -> Means:
        """For each retriever each metric's number; None for what is not made of these values."""
        return {
            name: {
                metric: self._number(metric, column)
                for metric, column in zip(self.metrics, table.T)
            }
            for name, table in self.values.items()
        }

    def _number(self, metric: str, values: Floats) -> float | None:
        if metric in self.tested:
            return _mean(values)
        known_as, known = known_metric(metric), values[~np.isnan(values)]
        if known_as is None or known_as.is_mean or not known.size:
            return None
        return known_as.number(known)

    def view(self, baseline: str, settings: Settings, means: Means) -> View:
        """Compare on these rows.

        Args:
            baseline: a retriever.
            settings: of the statistics.
            means: the numbers to show: those of the evaluations, or of some queries `means()`.
        """
        best = self._best(means)
        others = [name for name in self.values if name != baseline]
        to_baseline = [(metric, name, baseline) for metric in self.metrics for name in others]
        to_best = [
            (metric, top, name)
            for metric, top in best.items()
            for name in self.values
            if name != top and means[name][metric] is not None
        ]
        pairs = list(dict.fromkeys(to_baseline + to_best))
        tested = [pair for pair in pairs if pair[0] in self.tested]
        # One table of columns, so that means and differences see the same resamples.
        own = np.hstack(list(self.values.values()))
        compared = [
            self.values[retriever][:, [column]] - self.values[against][:, [column]]
            for metric, retriever, against in tested
            for column in [self.metrics.index(metric)]
        ]
        columns = np.hstack([own, *compared])
        ends = mean_intervals(columns, settings.confidence, settings.resamples, settings.seed)
        estimates = self._estimates(columns, ends, means)
        differences = {pair: _untested(*pair, estimates) for pair in pairs}
        first = own.shape[1]
        differences |= self._tested(tested, columns[:, first:], ends[:, first:], settings)
        to_others = self._decided([differences[pair] for pair in to_best], settings)
        return View(
            n=len(self.query_ids),
            means=estimates,
            leaders={
                metric: self._leader(
                    metric, top, tuple(own for own in to_others if own.metric == metric)
                )
                for metric, top in best.items()
            },
            differences=self._decided([differences[pair] for pair in to_baseline], settings),
        )

    def _best(self, means: Means) -> dict[str, str]:
        """For each metric the first retriever with the best value."""
        best: dict[str, str] = {}
        for metric in self.metrics:
            known = [name for name in self.values if means[name][metric] is not None]
            if len(known) > 1 and self.better[metric] != "neither":
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(known, key=lambda name: means[name][metric] or 0.0)
        return best

    def _estimates(
        self, columns: Floats, ends: Floats, means: Means
    ) -> dict[str, dict[str, Estimate]]:
        """The means with the intervals of their columns: retriever by retriever its metrics."""
        # Where the queries' values do not make a metric's number, their interval is none of it.
        tested = np.tile([metric in self.tested for metric in self.metrics], len(self.values))
        own = np.where(tested, ends[:, : len(tested)], np.nan).T.tolist()
        columns_of_all = iter(zip(own, (~np.isnan(columns)).sum(axis=0).tolist()))
        return {
            name: {
                metric: Estimate(means[name][metric], plain(low), plain(high), n)
                for metric, ((low, high), n) in zip(self.metrics, columns_of_all)
            }
            for name in self.values
        }

    def _tested(
        self, pairs: Sequence[Pair], columns: Floats, ends: Floats, settings: Settings
    ) -> dict[Pair, Difference]:
        """The differences of (q, len(pairs)) columns, before any correction."""
        p = sign_flip_p(columns, settings.resamples, settings.seed)
        above, ties, below = tally(columns)
        lower = np.array([self.better[metric] == "lower" for metric, _, _ in pairs], bool)
        n = above + ties + below
        numbers = {
            "low": ends[0],
            "high": ends[1],
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
                value=_mean(columns[:, column]),
                **{name: plain(values[column]) for name, values in numbers.items()},
            )
            for column, pair in enumerate(pairs)
        }

    def _decided(
        self, differences: Sequence[Difference], settings: Settings
    ) -> tuple[Difference, ...]:
        """A family of differences: p corrected, and what each says."""
        p = np.array([difference.p for difference in differences], float)  # None becomes NaN
        adjusted = map(plain, holm(p) if settings.correction == "holm" else p)
        return tuple(
            replace(
                difference,
                p_adjusted=p_adjusted,
                verdict=self._verdict(difference, p_adjusted, settings),
            )
            for difference, p_adjusted in zip(differences, adjusted)
        )

    def _verdict(self, difference: Difference, p: float | None, settings: Settings) -> Verdict:
        low, high = difference.low, difference.high
        if p is None:
            return "untested"
        if p > settings.alpha or low is None or high is None or low <= 0 <= high:
            return "undecided"
        better = self.better[difference.metric]
        if better == "neither":
            return "different"
        return "better" if (low > 0) == (better == "higher") else "worse"

    def _leader(self, metric: str, best: str, to_others: tuple[Difference, ...]) -> Leader:
        tested = metric in self.tested
        tied = tuple(
            other.against
            for other in to_others
            if (not other.decided if tested else other.value == 0)
        )
        return Leader(metric, best, tied, to_others, tested)


def _untested(
    metric: str,
    retriever: str,
    against: str,
    estimates: Mapping[str, Mapping[str, Estimate]],
) -> Difference:
    """Two numbers of runs, which are compared as they stand."""
    one, other = estimates[retriever][metric], estimates[against][metric]
    value = None if one.value is None or other.value is None else one.value - other.value
    return Difference(metric, retriever, against, value, n=min(one.n, other.n))


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
