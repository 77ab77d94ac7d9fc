"""Which tests are corrected together: those of what is found, and those of measured times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kragx.comparison.statistics import Family
from kragx.metrics import Floats, known_metric


def is_time(metric: str) -> bool:
    """Whether a metric is a measured time, which is another one at each run."""
    known_as = known_metric(metric)
    return known_as is not None and known_as.unit == "seconds"


_SHARE_OF_TIMES = 0.1
"""Of alpha. Retrievers differ in time by factors, so that little is enough to see it."""


@dataclass(frozen=True)
class Families:
    """All tests of a report in two families: what is found must not depend on the clock.

    Where there are both, each has its share of what may be wrong (weighted Bonferroni), so that all
    that is said at 95 % holds for the report together.

    Attributes:
        found: the tests of all metrics but times.
        times: those of measured times.
    """

    found: Family
    times: Family

    @classmethod
    def joined(cls, several: Iterable[Families]) -> Families:
        """The tests of several."""
        own = list(several)
        return cls(Family.of(each.found for each in own), Family.of(each.times for each in own))

    @property
    def n_tests(self) -> int:
        """How many there are in both."""
        return self.found.n_tests + self.times.n_tests

    def of(self, metric: str) -> Family:
        """The one that the tests of a metric belong to."""
        return self.times if is_time(metric) else self.found

    def share(self, metric: str) -> float:
        """The share of alpha that this one has."""
        if not (self.found.n_tests and self.times.n_tests):
            return 1.0
        return _SHARE_OF_TIMES if is_time(metric) else 1.0 - _SHARE_OF_TIMES

    def adjusted(self, metric: str, p: Floats, z: Floats) -> Floats:
        """The p of tests of a metric, corrected over the report."""
        return np.minimum(1.0, self.of(metric).adjusted(p, z) / self.share(metric))

    def least(self, metric: str, alpha: float) -> float:
        """The statistic from which on a test of a metric is decided."""
        return self.of(metric).least(alpha * self.share(metric))
