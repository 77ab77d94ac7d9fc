"""The engine: every metric at every cut-off from one match table, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.errors import DataError
from kragx.metrics import METRICS, MetricSpec
from kragx.metrics.profiles import NoGold
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
        total = precision + recall
        return 2 * precision * recall / total if total else 0.0


@dataclass(frozen=True)
class MetricScores:
    """The values of one metric.

    Attributes:
        spec: which metric.
        values: (q) one for each query; NaN where there is none (left out, or undefined).
        no_gold: (q) which queries have no gold for this metric.
        pooled: the counts of its micro average, if it has one.
    """

    spec: MetricSpec
    values: Floats
    no_gold: Bools
    pooled: Pooled | None

    @property
    def n_scored(self) -> int:
        """How many queries have a value, and so are in the mean."""
        return int((~np.isnan(self.values)).sum())

    @property
    def mean(self) -> float | None:
        """The macro average over the queries that have a value; None if none has."""
        defined = ~np.isnan(self.values)
        return float(self.values[defined].mean()) if defined.any() else None

    @property
    def micro(self) -> float | None:
        """The micro average; None for a metric that has none."""
        return None if self.pooled is None else self.pooled.value(self.spec.name)


def compute(
    table: MatchTable, specs: Sequence[MetricSpec], no_gold: NoGold = "skip"
) -> tuple[MetricScores, ...]:
    """Compute each metric for every query.

    Args:
        table: the matches of q queries.
        specs: the metrics.
        no_gold: what becomes of a query without gold (see `Profile`).

    Raises:
        DataError: a query has no gold and `no_gold` is ``error``; or a gain is not finite.
    """
    cuts = distinct_cuts(spec.k for spec in specs)
    views: dict[float | None, View] = {}
    blocks: dict[MetricSpec, Floats] = {}
    results: list[MetricScores] = []
    for spec in specs:
        if spec.rel not in views:
            views[spec.rel] = View(table, cuts, spec.rel)
        view = views[spec.rel]
        # The same metric at another k is another column of the same block.
        uncut = replace(spec, k=None)
        if uncut not in blocks:
            blocks[uncut] = METRICS[spec.name].compute(view, uncut)
        column = cuts.index(np.inf if spec.k is None else spec.k)
        empty = view.n_gold == 0
        values = _apply_no_gold(blocks[uncut][:, column].copy(), empty, table, spec, no_gold)
        pooled = None
        if METRICS[spec.name].pooled:
            pooled = _pool(view, column, ~empty if no_gold == "skip" else np.ones_like(empty))
        results.append(MetricScores(spec, values, empty, pooled))
    return tuple(results)


def _apply_no_gold(
    values: Floats, empty: Bools, table: MatchTable, spec: MetricSpec, no_gold: NoGold
) -> Floats:
    if not empty.any():
        return values
    match no_gold:
        case "error":
            raise DataError(
                f"{spec}: {int(empty.sum())} queries have no gold (the first is number "
                f"{int(np.flatnonzero(empty)[0]) + 1}); add gold, or choose no_gold: skip"
            )
        case "skip":
            values[empty] = np.nan
        case "zero":
            pass  # every metric is 0 without gold, or undefined without a relevant document
        case "abstain":
            abstained = table.answered & (table.n_docs == 0)
            values[empty & ~np.isnan(values)] = abstained[empty & ~np.isnan(values)]
    return values


def _pool(view: View, column: int, scored: Bools) -> Pooled:
    relevant = int(view.relevant[scored, column].sum())
    found = int(view.found[scored, column].sum())
    return Pooled(
        relevant=relevant,
        other=int(view.depth[scored, column].sum()) - relevant,
        found=found,
        missed=int(view.n_gold[scored].sum()) - found,
    )


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 0.0
