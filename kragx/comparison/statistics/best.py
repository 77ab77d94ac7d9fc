"""Which of many cannot be told from the best, and whether a part is worse than all.

The former is a set that holds the truly best at a stated level.

For each column the hypothesis "no other is better in the long run" is tested on its own. It is true
of the best, so the best is taken for worse with a chance of at most alpha, however many columns
there are, and nothing has to be corrected for which of them happened to come out first.

Sources: S. Gupta, On some multiple decision rules, Technometrics 7, 1965 (the set); J. Hsu,
Simultaneous confidence intervals for all distances from the best, Annals of Statistics 9, 1981 (how
far behind); the largest statistic under random signs: P. Westfall, S. Young, Resampling-Based
Multiple Testing, 1993.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from kragx.comparison.statistics.evidence import linearised, of_rows, scaled, unseen
from kragx.comparison.statistics.randomisation_tests import (
    CELLS,
    GROUPS,
    MANY,
    NO_FAMILY,
    ROUNDING,
    Family,
    Flipped,
    Rows,
    drawn_groups,
)
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import CONFIDENCE, RESAMPLES, SEED, TOLERANCE, blocks, fixed_point
from kragx.metrics.weights import effective_n

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Behind:
    """How each column stands against the best of the others.

    Attributes:
        p: (m) of the hypothesis that no other is better, one-sided; small where one is.
        most: (m) how far behind the best of the others its mean may lie at most, at the confidence
            that was asked for; infinite where so few rows bound nothing.
    """

    p: Floats
    most: Floats


def behind_best(
    values: Floats,
    count: int = RESAMPLES,
    seed: int = SEED,
    confidence: float = CONFIDENCE,
    *,
    weights: Floats | None = None,
) -> Behind:
    """Whether, and how far, each column lies behind the best of the others.

    The statistic of a column is the largest, over the others, of the sum of the other's lead over
    the root of the sum of its squares. If the column is the best, each question's leads might as
    well have had the other sign, all together: p = (b + 1) / (N + 1), where b counts the flips with
    a statistic at least as large. `most` inverts the same test, with Student's form of the
    statistic; of two that never differ it is what questions not asked may hide (`unseen`).

    Args:
        values: (q, m) a value for each question, higher is better; none may be missing.
        count: how many random flips (N).
        seed: the same seed gives the same bits.
        confidence: of `most`.
        weights: (q) of the questions' leads; None where all are alike.
    """
    n, m = values.shape
    if m < 2 or not n:
        return Behind(np.ones(m), np.full(m, 0.0 if n else np.inf))
    terms = values if weights is None else values * scaled(weights)[:, None]
    if n > GROUPS:
        # A grid has many settings: groups are flipped whole from fewer questions on than elsewhere.
        group = drawn_groups(n, seed)
        sums = [np.bincount(group, weights=column, minlength=GROUPS) for column in terms.T]
        terms = np.stack(sums, axis=1)
    g = len(terms)
    # Sums of products instead of an array of all differences: (m, m), i ahead of j.
    # The norm is of the leads, which all flips keep; so it stands outside of the loop of flips.
    sums = terms.sum(axis=0)
    squares = np.stack([((terms - terms[:, [j]]) ** 2).sum(axis=0) for j in range(m)], axis=1)
    leads = sums[:, None] - sums
    alike = squares <= g * TOLERANCE**2
    # Two that never differ have no lead: 0 over infinity is 0, where 0 over 0 would be NaN.
    norms = np.where(alike, np.inf, np.sqrt(squares))
    observed = np.maximum((leads / norms).max(axis=0), 0.0)

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        # A question's values turn together, for every two settings: their leads hang together.
        signs = np.random.default_rng(child).integers(0, 2, (size, g)) * 2.0 - 1
        flipped = signs @ terms
        return np.stack(
            [((flipped - flipped[:, [j]]) / norms[:, j]).max(axis=1) for j in range(m)], axis=1
        )

    drawn = np.maximum(np.concatenate(list(blocks(max(g, m), count, seed, work))), 0.0)
    extreme = (drawn >= observed * (1 - _ROUNDING) - _ROUNDING).sum(axis=0)
    p = np.where(observed > 0, (extreme + 1) / (count + 1), 1.0)
    critical = np.quantile(drawn, confidence, axis=0)
    return Behind(p, _most_behind(values, _student(critical, g), confidence, weights))


def _student(critical: Floats, g: int) -> Floats:
    """From the statistic with a norm that flips keep to Student's, of g terms.

    Beyond sqrt(g) there is no such t, and nothing is bounded.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            critical**2 < g - _ROUNDING,
            critical * np.sqrt((g - 1) / np.maximum(g - critical**2, _ROUNDING)),
            np.inf,
        )


