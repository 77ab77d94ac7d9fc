"""How settings are held against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kragx.comparison import direction
from kragx.comparison.scores import interval_kind
from kragx.comparison.statistics import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    Behind,
    Interval,
    behind_best,
    mean_intervals,
)
from kragx.comparison.statistics.weighted import column_means
from kragx.metrics import Floats, parse
from kragx.metrics.intervals import with_exact_limits


@dataclass(frozen=True)
class Rules:
    """How settings are held against each other.

    Attributes:
        metric, match: what the values are of.
        better: the metric's direction.
        range: between what its values lie; None where nothing bounds them.
        confidence: of all that is said.
        resamples: how many random flips.
        seed: of flips, and of the lot by which questions are held out.
    """

    metric: str
    match: str = ""
    better: Literal["higher", "lower"] = "higher"
    range: Interval | None = (0.0, 1.0)
    confidence: float = CONFIDENCE
    resamples: int = RESAMPLES
    seed: int = SEED

    @classmethod
    def of(cls, metric: str, match: str, *statistics: Any) -> Rules:
        """By a metric's direction and range; then confidence, resamples and seed."""
        better: Literal["higher", "lower"] = "lower" if direction(metric) == "lower" else "higher"
        return cls(metric, match, better, parse(metric).metric.limits, *statistics)

    @property
    def alpha(self) -> float:
        """The level."""
        return 1 - self.confidence

    @property
    def sign(self) -> float:
        """What makes higher values the better ones."""
        return 1.0 if self.better == "higher" else -1.0

    def means(
        self, values: Floats, weights: Floats | None = None
    ) -> list[tuple[float, float | None, float | None]]:
        """Each column's mean with its interval; `weights` (q), None where all are alike."""
        n, kind = values.shape[1], interval_kind(self.metric)
        resampling = self.confidence, self.resamples, self.seed
        ends = mean_intervals(values, [self.range] * n, *resampling, weights=weights)
        nothing = np.zeros(n, int), np.zeros((2, n))  # what is not known is no value here
        ends = with_exact_limits(
            ends, values, [kind] * n, *nothing, self.confidence, weights=weights
        )
        return [
            (mean, None if np.isnan(low) else low, None if np.isnan(high) else high)
            for mean, low, high in zip(column_means(values, weights).tolist(), *ends.tolist())
        ]

    def behind(self, values: Floats, weights: Floats | None = None) -> Behind:
        """How each column stands against the best of the others."""
        resampling = self.resamples, self.seed, self.confidence
        return behind_best(self.sign * values, *resampling, weights=weights)
