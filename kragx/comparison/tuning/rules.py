"""How settings are held against each other, and by which questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from kragx.comparison import direction
from kragx.comparison.estimates import definition_of
from kragx.comparison.statistics import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    TOLERANCE,
    Interval,
    Rows,
    mean_intervals,
)
from kragx.comparison.statistics.evidence import weighted_means
from kragx.metrics import Floats, parse
from kragx.metrics.intervals import student_t, with_exact_limits

_NORMAL = NormalDist()


_DECIMALS = 12


_HALVINGS = 60


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
        n, kind = values.shape[1], definition_of(self.metric).interval
        resampling = self.confidence, self.resamples, self.seed
        ends = mean_intervals(values, [self.range] * n, *resampling, weights=weights)
        nothing = np.zeros(n, int), np.zeros((2, n))  # what is not known is no value here
        ends = with_exact_limits(
            ends, values, [kind] * n, *nothing, self.confidence, weights=weights
        )
        return [
            (mean, None if np.isnan(low) else low, None if np.isnan(high) else high)
            for mean, low, high in zip(weighted_means(values, weights).tolist(), *ends.tolist())
        ]


def drawn(strata: Sequence[Hashable], seed: int) -> Rows:
    """(q) the positions of questions in an order drawn by lot, each beginning of which is fair.

    However many are taken from its start, each stratum has about the share that it has of all.

    Args:
        strata: (q) what each question belongs to; all equal where there are no slices.
        seed: the same seed gives the same order.
    """
    # The lot does not depend on strata: with other slices each question keeps its number.
    rng = np.random.default_rng(seed)
    lot, share = rng.random(len(strata)), np.empty(len(strata))
    rows_of: dict[Hashable, list[int]] = {}
    for row, stratum in enumerate(strata):
        rows_of.setdefault(stratum, []).append(row)
    for rows in map(np.array, rows_of.values()):
        shift = rng.random()  # or small strata would all begin at the same place
        share[rows[np.argsort(lot[rows])]] = (np.arange(len(rows)) + shift) / len(rows)
    return np.lexsort((lot, share))


def halved(order: Rows, strata: Sequence[Hashable]) -> tuple[Rows, Rows]:
    """The questions that choose and those that are held out; of an odd number one more chooses.

    Within each stratum they take turns, and of odd ones the first gives one more to either side by
    turns: of two equal strata, which take turns in `order`, neither side would else see but one.
    """
    sizes = Counter(strata)
    odd = accumulate((size % 2 for size in sizes.values()), initial=0)
    turn = {stratum: before % 2 for stratum, before in zip(sizes, odd)}
    sides: tuple[list[int], list[int]] = ([], [])
    for row in order.tolist():
        sides[turn[strata[row]]].append(row)
        turn[strata[row]] ^= 1
    return np.array(sides[0], np.intp), np.array(sides[1], np.intp)


def excess(values: Floats, lead: Floats, confidence: float, *, kept: bool) -> float:
    """How much a setting's mean owes to having passed a test on the same questions.

    The simpler setting stays unless it is told to be worse, so where it stays it is likely to have
    been lucky, and where it goes the other was: leads are drawn from one side of a line only. The
    likeliest true lead, given that side, is nearer to it; the mean goes with the lead as their
    values do.

    Args:
        values: (n) of the setting that is taken, the higher the better.
        lead: (n) of the simpler setting over the best: their difference, the higher the better.
        confidence: of the test.
        kept: whether the simpler one stays.

    Returns:
        What to take off the mean, at least 0; 0 where the lead does not vary.

    Source: H. Zhong, R. Prentice, Bias-reduced estimators and confidence intervals for odds ratios
    in genome-wide association studies, Biostatistics 9, 2008 (the conditional likelihood of what
    passed a test).
    """
    n = len(lead)
    spread = float(lead.std(ddof=1)) / sqrt(n) if n > 1 else 0.0
    if spread <= TOLERANCE:
        return 0.0
    line, observed = student_t((1 + confidence) / 2, n - 1), float(lead.mean()) / spread
    # One that stays is no further behind than the line; one that goes is behind, as the other was
    # best. Which lead is the likeliest is found by halving between these ends.
    low, high = (-line, max(observed, -line)) if kept else (min(observed, -line), 0.0)
    target, side = (high, 1) if kept else (low, -1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = side * _NORMAL.pdf(line + middle) / _NORMAL.cdf(side * (line + middle))
        low, high = (middle, high) if middle + beyond < target else (low, middle)
    slope = float(np.cov(values, lead)[0, 1]) / (n * spread**2)
    likeliest = low if kept else high
    return round(max(0.0, slope * spread * (observed - likeliest)), _DECIMALS)
