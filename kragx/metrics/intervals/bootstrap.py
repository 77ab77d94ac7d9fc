"""The bootstrap over queries: how often each query stands in each resample, and intervals.

There is one: means, differences, agreement and calibration all resample through `resampled`.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from math import isnan, sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np

from kragx.data.lists import Bools, Floats
from kragx.ground.errors import UsageError
from kragx.ground.printing import message
from kragx.metrics.intervals.student import student_t
from kragx.metrics.weights import effective_n, mean_and_variance


def fixed_point(values: Floats) -> tuple[Floats, Floats]:
    """Values as whole numbers of a unit, so that sums over the rows are exact.

    Matrix products add in an order that depends on the machine and its threads, and floating-point
    sums depend on the order. Whole numbers below 2**53 do not: every partial sum is exact. So the
    columns are rounded to multiples of a power of two, chosen so that no sum of n of them, nor its
    double, reaches 2**53. With 10,000 rows values between 0 and 1 move by less than 2e-12.

    Args:
        values: (n, c), without NaN.

    Returns:
        (n, c) whole numbers as floats, and (c) the unit of each column.
    """
    n = len(values)
    bits = 51 - int(np.ceil(np.log2(max(n, 1))))
    top = np.abs(values).max(axis=0, initial=0.0)
    _, exponent = np.frexp(top)  # top < 2**exponent
    # Below 2**-1022 numbers lose bits themselves.
    unit = np.ldexp(1.0, np.where(top > 0, np.maximum(exponent - bits, -1022), 0))
    return np.rint(values / unit), unit


RESAMPLES = 10_000
"""How many bootstrap resamples, or random sign flips, unless told otherwise."""

MOST_RESAMPLES = 1_000_000
"""And how many at most: a hundred times the time, for intervals that are the same."""

SEED = 0
"""The seed of what is random, unless told otherwise: the same data give the same interval."""

_BLOCK_CELLS = 4_000_000

Outcome = TypeVar("Outcome")
Draw = Callable[[int, np.random.SeedSequence], Outcome]


def blocks(n: int, count: int, seed: int, work: Draw[Outcome]) -> Iterator[Outcome]:
    """The results of `work` for `count` random rows of n cells, block by block, in order.

    Args:
        n: cells of a row.
        count: how many rows; a block has as many as fit in 4 million cells.
        seed: each block has a seed of its own.
        work: from a number of rows and a seed to a result.

    Raises:
        UsageError: `count` is not above 0, or above `MOST_RESAMPLES`.
    """
    if not 1 <= count <= MOST_RESAMPLES:
        raise UsageError(
            "{count} is not from 1 to {most_resamples:,}",
            field="resamples",
            count=count,
            most_resamples=MOST_RESAMPLES,
        )
    # Blocks depend on n and count alone, so that the same data draw the same rows anywhere.
    rows = max(1, min(count, _BLOCK_CELLS // max(n, 1)))
    sizes = [rows] * (count // rows) + ([count % rows] if count % rows else [])
    seeds = np.random.SeedSequence(seed).spawn(len(sizes))
    return map(work, sizes, seeds)


def _weights(n: int, size: int, seed: np.random.SeedSequence) -> Floats:
    """(size, n) how often each query was drawn, as whole numbers; rows sum to n."""
    drawn = np.random.default_rng(seed).integers(0, n, size=(size, n))
    # Each row has a range of numbers of its own, so that one count serves all rows.
    drawn += n * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def resampled(
    terms: Floats,
    statistic: Callable[[Floats], Floats],
    count: int = RESAMPLES,
    seed: int = SEED,
) -> Floats:
    """A statistic that is made of sums over queries, in each bootstrap resample of the queries.

    Such a statistic needs no copy of the data: with the terms as rows of x and how often each query
    was drawn as weights, ``weights @ x`` has the sums of every resample. Blocks of weights are no
    larger than 32 MB.

    Args:
        terms: (n, ...) what each query adds to the sums.
        statistic: from sums of shape (b, ...), of b resamples, to values of shape (b, ...).
        count: how many resamples.
        seed: the same seed draws the same resamples, whatever is made of them.

    Returns:
        (count, ...) the values of `statistic`.

    Raises:
        UsageError: there is no query, or `count` is not above 0.
    """
    n = len(terms)
    if n < 1:
        raise UsageError("no queries to resample")
    flat = terms.reshape(n, -1)
    rows = max(1, _BLOCK_CELLS // max(flat.shape[1], 1))  # sums are to need no more than weights

    def work(size: int, child: np.random.SeedSequence) -> Floats:
        weights = _weights(n, size, child)
        sums = (weights[start : start + rows] @ flat for start in range(0, size, rows))
        return np.concatenate([statistic(part.reshape(-1, *terms.shape[1:])) for part in sums])

    return np.concatenate(list(blocks(n, count, seed, work)))


def resampled_means(values: Floats, count: int = RESAMPLES, seed: int = SEED) -> Floats:
    """The mean of each column in each bootstrap resample of the rows.

    Args:
        values: (q, c) a value for each query; NaN where it has none. A column's mean is over those
            of its own queries that a resample drew.
        count: how many resamples, the same for every column.
        seed: the same seed gives the same bits.

    Returns:
        (count, c); NaN where a resample drew no query that has a value.
    """
    defined = ~np.isnan(values)
    grid, unit = fixed_point(np.where(defined, values, 0.0))
    # Columns that lack the same queries share one count; usually none lacks any.
    patterns, pattern_of = np.unique(defined, axis=1, return_inverse=True)
    c = values.shape[1]

    def means(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            ratio: Floats = sums[:, :c] * unit / sums[:, c:][:, pattern_of.ravel()]
        return ratio

    terms = np.hstack([grid, patterns.astype(np.float64)])
    return resampled(terms, means, count, seed)


CONFIDENCE = 0.95
"""The confidence of an interval, unless told otherwise."""

MOST_CONFIDENCE = 0.9999
"""And the highest: beyond it an interval rests on less than one resample in 10,000."""

Interval = tuple[float, float]

LEAST = 3
"""Of fewer queries there is no interval: two hits of two say next to nothing."""

TOLERANCE = 1e-9
"""Values that differ by no more than this are equal: sums of fractions are not exact."""

_COLUMNS = 1_000

MANY = 10_000
"""Resamples of so many values take seconds, and only repeat what Student's interval says."""

