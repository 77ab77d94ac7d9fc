"""A retriever's means at thresholds around the chosen one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kragx.metrics import MetricWarning

Evaluation = Any
"""`kragx.evaluation.evaluation.Evaluation`, whose module imports this one."""

_NEIGHBOURHOOD = 0.1
"""How far from the chosen threshold a conclusion should hold."""

_STEPS = 4  # thresholds on either side of the chosen one: few, as they take time


@dataclass(frozen=True)
class Nearby:
    """A retriever's means at thresholds around the chosen one.

    Attributes:
        chosen: the threshold of the evaluation.
        thresholds: (t) where, ascending; the chosen one is among them.
        means: for each metric its mean at each of them; None where it has none.
    """

    chosen: float
    thresholds: tuple[float, ...]
    means: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Nearby:
        """From its plain values."""
        thresholds = tuple(record["thresholds"])
        means = {name: tuple(values) for name, values in record["means"].items()}
        if any(len(values) != len(thresholds) for values in means.values()):
            raise ValueError("there is not a mean at each threshold")
        return cls(record["chosen"], thresholds, means)


def means_nearby(evaluation: Evaluation) -> Nearby | None:
    """The means at thresholds near the chosen one; None where there is nothing to vary."""
    match = evaluation.settings["match"]
    if "threshold" not in match or "pool" in evaluation.settings or evaluation.unanswered:
        return None
    threshold, top = float(match["threshold"]), match.get("top")
    grid = threshold + np.linspace(-_NEIGHBOURHOOD, _NEIGHBOURHOOD, 2 * _STEPS + 1)
    # Rounded, lest people read 0.44999999999999996; the threshold itself stays to the last bit.
    near = {round(float(step), 6) for step in grid if 0 < step <= 1} | {threshold}
    if top is not None:  # of grades those next
        near = {grade for grade in (threshold - 1, threshold, threshold + 1) if 1 <= grade <= top}
    thresholds = tuple(sorted(near))
    rows = [means for _, means in means_at(evaluation, thresholds)]
    columns = {name: tuple(means[name] for means in rows) for name in evaluation.mean}
    return Nearby(threshold, thresholds, columns)


def means_at(
    evaluation: Evaluation, thresholds: Iterable[float]
) -> Iterator[tuple[int, dict[str, float | None]]]:
    """At each threshold, ascending, how many pairs match, and the means by metric."""
    runs = evaluation.runs or (evaluation,)
    # The same matches give the same values, unless facts are matched at the threshold as well.
    follows = any(run.evidence is not None and run.evidence.follows for run in runs)
    n_before, means = -1, dict[str, float | None]()
    for threshold in sorted(thresholds):
        # Of documents of all searches.
        tables = (run.table if run.searches is None else run.searches.table for run in runs)
        n = sum(int(replace(table, threshold=threshold).matched.sum()) for table in tables)
        if n != n_before or follows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MetricWarning)  # evaluate says them
                n_before, means = n, evaluation.at_threshold(threshold).mean
        yield n, means
