"""Metrics and measures of one match table, and the counts that depend on them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kragx.metrics import Budget, MetricSpec, Profile, measures, parse_all
from kragx.metrics.engine import MetricScores, compute
from kragx.metrics.measures import Evidence, MeasureScores, MeasureSpec, parse, parse_lists
from kragx.metrics.table import MatchTable

_COUNTS = ("metrics", "pooled", "measures")


class MetricWarning(UserWarning):
    """A number is not what it seems, because the profile reproduces another tool."""


@dataclass(frozen=True)
class Wanted:
    """What is to be computed.

    Attributes:
        metrics: computed from the match table.
        measures: computed from documents as well.
        order: canonical names of both, in the order asked for; empty for metrics first.
    """

    metrics: tuple[MetricSpec, ...]
    measures: tuple[MeasureSpec, ...]
    order: tuple[str, ...] = ()

    @property
    def looks(self) -> tuple[MetricSpec | MeasureSpec, ...]:
        """Those that look at documents: measures, and metrics of lists cut at a budget."""
        return (*self.measures, *(each for each in self.metrics if isinstance(each.k, Budget)))

    @property
    def names(self) -> list[str]:
        """Canonical names in order."""
        return list(self.order) or [str(spec) for spec in (*self.metrics, *self.measures)]

    def replaced(self, metrics: Sequence[MetricSpec]) -> Wanted:
        """The same with other options of each metric, in the same places."""
        names = dict(zip(map(str, self.metrics), map(str, metrics)))
        order = tuple(names.get(name, name) for name in self.order)
        return Wanted(tuple(metrics), self.measures, order)


def wanted(metrics: Iterable[str | MetricSpec | MeasureSpec] | None, profile: Profile) -> Wanted:
    """Read a list of metrics and measures; it may hold either kind alone."""
    given = None if metrics is None else list(metrics)
    listed, measured = parse_lists(given, profile)
    found = () if measured and not listed else parse_all(listed, profile)
    asked = [str(parse(each, profile)) for each in given or ()]
    return Wanted(found, measured, tuple(dict.fromkeys(asked)))


@dataclass(frozen=True)
class Measured:
    """What was computed: one `MetricScores` or `MeasureScores` for each that was wanted."""

    metrics: tuple[MetricScores, ...]
    measures: tuple[MeasureScores, ...]

    @property
    def means(self) -> dict[str, float | None]:
        """The mean of each by its canonical name."""
        means = {str(each.spec): each.mean for each in self.metrics}
        return means | {str(each.spec): each.mean for each in self.measures}

    def counted(self, counts: Mapping[str, Any]) -> dict[str, Any]:
        """Counts of a run with those of single metrics.

        ``metrics``: where they differ from the whole; ``pooled``: what micro averages are made of;
        ``measures``: how many queries each measure has a value for.
        """
        found = {name: count for name, count in counts.items() if name not in _COUNTS}
        usual = {"n_scored": counts["n_scored"], "n_no_gold": counts["n_no_gold"]}
        of_metrics = {
            str(each.spec): {"n_scored": each.n_scored, "n_no_gold": int(each.no_gold.sum())}
            for each in self.metrics
        }
        own = {
            "metrics": {name: count for name, count in of_metrics.items() if count != usual},
            "pooled": {str(each.spec): asdict(each.pooled) for each in self.metrics if each.pooled},
            "measures": {str(each.spec): each.n_scored for each in self.measures},
        }
        return found | {name: count for name, count in own.items() if count}


def measure(
    table: MatchTable, wanted: Wanted, profile: Profile, evidence: Evidence | None
) -> Measured:
    """Compute what is wanted; `evidence` may be None if nothing `looks` at documents."""
    scores = _scores(table, wanted.metrics, profile, evidence)
    for each in scores:
        above = int((each.values > 1.0 + 1e-12).sum())
        if above:
            warnings.warn(
                f"{each.spec} is above 1 for {above} queries: it credits every matching document, "
                "also several that match the same gold (profile kragx credits each gold once)",
                MetricWarning,
                stacklevel=3,
            )
    return Measured(scores, measures.compute(evidence, wanted.measures) if evidence else ())


def _scores(
    table: MatchTable, specs: Sequence[MetricSpec], profile: Profile, evidence: Evidence | None
) -> tuple[MetricScores, ...]:
    """Compute the metrics; at a budget, those of the lists that are cut there, uncut."""
    budgets = dict.fromkeys(spec.k for spec in specs if isinstance(spec.k, Budget))
    if not budgets:
        return compute(table, specs, profile)
    assert evidence is not None  # kept because there are budgets
    ranks = [spec for spec in specs if not isinstance(spec.k, Budget)]
    found = dict(zip(ranks, compute(table, ranks, profile)))
    for budget in budgets:
        part = [spec for spec in specs if spec.k == budget]
        uncut = [replace(spec, k=None) for spec in part]
        computed = compute(evidence.within(budget).table, uncut, profile)
        found |= {spec: replace(each, spec=spec) for spec, each in zip(part, computed)}
    return tuple(found[spec] for spec in specs)