DECIMALS = 12
"""Sums in another order differ behind these; what is shown is to be the same on any machine."""


def check_confidence(value: float, lowest: float = 0.0) -> float:
    """`value` if it is a confidence, at least `lowest` and at most `MOST_CONFIDENCE`.

    Raises:
        UsageError: it is none.
    """
    # True is the number 1 to Python, and no confidence.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (is_number and 0 < value <= MOST_CONFIDENCE and value >= lowest):
        problem = message(
            "{value!r} is not between {lowest:g} and {most}",
            value=value,
            lowest=lowest,
            most=MOST_CONFIDENCE,
        )
        raise UsageError(problem, field="confidence", remedy="0.95 is usual")
    return float(value)


def percentile_interval(sampled: Floats, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval that holds the middle `confidence` of resampled values.

    Args:
        sampled: (count) the statistic of each resample; NaN where a resample leaves it undefined.
        confidence: between 0 and 1.

    Returns:
        Its ends; None if no resample has a value.

    Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    low, high = _percentiles(sampled[:, None], confidence)[:, 0].tolist()
    return None if isnan(low) else (low, high)


def percentile_intervals(
    values: Floats,
    confidence: float = CONFIDENCE,
    count: int = RESAMPLES,
    seed: int = SEED,
    *,
    weights: Floats | None = None,
) -> Floats:
    """The expanded percentile interval of each column's mean.

    Args:
        values: (q, c) as for `resampled_means`.
        confidence: between 0 and 1.
        count: how many resamples.
        seed: of the resamples.
        weights: (q) of the queries; None where all are alike.

    Returns:
        (2, c) the ends; NaN for a column with fewer than three values, by weights too (Kish), and
        where all are the same: resamples say nothing of either. Of more than 10,000 values they are
        Student's, which resamples then only repeat; with weights, too, as resamples of a few heavy
        queries cover .87 to .92 (docs/evidence/intervals.md).

    Source: as of `expanded_intervals`.
    """
    ends = np.full((2, values.shape[1]), np.nan)
    # What weighs nothing is in no mean, and must not make one look surer.
    values = values if weights is None else np.where(weights[:, None] > 0, values, np.nan)
    n = (~np.isnan(values)).sum(axis=0)
    n_sure = n
    if weights is not None:
        n_sure = np.array([round(effective_n(weights, column)) for column in ~np.isnan(values).T])
    varied = np.flatnonzero((n_sure >= LEAST) & ~_alike(values))
    is_large = (n[varied] > MANY) | (weights is not None)
    large, varied = varied[is_large], varied[~is_large]
    if large.size:
        ends[:, large] = _student_intervals(values[:, large], confidence, weights)
    for start in range(0, len(varied), _COLUMNS):
        columns = varied[start : start + _COLUMNS]
        sampled = resampled_means(values[:, columns], count, seed)
        for size in np.unique(n[columns]):
            same = n[columns] == size
            ends[:, columns[same]] = _percentiles(sampled[:, same], expanded(confidence, int(size)))
    return ends


def _student_intervals(values: Floats, confidence: float, weights: Floats | None) -> Floats:
    """(2, c) Student's interval of each column's mean; with weights of Kish's number of queries."""
    present = ~np.isnan(values)
    n = present.sum(axis=0).astype(np.float64)
    if weights is None:
        mean, error = np.nanmean(values, axis=0), np.nanstd(values, axis=0, ddof=1) / n**0.5
    else:
        mean, variance = mean_and_variance(values, weights)
        # The variance has n / (n - 1) of all questions; that of Kish's number takes its place.
        n_effective = np.array([effective_n(weights, column) for column in present.T])
        error, n = np.sqrt(variance * (1 - 1 / n) / (1 - 1 / n_effective)), n_effective
    p = (1 + confidence) / 2
    margin = np.array([student_t(p, int(count) - 1) for count in n.tolist()]) * error
    ends: Floats = np.stack([mean - margin, mean + margin]).round(DECIMALS)
    return ends


def _alike(values: Floats) -> Bools:
    """(c) whether all values of a column are the same, but for their last digits."""
    defined = ~np.isnan(values)
    greatest = np.where(defined, values, -np.inf).max(axis=0, initial=-np.inf)
    smallest = np.where(defined, values, np.inf).min(axis=0, initial=np.inf)
    alike: Bools = greatest - smallest <= TOLERANCE
    return alike


def _percentiles(sampled: Floats, confidence: float) -> Floats:
    """(2, c) the same of (count, c) values; NaN where no resample has one."""
    tail = (1 - confidence) / 2
    columns = np.array(sampled.T, order="C")  # three times as fast as down the rows
    quantile = np.nanquantile if np.isnan(columns).any() else np.quantile  # column by column, slow
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return quantile(columns, (tail, 1 - tail), axis=1, overwrite_input=True)


def expanded_intervals(
    terms: Floats,
    statistics: Callable[[Floats], Mapping[str, Floats]],
    *,
    confidence: float = CONFIDENCE,
    count: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Interval | None]:
    """Expanded percentile intervals of statistics that are made of sums over queries.

    The plain percentile bootstrap is too narrow for few units: its spread lacks the factor
    n / (n - 1), and it uses normal where Student's tails are due. Taking percentiles further out by
    just that much puts it right (docs/evidence/agreement.md has what was measured).

    Args:
        terms: (q, ...) what each query adds to the sums.
        statistics: from sums of shape (b, ...) to values of shape (b), by name; NaN is undefined.
        confidence: between 0 and 1.
        count: how many resamples.
        seed: the same seed draws the same resamples.

    Returns:
        The ends by name; None with fewer than three queries, where no resample has a value, and
        where all have the same: an interval without width would say that nothing is uncertain.

    Source: T. Hesterberg, What Teachers Should Know About the Bootstrap, 2015, section 4.6.
    """
    names = list(statistics(terms.sum(0, keepdims=True)))
    if len(terms) < LEAST:
        return dict.fromkeys(names)

    def columns(sums: Floats) -> Floats:
        return np.stack(list(statistics(sums).values()), axis=1)

    sampled = resampled(terms, columns, count, seed)
    ends = _percentiles(sampled, expanded(confidence, len(terms))).T.tolist()
    return {
        # No comparison with NaN holds: what no resample defines has no interval either.
        name: (low, high) if low < high else None
        for name, (low, high) in zip(names, ends, strict=True)
    }


def expanded(confidence: float, n: int) -> float:
    """The confidence to ask percentiles for, so that n units give the `confidence` wanted."""
    reach = sqrt(n / (n - 1)) * student_t((1 + confidence) / 2, n - 1)
    return 2 * NormalDist().cdf(reach) - 1
