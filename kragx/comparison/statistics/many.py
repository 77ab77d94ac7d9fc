"""The tests of `randomisation`, of so many questions that chance is drawn for groups of them.

Ten thousand random signs for each of ten million questions take hours. So questions are put into
groups at random, once, and a flip turns the signs of whole groups. Those flips are some of all
flips, chosen without a look at the values, so if two retrievers were equal each is as likely as the
other and the test keeps its level exactly; of thousands of groups it decides what a test of all
questions would. What stays in memory are the sums of groups, not the questions.

Sources: E. Lehmann, J. Romano, Testing Statistical Hypotheses, 2005, section 15.2 (a test by any
group of transformations is exact); docs/statistics.md has what was measured.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from kragx.comparison.statistics.randomisation import (
    NO_FAMILY,
    Family,
    Flipped,
    PartTests,
    Rows,
    tested,
    zeroed,
)
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import RESAMPLES, SEED, fixed_point

GROUPS = 1 << 14
"""So many groups, of which a test of means loses nothing that could be seen."""

_LARGE = 1_000
"""From so many rows on the sum of random ones is normal."""

_ROUNDING = 1e-9


def flip_groups(
    columns: Iterable[Floats],
    n: int,
    parts: Sequence[Rows],
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    handicap: float = 0.0,
    family_of: Ints | None = None,
    n_families: int = 1,
    groups: int = GROUPS,
) -> tuple[list[Flipped], list[Family]]:
    """`flip_tests` of n questions, whose differences come one column after the other.

    Args:
        columns: (n) each; NaN where either retriever has no value. None of them is kept.
        n: how many questions.
        parts: the rows of each part; a flip of a group turns its questions in all of them.
        count: how many random flips.
        seed: of the groups and the flips.
        handicap: as for `flip_tests`.
        family_of: likewise.
        n_families: likewise.
        groups: how many.

    Returns:
        As `flip_tests`; statistics are standardised by the groups' sums.
    """
    group_of = _groups(n, groups, seed)
    own_groups = [group_of[rows] for rows in parts]
    sums: list[list[Floats]] = [[] for _ in parts]  # of each part the columns' sums by group
    units: list[Floats] = []
    known: list[list[bool]] = [[] for _ in parts]
    for column in columns:
        for of_known, rows in zip(known, parts):
            of_known.append(not np.isnan(column[rows]).all())
        grid, unit = fixed_point(zeroed(column)[:, None])
        units.append(unit)
        for of_part, rows, numbers in zip(sums, parts, own_groups):
            # Whole numbers: exact, whatever their order.
            of_groups: Floats = np.bincount(numbers, grid[rows, 0], groups).astype(np.float64)
            of_part.append(of_groups)
    unit = np.concatenate(units)
    if family_of is None:
        family_of = np.zeros((len(parts), len(units)), np.int64)
    n_tests = np.zeros(n_families, np.int64)
    np.add.at(n_tests, family_of, np.array(known))
    tests = [
        PartTests(
            np.stack(of_part, axis=1),
            np.arange(groups),
            unit,
            count,
            handicap if number else 0.0,
            family_of[number],
            n_terms=len(parts[number]),
        )
        for number, of_part in enumerate(sums)
    ]
    return tested(tests, groups, n_tests, count, seed)


def _groups(n: int, groups: int, seed: int) -> Ints:
    """(n) the group of each question, drawn by lot: neighbours in a file may be alike."""
    drawn = np.random.default_rng(np.random.SeedSequence([seed, groups]))
    return drawn.integers(0, groups, n, dtype=np.uint16 if groups <= 1 << 16 else np.int64)


def worse_of_many(
    values: Floats,
    parts: Sequence[Rows],
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    handicap: float = 0.0,
) -> tuple[Flipped, Family]:
    """`worse_parts` of so many rows that they are not shuffled.

    The sums of parts under shuffling are drawn from their own distribution: of a thousand rows or
    more from the normal one, with the variances and covariances of rows that are drawn without
    putting them back; of fewer as sums of rows that are drawn.

    Source: J. Hájek, Limiting distributions in simple random sampling from a finite population,
    1960.
    """
    known: Bools = ~np.isnan(values)
    n = int(known.sum())
    own = [rows[known[rows]] for rows in parts]
    sizes = np.array([len(rows) for rows in own])
    testable = (sizes > 0) & (sizes < n)
    if not testable.any():
        return Flipped(np.full(len(parts), np.nan), np.zeros(len(parts))), NO_FAMILY
    defined = values[known]
    mean, variance = float(defined.mean()), float(defined.var()) * n / max(n - 1, 1)
    deviation = np.sqrt(variance * sizes * (n - sizes) / n)
    scale = np.where(deviation > 0, deviation, 1.0)

    def below(lower_by: Floats) -> Floats:
        z: Floats = np.where(testable & (deviation > 0), lower_by / scale, 0.0)
        return np.maximum(z, 0.0)

    observed = below(np.array([mean * len(rows) - values[rows].sum() for rows in own]))
    large, random = sizes >= _LARGE, np.random.default_rng(seed)
    drawn = np.zeros((count, len(parts)))
    if large.any():
        covariance = variance * _shared_rows([own[part] for part in large.nonzero()[0]], len(known))
        covariance -= variance * np.outer(sizes[large], sizes[large]) / n
        drawn[:, large] = random.multivariate_normal(
            np.zeros(int(large.sum())), covariance, count, check_valid="ignore", method="eigh"
        )
    for part in (~large & testable).nonzero()[0].tolist():
        rows = random.integers(0, n, (count, sizes[part]))
        drawn[:, part] = mean * sizes[part] - defined[rows].sum(axis=1)
    of_chance = below(drawn)
    extreme = (of_chance >= observed * (1 - _ROUNDING)).sum(axis=0)
    p = np.where(testable, (extreme + 1) / (count + 1), np.nan)
    maxima = of_chance.max(axis=1) - handicap
    return Flipped(p, np.maximum(observed - handicap, 0.0)), Family(maxima, int(testable.sum()))


def _shared_rows(parts: Sequence[Rows], n: int) -> Floats:
    """(p, p) how many rows each two parts share: a question may lie in several slices."""
    masks = np.zeros((len(parts), -(-n // 8)), np.uint8)
    for mask, rows in zip(masks, parts):
        member = np.zeros(n, bool)
        member[rows] = True
        mask[:] = np.packbits(member)
    shared = np.zeros((len(parts), len(parts)))
    for one, mask in enumerate(masks):
        for other in range(one, len(parts)):
            both = int(np.bitwise_count(mask & masks[other]).sum(dtype=np.int64))
            shared[one, other] = shared[other, one] = both
    return shared
