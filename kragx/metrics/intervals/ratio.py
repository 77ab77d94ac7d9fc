"""A sum over a sum: all that was spent over all that was found, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kragx.data.lists import Bools, Floats, Ints
from kragx.metrics.intervals.bootstrap import (
    CONFIDENCE,
    LEAST,
    MANY,
    RESAMPLES,
    SEED,
    Interval,
    expanded,
    fixed_point,
    resampled,
)
from kragx.metrics.intervals.student import student_t
from kragx.metrics.weights import effective_n


@dataclass(frozen=True)
class Ratio:
    """What q questions add to a sum over a sum.

    Questions with much of it weigh more than in a mean of their ratios, and one with 0 below the
    line counts, too.

    Attributes:
        numerator, denominator: (q); NaN in both where a question has no part in it.
        weights: (q) how many asks each question stands for; None where all are alike.
    """

    numerator: Floats
    denominator: Floats
    weights: Floats | None = None

    @property
    def counts(self) -> Bools:
        """(q) which questions have a part in it."""
        has_part: Bools = ~(np.isnan(self.numerator) | np.isnan(self.denominator))
        return has_part

    @property
    def terms(self) -> Floats:
        """(n, 2) what those add above and below the line, to be resampled by question."""
        terms = np.stack([self.numerator, self.denominator], axis=1)
        if self.weights is None:
            return terms[self.counts]
        counts = self.counts & (self.weights > 0)
        return terms[counts] * self.weights[counts, None]

    @property
    def value(self) -> float | None:
        """The ratio; infinity of something over nothing, None of nothing over nothing."""
        value = float(ratios(self.terms.sum(axis=0, keepdims=True))[0])
        return None if np.isnan(value) else value

    def of(self, questions: Bools) -> Ratio:
        """That of some questions (q) alone."""
        above, below = (
            np.where(questions, column, np.nan) for column in (self.numerator, self.denominator)
        )
        return Ratio(above, below, self.weights)

    @property
    def sureness(self) -> int:
        """How many questions of equal weight are as sure as these, two at least."""
        return max(round(effective_n(self.weights, self.counts)), 2)

    def rows(self, rows: Ints | slice | None) -> Ratio:
        """That of some questions by their places, in this order; None for all."""
        if rows is None:
            return self
        weights = None if self.weights is None else self.weights[rows]
        return Ratio(self.numerator[rows], self.denominator[rows], weights)

    def interval(
        self, confidence: float = CONFIDENCE, count: int = RESAMPLES, seed: int = SEED
    ) -> Interval | None:
        """Its expanded percentile interval over the questions.

        The upper end is infinite where nothing is found in so many resamples. Of more than 10,000
        questions it is Student's, of the ratio as a straight line of both sums.

        Returns:
            The ends; None with fewer than three questions, and where all have the same ratio.

        Source: as of `kragx.metrics.intervals.expanded_intervals`; W. Cochran, Sampling Techniques,
        1977, section 6.3, for the straight line.
        """
        terms = self.terms
        value, n = self.value, len(terms)
        if n < LEAST or value is None or np.isinf(value):
            return None
        # What questions add beside the common ratio: where that is nothing, nothing varies.
        rest = terms[:, 0] - value * terms[:, 1]
        if np.abs(rest).max() <= 1e-9 * max(np.abs(terms[:, 0]).max(), 1e-300):
            return None
        if n > MANY:
            spread = float(rest.std(ddof=1)) / n**0.5 / float(terms[:, 1].mean())
            margin = student_t((1 + confidence) / 2, n - 1) * spread
            # A straight line may pass below 0, which no cost does.
            return max(value - margin, 0.0), value + margin
        grid, unit = fixed_point(terms)
        sampled = resampled(grid, lambda sums: ratios(sums * unit), count, seed)
        return _ends(sampled, self.sureness, confidence)


def ratio_difference_interval(
    first: Ratio,
    second: Ratio,
    confidence: float = CONFIDENCE,
    count: int = RESAMPLES,
    seed: int = SEED,
) -> Interval | None:
    """The interval of the first ratio minus the second, of the same questions, which are drawn.

    Questions without a part in either are left out. Of more than 10,000 it is Student's, of both
    ratios as straight lines.

    Returns:
        The ends; None with fewer than three questions, where one of both has no finite value, and
        where nothing varies.
    """
    shared = first.counts & second.counts
    pair = first.of(shared), second.of(shared)
    values, terms = [ratio.value for ratio in pair], np.hstack([ratio.terms for ratio in pair])
    n = len(terms)
    if n < LEAST or any(value is None or np.isinf(value) for value in values):
        return None
    rest, other_rest = (
        (ratio.terms[:, 0] - (value or 0.0) * ratio.terms[:, 1]) / ratio.terms[:, 1].mean()
        for ratio, value in zip(pair, values)
    )
    if np.abs(rest - other_rest).max() <= 1e-9 * max(values[0] or 0.0, values[1] or 0.0, 1e-300):
        return None
    if n > MANY:
        margin = student_t((1 + confidence) / 2, n - 1) * float((rest - other_rest).std(ddof=1))
        value = (values[0] or 0.0) - (values[1] or 0.0)
        return value - margin / n**0.5, value + margin / n**0.5
    grid, unit = fixed_point(terms)

    def differences(sums: Floats) -> Floats:
        above, below = ratios((sums * unit)[:, :2]), ratios((sums * unit)[:, 2:])
        with np.errstate(invalid="ignore"):  # where both found nothing
            difference: Floats = above - below
        return difference

    return _ends(resampled(grid, differences, count, seed), pair[0].sureness, confidence)


def _ends(sampled: Floats, n: int, confidence: float) -> Interval:
    """The percentiles as resamples that there are, as between infinite ones there is none."""
    ordered = np.sort(sampled[~np.isnan(sampled)])
    tail = (1 - expanded(confidence, n)) / 2 * (len(ordered) - 1)
    return float(ordered[int(tail)]), float(ordered[len(ordered) - 1 - int(tail)])


def ratios(sums: Floats) -> Floats:
    """(b) each first column over the second; infinity over 0, NaN of nothing over nothing."""
    above, below = sums[:, 0], sums[:, 1]
    quotients = np.where(above > 0, np.inf, np.nan)
    np.divide(above, below, out=quotients, where=below > 0)
    return quotients
