"""An interval of a total that may be looked at after every draw."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from kragx.comparison.statistics import CONFIDENCE
from kragx.data.lists import Floats, Ints

_SHARES = (0.04, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.95)
"""Shares of the capital that are bet side by side: small ones find small differences."""

_LEAST = 1e-12  # a mean at the end of what can be takes all capital of who is wrong
_SLACK = 1e-12  # of rounding, in sums
_STEPS = 50
"""Halvings until two ends of a bisection are as near as numbers can say."""


@dataclass(frozen=True)
class Drawn:
    """Terms of a total in the order in which they were drawn, as far as each is known.

    Attributes:
        low, high: (n) between which each term lies; alike where it is known.
        most: (n) the most that each term can be, whatever its sign, above 0: each was drawn from
            those that were left with a chance proportional to it.
        rest: the sum of the same of terms that are still to come, of which nothing is known.
    """

    low: Floats
    high: Floats
    most: Floats
    rest: float = 0.0

    def mirrored(self) -> Drawn:
        """The same terms with their signs turned."""
        return Drawn(-self.high, -self.low, self.most, self.rest)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Between which the total lies, however often one looks, whenever one stops.

        What is not known of a term counts at its worst on either side, which only ever widens the
        interval. A term that is put off takes nothing away from the guarantee, therefore.
        """
        return self._least(confidence), -self.mirrored()._least(confidence)

    @property
    def left(self) -> Floats:
        """(n) the sum of `most` of those that each term was drawn from."""
        sums: Floats = np.cumsum(self.most[::-1])[::-1] + self.rest
        return sums

    def _least(self, confidence: float) -> float:
        lower, upper = float(self.low.sum()) - self.rest, float(self.high.sum()) + self.rest
        if lower == upper or self.evidence(lower) < needed(confidence):
            return lower
        for _ in range(_STEPS):
            middle = (lower + upper) / 2
            if self.evidence(middle) >= needed(confidence):
                lower = middle
            else:
                upper = middle
        return lower

    def evidence(self, total: float) -> float:
        """The logarithm of the greatest capital of who bets that the total is above a number.

        Were the total that number, term t over its `most` would have the mean
        m = (total - sum of the terms before) / (sum of `most` of those left), whatever came
        before; a bet of a share c of the capital on more takes it times 1 - c + c (1 + x)/(1 + m),
        which is 1 on average. So it reaches 40 with a chance of at most 1 in 40 (Ville). It falls
        as the total rises, so what it refutes lies below one number.

        Source: S. Shekhar, Z. Xu, Z. Lipton, P. Liang, A. Ramdas, Risk-limiting financial audits
        via weighted sampling without replacement, UAI 2023; I. Waudby-Smith, A. Ramdas, Estimating
        means of bounded random variables by betting, JRSS B 86, 2023.
        """
        return float(np.max(self.capital(total), initial=0.0))

    def capital(self, total: float) -> Floats:
        """(..., n) its logarithm after each draw; of terms (..., n), for each row."""
        before = np.cumsum(self.low, axis=-1) - self.low
        mean = (total - before) / self.left
        ratio = (1 + self.low / self.most) / np.maximum(1 + mean, _LEAST)
        growth = (np.log1p(share * (ratio - 1)).cumsum(axis=-1) for share in _SHARES)
        capital: Floats = np.logaddexp.reduce(list(growth)) - log(len(_SHARES))
        return capital

    def first_above(self, total: float, confidence: float = CONFIDENCE) -> Ints:
        """(...) how many draws it takes to see that the total is above a number; n + 1 for none."""
        after = self.left - self.most
        is_above = np.cumsum(self.low, axis=-1) - after > total + _SLACK * self.left[0]
        is_above |= self.capital(total) >= needed(confidence)
        n = self.most.size
        return np.where(is_above.any(axis=-1), is_above.argmax(axis=-1) + 1, n + 1)


def needed(confidence: float) -> float:
    """The logarithm of the capital that refutes a number on one of two sides."""
    return log(2 / (1 - confidence))
