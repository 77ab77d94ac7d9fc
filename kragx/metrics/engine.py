"""The engine: every metric at every cut-off from one match table, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.errors import DataError
from kragx.metrics import METRICS, MetricSpec
from kragx.metrics.profiles import KRAGX, Profile
from kragx.metrics.table import Bools, Floats, MatchTable
from kragx.metrics.view import View, distinct_cuts


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
    blocks: dict[MetricSpec, _Block] = {}
    pools: dict[float | None, list[Pooled]] = {}

    def view_of(spec: MetricSpec) -> View:
        if spec.rel not in views:
            repeats = profile.duplicates == "count"
            views[spec.rel] = View(table, cuts, spec.rel, count_repeats=repeats)
        return views[spec.rel]

    def block_of(spec: MetricSpec) -> _Block:
        # The same metric at another k is another row of the same block.
        uncut = replace(spec, k=None)
        if uncut not in blocks:
            view = view_of(spec)
            values = METRICS[spec.name].compute(view, uncut)
            values = _apply_no_gold(values, view.empty, table, spec, profile)
            blocks[uncut] = _Block(values, _means(values))
        return blocks[uncut]

    def scores_of(spec: MetricSpec) -> MetricScores:
        view, block, row = view_of(spec), block_of(spec), _row(cuts, spec)
        pooled = None
        if METRICS[spec.name].pooled:
            if spec.rel not in pools:
                scored = ~view.empty if profile.no_gold == "skip" else np.ones_like(view.empty)
                pools[spec.rel] = _pool(view, scored)
            pooled = pools[spec.rel][row]
        mean = block.means[row]
        if spec.macro == "means":
            precision = block_of(replace(spec, name="precision")).means[row]
            recall = block_of(replace(spec, name="recall")).means[row]
            if precision is not None and recall is not None:
                mean = _harmonic(precision, recall)
        return MetricScores(spec, block.values[row], mean, view.empty, pooled)

    return tuple(map(scores_of, specs))


@dataclass(frozen=True)
class _Block:
    """One metric at every cut-off: its (c, q) values, and the mean of each row."""

    values: Floats
    means: list[float | None]


def _row(cuts: Sequence[float], spec: MetricSpec) -> int:
    return cuts.index(np.inf if spec.rank is None else spec.rank)


def _means(values: Floats) -> list[float | None]:
    undefined = np.isnan(values)
    if not undefined.any() and values.shape[1]:
        return [float(mean) for mean in values.mean(axis=1)]
    defined = [row[~missing] for row, missing in zip(values, undefined)]
    return [float(row.mean()) if row.size else None for row in defined]


def _harmonic(precision: float, recall: float) -> float:
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _apply_no_gold(
    values: Floats, empty: Bools, table: MatchTable, spec: MetricSpec, profile: Profile
) -> Floats:
    """(c, q) what becomes of queries without gold; what a view keeps is not written into."""
    if not empty.any():
        return values
    match profile.no_gold:
        case "error":
            raise DataError(
                f"{spec}: {int(empty.sum())} queries have no gold (the first is number "
                f"{int(np.flatnonzero(empty)[0]) + 1}); add gold, or choose no_gold: skip"
            )
        case "skip":
            return np.where(empty, np.nan, values)
        case "zero":
            # Every metric is 0 without gold, or undefined without a relevant document.
            if profile.no_gold_hits and spec.name == "hit_rate" and spec.need == "all":
                return np.where(empty, 1.0, values)
        case "abstain":
            abstained = table.answered & (table.n_docs == 0)
            return np.where(empty & ~np.isnan(values), abstained, values)
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
