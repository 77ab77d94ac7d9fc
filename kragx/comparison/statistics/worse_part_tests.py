"""Whether a part of the questions is worse than all, by more than chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kragx.comparison.statistics.evidence import linearised, of_rows
from kragx.comparison.statistics.randomisation_tests import (
    CELLS,
    MANY,
    NO_FAMILY,
    ROUNDING,
    Family,
    Flipped,
    Rows,
)
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import RESAMPLES, SEED, blocks, fixed_point

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