def _most_behind(
    values: Floats, reach: Floats, confidence: float, weights: Floats | None
) -> Floats:
    """(m) how far behind the best of the others each mean may lie, at t of `reach` at most."""
    n, m = values.shape
    greatest = np.zeros(m)
    hidden = unseen(effective_n(weights, np.ones(n, bool)), confidence)
    hidden *= float(values.max() - values.min())
    for j in range(m):
        differences = linearised(np.delete(values, j, axis=1) - values[:, [j]], weights)
        spread = differences.std(axis=0, ddof=1) if n > 1 else np.zeros(m - 1)
        varies = spread > TOLERANCE
        width = np.where(varies, reach[j] * np.where(varies, spread, 1.0) / sqrt(n), hidden)
        greatest[j] = max(float((differences.mean(axis=0) + width).max()), 0.0)
    return greatest


_LARGE = 1_000
"""From so many rows on a sum of them is normal."""

_LEAST_SHUFFLES = 1_000


def worse_parts(
    values: Floats,
    parts: Sequence[Rows],
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    handicap: float = 0.0,
    weights: Floats | None = None,
) -> tuple[Flipped, Family]:
    """Whether the mean of a part lies below that of all rows by more than chance.

    If it did not matter to which part a row belongs, the rows of a part might as well have been any
    others. So the values are shuffled N times; p = (b + 1) / (N + 1), where b counts the shuffles
    that leave the part as low. With weights what is shuffled is how far each row lies from the mean
    of all, by its weight: that sums to less than 0 where a part's weighted mean is lower. Large
    tables are shuffled fewer times, at least a thousand; of more than `MANY` rows the sums of parts
    are drawn instead.

    Args:
        values: (q) higher is better; NaN where there is none.
        parts: the rows of each part.
        count: how many shuffles at most.
        seed: the same seed gives the same bits.
        handicap: what is taken off the statistics.
        weights: (q); None where all are alike.

    Returns:
        (c) a test for each part, its statistic the part's mean standardised and 0 where it is not
        below; NaN for a part that has no value, or all of them. And the family of these tests.

    Source: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 2005, chapter 3.
    """
    # Rows without a value are dropped first: they would be shuffled into parts as holes.
    present: Bools = ~np.isnan(values)
    n, place = int(present.sum()), np.cumsum(present) - 1
    members = [place[rows[present[rows]]] for rows in parts]
    sizes = np.array([len(rows) for rows in members])
    testable = (sizes > 0) & (sizes < n)
    if not testable.any():
        unknown = np.full(len(parts), np.nan)
        return Flipped(unknown, np.zeros(len(parts))), NO_FAMILY
    weights = of_rows(weights, np.flatnonzero(present))
    points = fixed_point(linearised(values[present, None], weights))[0][:, 0]
    # The deviation of a sum of rows drawn without putting them back.
    deviation = points.std() * np.sqrt(sizes * (n - sizes) / max(n - 1, 1))
    expected, scale = points.mean() * sizes, np.where(deviation > 0, deviation, 1.0)

    def below(sums: Floats) -> Floats:
        z: Floats = np.where(testable & (deviation > 0), (expected - sums) / scale, 0.0)
        return np.maximum(z, 0.0)

    observed = below(np.array([points[rows].sum() for rows in members]))
    if n > MANY:
        drawn = below(_drawn_sums(points, sizes, expected, deviation, count, seed))
    else:
        member = np.zeros((n, len(parts)))
        for column, rows in enumerate(members):
            member[rows, column] = 1.0

        def work(size: int, child: np.random.SeedSequence) -> Floats:
            rows = np.broadcast_to(points, (size, n))
            return below(np.random.default_rng(child).permuted(rows, axis=1) @ member)

        # A shuffle takes as long as there are rows: of many rows there are fewer.
        shuffles = min(count, max(_LEAST_SHUFFLES, 5 * CELLS // n))
        drawn = np.concatenate(list(blocks(n, shuffles, seed, work)))
    extreme = (drawn >= observed * (1 - ROUNDING)).sum(axis=0)
    p = np.where(testable, (extreme + 1) / (len(drawn) + 1), np.nan)
    # Other families have one maximum a flip; fewer shuffles are repeated up to as many.
    maxima = np.resize(drawn.max(axis=1) - handicap, count)
    return Flipped(p, np.maximum(observed - handicap, 0.0)), Family(maxima, int(testable.sum()))


def _drawn_sums(
    values: Floats, sizes: Ints, expected: Floats, deviation: Floats, count: int, seed: int
) -> Floats:
    """(count, parts) sums of parts by chance, of so many rows that they are not shuffled.

    Of a thousand rows or more they are normal (J. Hájek, Limiting distributions in simple random
    sampling from a finite population, 1960), of fewer they are of rows that are drawn. Each part is
    drawn by itself: those that share rows go together, so the largest of them is smaller by chance.
    """
    random = np.random.default_rng(seed)
    sums: Floats = expected + deviation * random.standard_normal((count, len(sizes)))
    for part in np.flatnonzero((sizes > 0) & (sizes < _LARGE)).tolist():
        rows = random.integers(0, len(values), (count, sizes[part]))
        sums[:, part] = values[rows].sum(axis=1)
    return sums
