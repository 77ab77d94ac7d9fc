"""The engine: every metric at every cut-off from one match table, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.errors import DataError
from kragx.metrics import METRICS, MetricSpec
from kragx.metrics.profiles import KRAGX, Profile
from kragx.metrics.view import View, distinct_cuts
from kragx.table import Bools, Floats, MatchTable


@dataclass(frozen=True)
class Pooled:
    """The four counts of a micro average, over the queries that were scored.

    There is no single count of true positives: one chunk that covers two gold items is one
    relevant document and two found gold items.
    """

    relevant: int
    other: int
    found: int
    missed: int

    def value(self, metric: str) -> float:
        """Micro precision, recall or F1; 0 where there is nothing to divide by."""
        precision = _share(self.relevant, self.other)
        recall = _share(self.found, self.missed)
        if metric == "precision":
            return precision
        if metric == "recall":
            return recall
        return _harmonic(precision, recall)


@dataclass(frozen=True)
class MetricScores:
    """The values of one metric.

    Attributes:
        spec: which metric.
        values: (q) one for each query; NaN where there is none (left out, or undefined).
        mean: the macro average over the queries that have a value; None if none has.
        no_gold: (q) which queries have no gold for this metric.
        pooled: the counts of its micro average, if it has one.
        bounds: what `mean` can become once every score is known; None if all are.
        micro_bounds: the same for the micro average; None also where it is not known.
        micro_estimate: the micro average where scores are not known; `pooled` counts those as no
            matches.
    """

    spec: MetricSpec
    values: Floats
    mean: float | None
    no_gold: Bools
    pooled: Pooled | None
    bounds: tuple[float, float] | None = None
    micro_bounds: tuple[float, float] | None = None
    micro_estimate: float | None = None

    @property
    def n_scored(self) -> int:
        """How many queries have a value, and so are in the mean."""
        return int((~np.isnan(self.values)).sum())

    @property
    def micro(self) -> float | None:
        """The micro average; None for a metric that has none."""
        if self.micro_estimate is not None:
            return self.micro_estimate
        return None if self.pooled is None else self.pooled.value(self.spec.name)


def compute(
    table: MatchTable, specs: Sequence[MetricSpec], profile: Profile = KRAGX
) -> tuple[MetricScores, ...]:
    """Compute each metric for every query.

    Args:
        table: the matches of q queries.
        specs: the metrics.
        profile: says what becomes of queries without gold and of repeated documents; what the
            metrics mean is in the specs.

    Raises:
        DataError: a query has no gold and the profile refuses it; or a gain is not finite.
    """
    if table.has_unknown:
        from kragx.metrics.bounds import bounded

        return bounded(table, specs, profile, compute)
    cuts = distinct_cuts(spec.rank for spec in specs)
    views: dict[float | None, View] = {}
    blocks: dict[MetricSpec, Floats] = {}
    pools: dict[float | None, list[Pooled]] = {}

    def view_of(spec: MetricSpec) -> View:
        if spec.rel not in views:
            repeats = profile.duplicates == "count"
            views[spec.rel] = View(table, cuts, spec.rel, count_repeats=repeats)
        return views[spec.rel]

    def values_of(spec: MetricSpec) -> Floats:
        # The same metric at another k is another row of the same block.
        uncut = replace(spec, k=None)
        if uncut not in blocks:
            blocks[uncut] = METRICS[spec.name].compute(view_of(spec), uncut)
        values = blocks[uncut][_row(cuts, spec)].copy()
        return _apply_no_gold(values, view_of(spec).n_gold == 0, table, spec, profile)

    def scores_of(spec: MetricSpec) -> MetricScores:
        view, values = view_of(spec), values_of(spec)
        empty = view.n_gold == 0
        pooled = None
        if METRICS[spec.name].pooled:
            if spec.rel not in pools:
                scored = ~empty if profile.no_gold == "skip" else np.ones_like(empty)
                pools[spec.rel] = _pool(view, scored)
            pooled = pools[spec.rel][_row(cuts, spec)]
        mean = _mean(values)
        if spec.macro == "means":
            precision = _mean(values_of(replace(spec, name="precision")))
            recall = _mean(values_of(replace(spec, name="recall")))
            if precision is not None and recall is not None:
                mean = _harmonic(precision, recall)
        return MetricScores(spec, values, mean, empty, pooled)

    return tuple(map(scores_of, specs))


def _row(cuts: Sequence[float], spec: MetricSpec) -> int:
    return cuts.index(np.inf if spec.rank is None else spec.rank)


def _mean(values: Floats) -> float | None:
    undefined = np.isnan(values)
    defined = values[~undefined] if undefined.any() else values
    return float(defined.mean()) if defined.size else None


def _harmonic(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _apply_no_gold(
    values: Floats, empty: Bools, table: MatchTable, spec: MetricSpec, profile: Profile
) -> Floats:
    if not empty.any():
        return values
    match profile.no_gold:
        case "error":
            raise DataError(
                f"{spec}: {int(empty.sum())} queries have no gold (the first is number "
                f"{int(np.flatnonzero(empty)[0]) + 1}); add gold, or choose no_gold: skip"
            )
        case "skip":
            values[empty] = np.nan
        case "zero":
            # Every metric is 0 without gold, or undefined without a relevant document.
            if profile.no_gold_hits and spec.name == "hit_rate" and spec.need == "all":
                values[empty] = 1.0
        case "abstain":
            abstained = table.answered & (table.n_docs == 0)
            values[empty & ~np.isnan(values)] = abstained[empty & ~np.isnan(values)]
    return values


def _pool(view: View, scored: Bools) -> list[Pooled]:
    """The four counts at each cut-off, over the queries that are scored."""
    gold = int(view.n_gold[scored].sum())
    sums = (
        block[:, scored].sum(axis=1, dtype=np.int64).tolist()
        for block in (view.relevant, view.depth, view.found)
    )
    return [
        Pooled(relevant=relevant, other=depth - relevant, found=found, missed=gold - found)
        for relevant, depth, found in zip(*sums, strict=True)
    ]


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 0.0
