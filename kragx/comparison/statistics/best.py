"""Which of many cannot be told from the best, and whether a part is worse than all.

The former is a set that holds the truly best at a stated level.

For each column the hypothesis "no other is better in the long run" is tested on its own. It is true
of the best, so the best is taken for worse with a chance of at most alpha, however many columns
there are, and nothing has to be corrected for which of them happened to come out first.

Sources: S. Gupta, On some multiple decision rules, Technometrics 7, 1965; the largest statistic
under random signs: P. Westfall, S. Young, Resampling-Based Multiple Testing, 1993.
"""

from collections.abc import Sequence

import numpy as np

from kragx.comparison.statistics.evidence import linearised, of_rows, scaled
from kragx.comparison.statistics.randomisation_tests import (
    CELLS,
    NO_FAMILY,
    ROUNDING,
    Family,
    Flipped,
    Rows,
)
from kragx.metrics import Bools, Floats
from kragx.metrics.intervals import RESAMPLES, SEED, TOLERANCE, blocks, fixed_point

_ROUNDING = 1e-9


def behind_best(
    values: Floats,
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    weights: Floats | None = None,
) -> Floats:
    """Whether each column lies behind the best of the others.

    The statistic of a column is the largest, over the others, of the sum of the other's lead over
    the root of the sum of its squares. If the column is the best, each question's leads might as
    well have had the other sign, all together: p = (b + 1) / (N + 1), where b counts the flips with
    a statistic at least as large.

    Args:
        values: (q, m) a value for each question, higher is better; none may be missing.
        count: how many random flips (N).
        seed: the same seed gives the same bits.
        weights: (q) of the questions' leads; None where all are alike.

    Returns:
        (m) p of the hypothesis that no other is better, one-sided; small where one is.
    """
    n, m = values.shape
    if m < 2 or not n:
        return np.ones(m)
    terms = values if weights is None else values * scaled(weights)[:, None]
    # Sums of products instead of an array of all differences: (m, m), i ahead of j.
    # The norm is of the leads, which all flips keep; so it stands outside of the loop of flips.
    sums = terms.sum(axis=0)
    squares = np.stack([((terms - terms[:, [j]]) ** 2).sum(axis=0) for j in range(m)], axis=1)
    leads = sums[:, None] - sums
    alike = squares <= n * TOLERANCE**2
    # Two that never differ have no lead: 0 over infinity is 0, where 0 over 0 would be NaN.
    norms = np.where(alike, np.inf, np.sqrt(squares))
    observed = np.maximum((leads / norms).max(axis=0), 0.0)

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        # A question's values turn together, for every two settings: their leads hang together.
        signs = np.random.default_rng(child).integers(0, 2, (size, n)) * 2.0 - 1
        flipped = signs @ terms
        return np.stack(
            [((flipped - flipped[:, [j]]) / norms[:, j]).max(axis=1) for j in range(m)], axis=1
        )

    drawn = np.maximum(np.concatenate(list(blocks(max(n, m), count, seed, work))), 0.0)
    extreme = (drawn >= observed * (1 - _ROUNDING) - _ROUNDING).sum(axis=0)
    return np.where(observed > 0, (extreme + 1) / (count + 1), 1.0)


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
    tables are shuffled fewer times, at least a thousand.

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
