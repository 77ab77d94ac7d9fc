"""Metrics at other thresholds than the chosen one, from one scoring."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kragx.evaluation.evidence import GatheredEvidence
from kragx.metrics import MatchTable, MetricSpec, MetricWarning, Profile, compute

Means = dict[str, float | None]
NEIGHBOURHOOD = 0.1
"""How far from the chosen threshold a conclusion should hold, unless told otherwise."""
_STEPS = 4  # thresholds on either side of the chosen one: few, as they take time


def means_at(
    thresholds: Sequence[float],
    table: MatchTable,
    specs: Sequence[MetricSpec],
    profile: Profile,
    evidence: GatheredEvidence | None,
) -> Iterator[tuple[int, Means]]:
    """At each threshold, ascending, how many pairs match and every mean, as `compute` has them."""
    # What a low threshold leaves out no higher one lets in, unless a metric reads scores as such.
    prune = all(spec.metric.from_matches is not None and spec["gain"] != "score" for spec in specs)
    # The same matches give the same values, unless facts are matched at the threshold as well.
    once = evidence is None or not evidence.follows
    before: tuple[int, Means] | None = None
    table = replace(table, votes=None)  # of means alone
    for threshold in thresholds:
        table = replace(table, threshold=threshold)
        count = int(table.matched.sum())
        if prune:
            above = ~(table.pair_score < threshold)  # what is not known stays
            table = table.of_pairs(above)
        if before is None or before[0] != count or not once:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MetricWarning)  # evaluate says them
                seen = None if evidence is None else evidence.decided(table)
                scores = compute(table, specs, profile, seen)
            before = (count, {str(score.spec): score.mean for score in scores})
        yield before


@dataclass(frozen=True)
class Nearby:
    """A retriever's means at thresholds around the chosen one.

    Attributes:
        chosen: the threshold of the evaluation.
        neighbourhood: how far from it was looked.
        thresholds: (t) where, ascending; the chosen one is among them.
        means: for each metric its mean at each of them; None where it has none.
    """

    chosen: float
    neighbourhood: float
    thresholds: tuple[float, ...]
    means: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Nearby:
        """From its plain values."""
        thresholds = tuple(plain["thresholds"])
        means = {name: tuple(values) for name, values in plain["means"].items()}
        if any(len(values) != len(thresholds) for values in means.values()):
            raise ValueError("there is not a mean at each threshold")
        return cls(plain["chosen"], plain["neighbourhood"], thresholds, means)


def neighbours(chosen: float, neighbourhood: float, top: float | None) -> tuple[float, ...]:
    """Thresholds around the chosen one, itself among them; of grades, up to `top`, those next."""
    if top is not None:
        return tuple(grade for grade in (chosen - 1, chosen, chosen + 1) if 1 <= grade <= top)
    grid = chosen + np.linspace(-neighbourhood, neighbourhood, 2 * _STEPS + 1)
    return tuple(sorted({round(float(step), 6) for step in grid if 0 < step <= 1} | {chosen}))
