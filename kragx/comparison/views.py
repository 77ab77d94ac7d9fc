"""The arithmetic of a comparison: values of several retrievers, row by row, and a view of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from kragx.comparison.comparison import Settings
from kragx.comparison.estimate import Difference, Estimate, Verdict
from kragx.comparison.scored import Scored
from kragx.comparison.statistics import effect_sizes, holm, mean_intervals, sign_flip_p, tally
from kragx.comparison.view import Leader, View
from kragx.errors import UsageError
from kragx.metrics.measures import summary_of
from kragx.metrics.table import Floats

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
    better: Mapping[str, str]
    values: Mapping[str, Floats]

    @classmethod
    def of(cls, scored: Sequence[Scored], metrics: Sequence[str], cautions: list[str]) -> Aligned:
        """Join by query id; what not all have is left out, and `cautions` says so.

        Raises:
            UsageError: no query is common to all.
        """
        rows = [{query_id: row for row, query_id in enumerate(s.query_ids)} for s in scored]
        shared = tuple(each for each in rows[0] if all(each in other for other in rows[1:]))
        if not shared:
            raise UsageError("the evaluations have no query in common; queries join by id")
        left_out = max(map(len, rows)) - len(shared)
        if left_out:
            cautions.append(f"queries that not all have, left out of the comparison: {left_out}")
        values = {
            each.name: np.stack([each.values[name] for name in metrics], axis=1)[
                [at[query_id] for query_id in shared]
            ]
            for each, at in zip(scored, rows)
        }
        tested = frozenset(name for name in metrics if all(s.is_mean(name) for s in scored))
        better = {name: scored[0].better[name] for name in metrics}
        return cls(shared, tuple(metrics), tested, better, values)

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
        summary, known = summary_of(metric), values[~np.isnan(values)]
        return summary(known) if summary is not None and known.size else None

    def view(self, baseline: str, settings: Settings, means: Means) -> View:
        """Compare on these rows.

        Args:
            baseline: a retriever.
            settings: of the statistics.
            means: the numbers to show: those of the evaluations, or of some queries `means()`.
        """
        best = self._best(means)
        others = [name for name in self.values if name != baseline]
        against_baseline = [(metric, name, baseline) for metric in self.metrics for name in others]
        against_best = [
            (metric, top, name)
            for metric, top in best.items()
            for name in self.values
            if name != top and means[name][metric] is not None
        ]
        # One table of columns, so that means and differences see the same resamples.
        own = [(metric, name) for name in self.values for metric in self.metrics]
        pairs = list(dict.fromkeys(against_baseline + against_best))
        tested = [pair for pair in pairs if pair[0] in self.tested]
        columns = np.stack(
            [self._column(name, metric) for metric, name in own]
            + [
                self._column(one, metric) - self._column(other, metric)
                for metric, one, other in tested
            ],
            axis=1,
        )
        ends = mean_intervals(columns, settings.confidence, settings.resamples, settings.seed)
        estimates: dict[str, dict[str, Estimate]] = {name: {} for name in self.values}
        for at, (metric, name) in enumerate(own):
            low, high = map(_known, ends[:, at]) if metric in self.tested else (None, None)
            n = int((~np.isnan(columns[:, at])).sum())
            estimates[name][metric] = Estimate(means[name][metric], low, high, n)
        found = {pair: _untested(*pair, estimates) for pair in pairs}
        found |= self._tested(tested, columns[:, len(own) :], ends[:, len(own) :], settings)
        to_best = self._decided([found[pair] for pair in against_best], settings)
        return View(
            n=len(self.query_ids),
            means=estimates,
            leaders=self._leaders(best, to_best, means),
            differences=self._decided([found[pair] for pair in against_baseline], settings),
        )

    def _column(self, name: str, metric: str) -> Floats:
        column: Floats = self.values[name][:, self.metrics.index(metric)]
        return column

    def _best(self, means: Means) -> dict[str, str]:
        """For each metric the first retriever with the best value."""
        best: dict[str, str] = {}
        for metric in self.metrics:
            known = [name for name in self.values if means[name][metric] is not None]
            if len(known) > 1 and self.better[metric] != "neither":
                top = max if self.better[metric] == "higher" else min
                best[metric] = top(known, key=lambda name: means[name][metric] or 0.0)
        return best

    def _tested(
        self, pairs: Sequence[Pair], columns: Floats, ends: Floats, settings: Settings
    ) -> dict[Pair, Difference]:
        """The differences of (q, len(pairs)) columns, before any correction."""
        p = sign_flip_p(columns, settings.resamples, settings.seed)
        effects = effect_sizes(columns)
        above, equal, below = tally(columns)
        found = {}
        for at, pair in enumerate(pairs):
            metric, retriever, against = pair
            n = int(above[at] + equal[at] + below[at])
            wins, losses = int(above[at]), int(below[at])
            if self.better[metric] == "lower":
                wins, losses = losses, wins
            found[pair] = Difference(
                metric=metric,
                retriever=retriever,
                against=against,
                value=_mean(columns[:, at]),
                low=_known(ends[0, at]),
                high=_known(ends[1, at]),
                n=n,
                p=float(p[at]) if n else None,
                effect=_known(effects[at]),
                wins=wins,
                ties=int(equal[at]),
                losses=losses,
            )
        return found

    def _decided(
        self, differences: Sequence[Difference], settings: Settings
    ) -> tuple[Difference, ...]:
        """A family of differences: p corrected, and what each says."""
        p = np.array([np.nan if each.p is None else each.p for each in differences])
        adjusted = map(_known, holm(p) if settings.correction == "holm" else p)
        return tuple(
            replace(each, p_adjusted=own, verdict=self._verdict(each, own, settings))
            for each, own in zip(differences, adjusted)
        )

    def _verdict(self, found: Difference, p: float | None, settings: Settings) -> Verdict:
        if p is None:
            return "untested"
        if p > settings.alpha or found.low is None or found.high is None:
            return "undecided"
        if found.low <= 0 <= found.high:
            return "undecided"
        if self.better[found.metric] == "neither":
            return "different"
        return "better" if (found.low > 0) == (self.better[found.metric] == "higher") else "worse"

    def _leaders(
        self, best: Mapping[str, str], differences: Sequence[Difference], means: Means
    ) -> dict[str, Leader]:
        leaders = {}
        for metric, top in best.items():
            own = tuple(each for each in differences if each.metric == metric)
            tested = metric in self.tested
            tied = tuple(
                each.against
                for each in own
                if (
                    not each.decided
                    if tested
                    else means[each.against][metric] == means[top][metric]
                )
            )
            leaders[metric] = Leader(metric, top, tied, own, tested)
        return leaders


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


def _known(value: float) -> float | None:
    return None if isnan(value) else float(value)
