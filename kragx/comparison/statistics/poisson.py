"""The Poisson bootstrap: resamples of so many questions that none is drawn out of all of them.

In each resample each question stands as often as its own Poisson number of mean 1 says. A hash of
the question and the resample gives that number, so it depends on no other question: whoever looks
at a part of them draws what whoever looks at all of them would draw, and nothing is kept.

Sources: J. Hanley, B. MacGibbon, Creating non-parametric bootstrap samples using Poisson
frequencies, Computer Methods and Programs in Biomedicine 83, 2006; N. Chamandy, O. Muralidharan,
A. Najmi, S. Naidu, Estimating uncertainty for massive data streams, Google, 2012. The hash is that
of G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

from collections.abc import Callable
from math import exp, factorial, fsum

import numpy as np
from numpy.typing import NDArray

from kragx.metrics import Floats

Hashes = NDArray[np.uint64]
Counts = NDArray[np.uint8]

RESAMPLES = 100
"""So many say how far a number varies to within a fifteenth of that."""

_AT_ONCE = 1 << 18  # questions whose hashes are in the processor's near memory
_STEP, _FIRST, _SECOND = (
    np.uint64(own) for own in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_CUTS = np.array(
    [
        int(fsum(exp(-1) / factorial(k) for k in range(most + 1)) * 2.0**64)
        for most in range(16)
        if fsum(exp(-1) / factorial(k) for k in range(most + 1)) < 1
    ],
    np.uint64,
)
"""From each of these hashes on a question stands once more in the resample."""


def poisson_counts(questions: Hashes, resample: int, seed: int = 0) -> Counts:
    """How often each question stands in a resample.

    Args:
        questions: (n) a number for each, whichever; the same one is drawn the same.
        resample: its number, from 0.
        seed: another one draws others.

    Returns:
        (n) Poisson numbers of mean 1.
    """
    start = np.array([seed], np.uint64) * _FIRST + np.uint64(resample)
    start = _mixed(start * _STEP + _SECOND)
    return np.searchsorted(_CUTS, _mixed(questions * _STEP + start), side="right").astype(np.uint8)


def _mixed(numbers: Hashes) -> Hashes:
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return numbers ^ (numbers >> np.uint64(31))


def poisson_resampled(
    values: Floats, number: Callable[[Floats], float], count: int = RESAMPLES, seed: int = 0
) -> Floats:
    """A number of each resample of the rows.

    Args:
        values: (n, c).
        number: makes it of the rows that a resample has, (m, c); any number of questions has, be it
            a percentile, a ratio or a mean.
        count: how many resamples.
        seed: the same seed gives the same bits.

    Returns:
        (count).
    """
    n = len(values)
    numbers = np.empty(count)
    for resample in range(count):
        rows = [
            np.repeat(np.arange(start, stop), poisson_counts(own, resample, seed))
            for start in range(0, n, _AT_ONCE)
            for stop in [min(start + _AT_ONCE, n)]
            for own in [np.arange(start, stop, dtype=np.uint64)]
        ]
        numbers[resample] = number(values[np.concatenate(rows)])
    return numbers
