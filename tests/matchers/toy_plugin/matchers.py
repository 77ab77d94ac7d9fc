"""A matcher that a user of kragx might write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass
class StartsWith:
    """Scores how much of the gold text's beginning the document begins with.

    Attributes:
        threshold: the least share of the gold text that is a match.
    """

    threshold: float = 0.5

    def scores(self, items: Iterable, notes: Counter[str]) -> Iterator[list[list[float]]]:
        """Yield the share of each gold text with which each document begins."""
        for item in items:
            notes["n_compared"] += len(item.docs) * len(item.targets)
            yield [
                [common_start(doc.text, target.text) / len(target.text) for target in item.targets]
                for doc in item.docs
            ]


def common_start(left: str, right: str) -> int:
    """How many characters two texts share at their beginning."""
    return next(
        (i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right))
    )


class Fixed:
    """A matcher that is no dataclass and answers the same for every pair."""

    name = "fixed"
    threshold = 0.25

    def __init__(self, value: float) -> None:
        self.value = value

    def scores(self, items: Iterable, notes: Counter[str]) -> Iterator[list[list[float]]]:
        """Yield the fixed value for every pair."""
        for item in items:
            yield [[self.value] * len(item.targets) for _ in item.docs]


half = Fixed(0.5)


class Failing:
    """A matcher that cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("the model file is missing")


class NoMatcher:
    """A class without what a matcher needs."""
