"""Which tests are corrected together: the question that was asked, all else, and measured times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kragx.comparison.statistics import NO_FAMILY, Family
from kragx.ground.printing import joined, phrase
from kragx.metrics import Floats, Ints, known_metric

FIRST, OTHERS, TIMES = range(3)
"""The families, as `Families` counts them."""

N_FAMILIES = 3


def is_time(metric: str) -> bool:
    """Whether a metric is a measured time, which is another one at each run."""
    known_as = known_metric(metric)
    return known_as is not None and known_as.unit == "seconds"


def family_of(metric: str, first: str, *, whole: bool = True) -> int:
    """Which family the tests of a metric belong to.

    Args:
        metric: its name.
        first: the first metric.
        whole: whether over all questions; within a slice no test is of the question asked.
    """
    # A slice of the first metric is looked at besides: it was not the question.
    if whole and metric == first:
        return FIRST
    return TIMES if is_time(metric) else OTHERS


def correction_text(n_tests: Mapping[int, int], first: str, *, slices: bool) -> str:
    """Over how many tests each family that is shown is corrected, in words.

    Args:
        n_tests: of each family that is shown.
        first: the first metric.
        slices: whether there are slices, too.
    """
    sentences = {
        FIRST: phrase("{metric} over {n:,}", metric=first, n=n_tests.get(FIRST, 0)),
        OTHERS: phrase(
            "other metrics and slices over {n:,}" if slices else "other metrics over {n:,}",
            n=n_tests.get(OTHERS, 0),
        ),
        TIMES: phrase("times over {n:,}", n=n_tests.get(TIMES, 0)),
    }
    return joined(", ", [sentences[family] for family in sorted(n_tests)])


@dataclass(frozen=True)
class Families:
    """All tests of a report; each family errs with a chance of alpha at most.

    The first metric is the question that was asked, so what else is shown never changes its p. All
    else that is found is looked at beside it, and times are others at each run.

    Attributes:
        first: the first metric over all questions, every two retrievers under one matcher.
        others: the other metrics but times, and every slice, under every matcher.
        times: measured times, over all questions and in every slice, likewise.
    """

    first: Family = NO_FAMILY
    others: Family = NO_FAMILY
    times: Family = NO_FAMILY

    @classmethod
    def joined(cls, several: Iterable[Families]) -> Families:
        """The tests of several."""
        parts = list(several)
        return cls(
            Family.of(part.first for part in parts),
            Family.of(part.others for part in parts),
            Family.of(part.times for part in parts),
        )

    def adjusted(self, family_of: Ints, p: Floats, z: Floats) -> Floats:
        """The p of tests, each corrected over its family: `FIRST`, `OTHERS` or `TIMES`."""
        adjusted = p.copy()
        for number, family in enumerate((self.first, self.others, self.times)):
            adjusted[family_of == number] = family.adjusted(
                p[family_of == number], z[family_of == number]
            )
        return adjusted
