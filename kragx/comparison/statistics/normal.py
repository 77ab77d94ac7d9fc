"""The tests of `randomisation` of any number of questions: of very many, sums are normal.

Ten thousand random signs for each of a million questions take an hour. Where signs are flipped, a
sum of differences has a mean of 0, the sum of their squares as variance, and with another sum the
sum of products as covariance. Of so many questions such sums are normal together, and so what
chance does to the largest of them is drawn from their own normal distribution.

Source: E. Lehmann, J. Romano, Testing Statistical Hypotheses, 2005, theorem 15.2.3 and its example
of sign changes; docs/evidence/intervals.md has what was measured.
"""

from collections.abc import Iterable, Sequence
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.comparison.statistics import randomisation
from kragx.comparison.statistics.randomisation import (
    Family,
    Flipped,
    Rows,
    flip_tests,
    sign_flip_p,
    zeroed,
)
from kragx.metrics import Floats, Ints
from kragx.metrics.intervals import RESAMPLES, SEED

_LARGE = 1_000
"""From so many terms on a sum of them is normal."""

_AT_ONCE = 1 << 14  # questions whose products are summed at once


def paired_tests(
    columns: Iterable[Floats],
    n: int,
    parts: Sequence[Rows],
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    family_of: Ints,
    n_families: int,
    handicap: float = 0.0,
) -> tuple[list[Flipped], list[Family]]:
    """`flip_tests` of columns that are made one by one, of however many questions.

    Args:
        columns: (n) each; NaN where either retriever has no value.
        n: how many questions; of more than `randomisation.MANY` the tests are `normal_tests`.
        parts: as for `flip_tests`, and so are the others.
        count: likewise.
        seed: likewise.
        family_of: likewise.
        n_families: likewise.
        handicap: likewise.
    """
    families: dict[str, Any] = {"family_of": family_of, "n_families": n_families}
    if n > randomisation.MANY:
        return normal_tests(columns, n, parts, count, seed, handicap=handicap, **families)
    table = np.stack([*columns], axis=1)
    return flip_tests(table, parts, count, seed, handicap=handicap, **families)


def normal_tests(
    columns: Iterable[Floats],
    n: int,
    parts: Sequence[Rows],
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    handicap: float = 0.0,
    family_of: Ints | None = None,
    n_families: int = 1,
) -> tuple[list[Flipped], list[Family]]:
    """`flip_tests` of n questions by the normal distribution of what flips make.

    Where fewer than a thousand questions of a part differ in a column, its p is that of flips.

    Args:
        columns: (n) each; NaN where either retriever has no value.
        n: how many questions.
        parts: the rows of each part.
        count: how often the largest statistic of each family is drawn.
        seed: of what is drawn.
        handicap: as for `flip_tests`.
        family_of: likewise.
        n_families: likewise.

    Returns:
        As `flip_tests`.
    """
    table: list[NDArray[np.float32]] = []
    tests: list[list[tuple[float, float]]] = []
    has_value: list[list[bool]] = []
    for column in columns:
        differences = zeroed(column)
        table.append(differences.astype(np.float32))
        tests.append([_test(differences[rows], count, seed) for rows in parts])
        has_value.append([not np.isnan(column[rows]).all() for rows in parts])
    shape = len(parts), len(table)
    z, p = np.array(tests).T
    z[1:] = np.maximum(z[1:] - handicap, 0.0)
    if family_of is None:
        family_of = np.zeros(shape, np.int64)
    drawn = np.abs(_drawn(_products(table, n, parts), count, seed))
    drawn[:, shape[1] :] -= handicap  # of all parts but the first
    families = []
    for family in range(n_families):
        members = (family_of == family) & np.array(has_value).T
        maxima = drawn[:, members.ravel()].max(axis=1, initial=0.0)
        families.append(Family(maxima, int(members.sum())))
    return [Flipped(of_p, of_z) for of_p, of_z in zip(p, z)], families


def _test(differences: Floats, count: int, seed: int) -> tuple[float, float]:
    """The statistic of a test, and its p by itself."""
    differing = differences[differences != 0]
    if not differing.size:
        return 0.0, 1.0
    statistic = float(abs(differing.sum()) / np.sqrt((differing**2).sum()))
    if differing.size < _LARGE:
        return statistic, float(sign_flip_p(differing[:, None], count, seed)[0])
    return statistic, erfc(statistic / sqrt(2))


def _products(table: Sequence[NDArray[np.float32]], n: int, parts: Sequence[Rows]) -> Floats:
    """(t, t) the sums of the products of what differs in each two tests, part after part."""
    masks = np.zeros((len(parts), n), bool)
    for mask, rows in zip(masks, parts):
        mask[rows] = True
    products = np.zeros((len(parts) * len(table),) * 2)
    for start in range(0, n, _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        differences = np.stack([column[block] for column in table])
        tests = (masks[:, None, block] * differences).reshape(len(products), -1)
        products += (tests @ tests.T).astype(np.float64)
    return products


def _drawn(covariance: Floats, count: int, seed: int) -> Floats:
    """(count, t) normal numbers of mean 0, standardised; 0 where nothing varies."""
    deviation = np.sqrt(covariance.diagonal())
    scale = np.where(deviation > 0, deviation, 1.0)
    variances, directions = np.linalg.eigh(covariance / np.outer(scale, scale))
    spread = directions * np.sqrt(np.maximum(variances, 0.0))
    random = np.random.default_rng(seed).standard_normal((count, len(scale)))
    drawn: Floats = random @ spread.T
    return drawn
