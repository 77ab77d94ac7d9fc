"""Micro averages: counts that are pooled over queries before anything is divided."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PooledCounts:
    """The four counts of a micro average, over the queries that were scored.

    There is no single count of true positives: one chunk that covers two gold items is one
    relevant document and two found gold items.
    """

    relevant: int
    other: int
    found: int
    missed: int

    def precision(self) -> float:
        """Relevant documents over all; 0 without any."""
        return _share(self.relevant, self.other)

    def recall(self) -> float:
        """Found gold over all; 0 without any."""
        return _share(self.found, self.missed)

    def f1(self) -> float:
        """The harmonic mean of the two."""
        return harmonic(self.precision(), self.recall())


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else 0.0


def harmonic(precision: float, recall: float) -> float:
    """The harmonic mean; 0 where both are."""
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0
