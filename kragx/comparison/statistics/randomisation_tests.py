"""Randomisation tests: what chance alone does to one statistic, and to the largest of many.

What a report says at 95 % is to hold for the report. Of many tests some come out "significant" by
chance, so each is held against the largest statistic of all of them under the same random flips.
Metrics and pairs of retrievers hang together, and flips keep that, so the price is far below that
of a correction which has to reckon with the worst (Bonferroni's, Holm's).

Source: P. Westfall, S. Young, Resampling-Based Multiple Testing, 1993 (single-step maxT);
J. Romano, M. Wolf, Exact and approximate stepdown methods for multiple hypothesis testing, JASA
100, 2005.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import NormalDist

import numpy as np

from kragx.comparison.statistics.evidence import Rows, linearised, of_rows, scaled
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import RESAMPLES, SEED, TOLERANCE, blocks, fixed_point

_LAST_BITS = 2.0**-51
"""By how much a difference of two values between 0 and 1 may be off."""

MANY = 1 << 17
"""Of more questions than this groups are flipped, and rows are not shuffled."""

GROUPS = 1 << 12
"""So many that two questions that differ seldom share one where few do."""

CELLS = 4_000_000
ROUNDING = 1e-9
"""Statistics that differ by less, as a share of them, are equal."""


@dataclass(frozen=True)
class Family:
    """All tests whose errors are bounded together.

    Attributes:
        maxima: (count) for each random flip the largest statistic of them all.
        n_tests: how many there are.
    """

    maxima: Floats
    n_tests: int

    @classmethod
    def of(cls, families: Iterable[Family]) -> Family:
        """The tests of several: with the same seed their flips are the same, and stay so."""
        tests = [family for family in families if family.n_tests]
        if not tests:
            return NO_FAMILY
        maxima = reduce(np.maximum, (family.maxima for family in tests))
        return cls(maxima, sum(family.n_tests for family in tests))

    def adjusted(self, p: Floats, z: Floats) -> Floats:
        """The p of some of the tests, so that the chance of any false alarm stays bounded.

        Args:
            p: (c) of each test by itself; NaN for what was not tested.
            z: (c) its statistic.

        Returns:
            (c) (b + 1) / (N + 1), where b counts the maxima that are at least as large; never below
            p, and p itself where there is no other test.
        """
        if self.n_tests <= 1:
            return p
        # One sort, then a binary search a test: counting for each would look at all maxima anew.
        ordered = np.sort(self.maxima)
        below = np.searchsorted(ordered, z * (1 - ROUNDING))
        corrected: Floats = (len(ordered) - below + 1) / (len(ordered) + 1)
        return np.maximum(p, corrected)  # NaN stays NaN

    def least(self, alpha: float) -> float:
        """The statistic from which on a test of the family is decided at a level of `alpha`."""
        if self.n_tests <= 1:
            return NormalDist().inv_cdf(1 - alpha / 2)
        return float(np.quantile(self.maxima, 1 - alpha))


NO_FAMILY = Family(np.zeros(1), 0)
"""Of no tests."""


@dataclass(frozen=True)
class Flipped:
    """Paired randomisation tests on some of the queries.

    Attributes:
        p: (c) of each column by itself, as of `sign_flip_p`.
        z: (c) the sum of the differences over the root of the sum of their squares, without its
            sign, less the part's handicap; 0 where nothing differs.
    """

    p: Floats
    z: Floats


def paired_tests(
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
    """The paired randomisation test of each column's mean difference, in parts of the questions.

    A flip turns the signs of a question's differences in all columns and parts together, so what
    hangs together does so among the random statistics. Of more than `MANY` questions groups drawn
    by lot are flipped whole: ten thousand signs for each of a million questions take an hour.

    Args:
        columns: (n) each; NaN where either retriever has no value.
        n: how many questions.
        parts: the rows of each part.
        count: how many random flips.
        seed: the same seed gives the same bits.
        handicap: what is taken off the statistics of all parts but the first, which weigh less in
            the family then.
        family_of: (parts, c) which family each test belongs to; None for one of all.
        n_families: how many there are.

    Returns:
        The tests of each part, and the families.
    """
    if n > MANY:
        table, n = _group_sums(columns, n, parts, seed), GROUPS
        places = list(np.arange(len(table)).reshape(-1, n))
        signs = [np.arange(n)] * len(parts)
    else:
        table, places, signs = np.stack([*columns], axis=1), [*parts], [*parts]
    if family_of is None:
        family_of = np.zeros((len(parts), table.shape[1]), np.int64)
    # Sums of whole numbers are exact in any order, so blocks, threads and machines agree.
    grid, unit = fixed_point(zeroed(table))
    tests, n_tests = [], np.zeros(n_families, np.int64)
    for part, (rows, place, sign, families) in enumerate(zip(parts, places, signs, family_of)):
        off = handicap if part else 0.0
        tests.append(_PartTests(grid[place], sign, unit, count, off, families, len(rows)))
        np.add.at(n_tests, families, (~np.isnan(table[place])).any(axis=0))

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        flips = _coins(n, size, child)
        largest = [test.largest(flips, n_families) for test in tests]
        return np.asarray(np.max(largest, axis=0, initial=0.0))

    # Where nothing differs no flip is drawn: no statistic is above 0.
    maxima = np.zeros((count, n_families))
    if any(test.live.size for test in tests):
        maxima = np.concatenate(list(blocks(n, count, seed, work)))
    of_family = [Family(column, number) for column, number in zip(maxima.T, n_tests.tolist())]
    return [test.results(count) for test in tests], of_family


def _group_sums(columns: Iterable[Floats], n: int, parts: Sequence[Rows], seed: int) -> Floats:
    """(parts * GROUPS, c) what the questions of each group sum to, part after part."""
    # The group of each question, drawn by lot; all are of one size, or one apart.
    group = np.random.default_rng(seed).permutation(n) % GROUPS

    def sums(column: Floats, rows: Rows) -> Floats:
        # Not 0: a column without any value is not tested, and no member of its family.
        nothing = np.nan if np.isnan(column[rows]).all() else 0.0
        summed: Floats = np.bincount(group[rows], zeroed(column[rows]), GROUPS).astype(np.float64)
        return summed + nothing

    return np.stack(
        [np.concatenate([sums(column, rows) for rows in parts]) for column in columns], axis=1
    )


def zeroed(differences: Floats) -> Floats:
    """Differences without those that rounding alone has made, and 0 where there is none."""
    return np.where(np.abs(differences) > TOLERANCE, differences, 0.0)


def sign_flip_p(differences: Floats, count: int = RESAMPLES, seed: int = SEED) -> Floats:
    """The two-sided p of the paired randomisation test of each column's mean difference.

    If two retrievers were equal, each difference might as well have had the other sign. So signs
    are flipped at random N times, and p = (b + 1) / (N + 1), where b counts the flips whose sum is
    at least as far from 0 as the one observed. Where there are no more than `count` ways to flip,
    all of them are taken: N is then their number without the observed one, and p is exact.

    Args:
        differences: (q, c) one retriever's values minus another's; NaN where either has none.
        count: how many random flips.
        seed: the same seed gives the same bits.

    Returns:
        (c) values in (0, 1]; 1 where no query differs.

    Sources: M. Smucker, J. Allan, B. Carterette, A comparison of statistical significance tests
    for information retrieval evaluation, CIKM 2007; p of random permutations: B. Phipson, G. Smyth,
    Permutation p-values should never be zero, SAGMB 9(1), 2010.
    """
    n = len(differences)
    (flipped,), _ = paired_tests(differences.T, n, [np.arange(n)], count, seed)
    return flipped.p


class _PartTests:
    """The tests of one part, block by block.

    Args:
        grid: (r, c) the part's differences as whole numbers, or sums of them.
        rows: (r) the place of each row's sign in a flip.
        unit: (c) of the whole numbers.
        count: how many random flips.
        handicap: what is taken off the statistics.
        family_of: (c) which family each test belongs to.
        n_terms: how many differences a column has in all.
    """

    def __init__(
        self,
        grid: Floats,
        rows: Rows,
        unit: Floats,
        count: int,
        handicap: float,
        family_of: Ints,
        n_terms: int,
    ) -> None:
        self.rows, self.handicap = rows, handicap
        # Rounding moved each term by half a unit at most, and so a sum by n/2: equal sums of
        # fractions may be n units apart. Values near 1 whose differences are small bring in their
        # own last bits.
        slack = n_terms + n_terms * _LAST_BITS / unit
        differing = (grid != 0).sum(axis=0)
        # Squares are not exact: each column is added by itself, whatever stands beside it.
        observed, norm = grid.sum(axis=0), np.sqrt((np.ascontiguousarray(grid.T) ** 2).sum(axis=1))
        z = np.maximum(np.abs(observed) / np.where(norm > 0, norm, 1.0) - handicap, 0.0)
        self.flipped = Flipped(np.ones(grid.shape[1]), z)
        # Of so few every way to flip is looked at, which costs less than the random ones.
        is_rare = differing <= int(np.log2(count + 1))
        for column in np.flatnonzero(is_rare):
            self.flipped.p[column] = _exact_p(grid[grid[:, column] != 0, column], slack[column])
        # A column without a difference has p = 1 whatever is flipped, and is in no product.
        self.live = np.flatnonzero(differing)
        self.many = np.flatnonzero(~is_rare[self.live])
        self.terms, self.observed = grid[:, self.live], observed[self.live]
        self.norm, self.least = norm[self.live], (np.abs(observed) - slack)[self.live]
        self.extreme: Floats = np.zeros(len(self.many))
        self.families = [
            (family, np.flatnonzero(family_of[self.live] == family))
            for family in np.unique(family_of[self.live]).tolist()
        ]

    def largest(self, flips: Floats, n_families: int) -> Floats:
        """(size, n_families) of each flip the largest statistic of each family.

        What is as far out as observed is counted on the way.
        """
        maxima = np.zeros((len(flips), n_families))
        if not self.live.size:
            return maxima
        # Ones and zeros instead of signs: a sum with signs is twice that of the ones less the
        # whole.
        # One flip serves all parts: what a question is in two slices turns in both.
        part_flips = flips[:, self.rows]
        step = max(1, CELLS // self.live.size)
        for start in range(0, len(flips), step):
            sums = np.abs(2 * (part_flips[start : start + step] @ self.terms) - self.observed)
            self.extreme += (sums[:, self.many] >= self.least[self.many]).sum(axis=0)
            sums /= self.norm
            for family, members in self.families:
                largest = sums[:, members].max(axis=1)
                maxima[start : start + step, family] = largest - self.handicap
        return maxima

    def results(self, count: int) -> Flipped:
        """After all blocks."""
        self.flipped.p[self.live[self.many]] = (self.extreme + 1) / (count + 1)
        return self.flipped


def _exact_p(grid: Floats, slack: float) -> float:
    """The p over every way to flip the signs; 1 for no difference at all."""
    sums = np.zeros(1)
    for difference in grid:
        sums = np.concatenate([sums + difference, sums - difference])
    return float((np.abs(sums) >= abs(grid.sum()) - slack).mean())


def _coins(n: int, size: int, seed: np.random.SeedSequence) -> Floats:
    """(size, n) zeros and ones."""
    # A random byte is eight coins: to draw each by itself would take far longer.
    width = -(-n // 8)
    drawn = np.frombuffer(np.random.default_rng(seed).bytes(size * width), np.uint8)
    return np.unpackbits(drawn.reshape(size, width), axis=1)[:, :n].astype(np.float64)


def behind_best(
    values: Floats,
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    weights: Floats | None = None,
) -> Floats:
    """Whether each column lies behind the best of the others.

    Those that do not are a set that holds the truly best at a stated level. For each column the
    hypothesis "no other is better in the long run" is tested on its own. It is true of the best, so
    the best is taken for worse with a chance of at most alpha, however many columns there are, and
    nothing has to be corrected for which of them happened to come out first.

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

    Source: S. Gupta, On some multiple decision rules, Technometrics 7, 1965.
    """
    n, m = values.shape
    if m < 2 or not n:
        return np.ones(m)
    terms = values if weights is None else values * scaled(weights)[:, None]
    # Sums of products instead of an array of all differences: (m, m), i ahead of j.
    # The norm is of the leads, which all flips keep; so it stands outside of the loop of flips.
    squares = np.stack([((terms - terms[:, [j]]) ** 2).sum(axis=0) for j in range(m)], axis=1)
    # Two that never differ have no lead: 0 over infinity is 0, where 0 over 0 would be NaN.
    norms = np.where(squares <= n * TOLERANCE**2, np.inf, np.sqrt(squares))

    def largest(sums: Floats) -> Floats:
        ahead = [((sums - sums[:, [j]]) / norms[:, j]).max(axis=1) for j in range(m)]
        statistics: Floats = np.maximum(np.stack(ahead, axis=1), 0.0)
        return statistics

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        # A question's values turn together, for every two settings: their leads hang together.
        signs = np.random.default_rng(child).integers(0, 2, (size, n)) * 2.0 - 1
        return largest(signs @ terms)

    (observed,) = largest(terms.sum(axis=0)[None])
    drawn = np.concatenate(list(blocks(max(n, m), count, seed, work)))
    extreme = (drawn >= observed * (1 - ROUNDING) - ROUNDING).sum(axis=0)
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
    n, member = int(present.sum()), np.zeros((len(values), len(parts)))
    for column, rows in enumerate(parts):
        member[rows, column] = 1.0
    member = member[present]
    sizes = member.sum(axis=0)
    testable = (sizes > 0) & (sizes < n)
    if not testable.any():
        return Flipped(np.full(len(parts), np.nan), np.zeros(len(parts))), NO_FAMILY
    weights = of_rows(weights, np.flatnonzero(present))
    points = fixed_point(linearised(values[present, None], weights))[0][:, 0]
    # The deviation of a sum of rows drawn without putting them back.
    deviation = points.std() * np.sqrt(sizes * (n - sizes) / max(n - 1, 1))
    expected, scale = points.mean() * sizes, np.where(deviation > 0, deviation, 1.0)

    def below(shuffled: Floats) -> Floats:
        z = (expected - shuffled @ member) / scale
        return np.maximum(np.where(testable & (deviation > 0), z, 0.0), 0.0)

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        rows = np.broadcast_to(points, (size, n))
        return below(np.random.default_rng(child).permuted(rows, axis=1))

    # A shuffle takes as long as there are rows: of many rows there are fewer.
    shuffles = min(count, max(_LEAST_SHUFFLES, 5 * CELLS // n))
    observed, drawn = below(points), np.concatenate(list(blocks(n, shuffles, seed, work)))
    extreme = (drawn >= observed * (1 - ROUNDING)).sum(axis=0)
    p = np.where(testable, (extreme + 1) / (len(drawn) + 1), np.nan)
    # Other families have one maximum a flip; fewer shuffles are repeated up to as many.
    maxima = np.resize(drawn.max(axis=1) - handicap, count)
    return Flipped(p, np.maximum(observed - handicap, 0.0)), Family(maxima, int(testable.sum()))
