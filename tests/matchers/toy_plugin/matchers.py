"""A matcher that a user of kragx might write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from kragx.judging import Tally
from kragx.matchers import BaseMatcher, Diagnostics


@dataclass
class StartsWith:
    """Scores how much of the gold text's beginning the document begins with.

    Attributes:
        threshold: the least share of the gold text that is a match.
    """

    threshold: float = 0.5

    def scores(self, items: Iterable, diagnostics: Counter[str]) -> Iterator[list[list[float]]]:
        """Yield the share of each gold text with which each document begins."""
        for item in items:
            diagnostics["n_compared"] += len(item.docs) * len(item.targets)
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

    def scores(self, items: Iterable, diagnostics: Counter[str]) -> Iterator[list[list[float]]]:
        """Yield the fixed value for every pair."""
        for item in items:
            yield [[self.value] * len(item.targets) for _ in item.docs]


half = Fixed(0.5)


@dataclass(frozen=True)
class Referee(BaseMatcher):
    """A judge of a third party: it grades 0 to 3, asks for open pairs only, and may not know.

    Attributes:
        threshold: the least grade that is a match.
        language: what it speaks.
    """

    threshold: float = 2.0
    language: Literal["ko", "en"] = "ko"
    name = "referee"
    top = 3
    asks = True
    judges = True
    may_not_know = True
    asked: ClassVar[list[tuple[str, str]]] = []

    def scores(self, items: Iterable, diagnostics: Diagnostics) -> Iterator[np.ndarray]:
        """Grade the wanted pairs; a document with a question mark is beyond it."""
        for item in items:
            grades = np.zeros((len(item.docs), len(item.targets)))
            for row, doc in enumerate(item.docs):
                for column, target in enumerate(item.targets):
                    if item.wanted[row, column]:
                        self.asked.append((doc.text, target.text))
                        failed = "?" in doc.text
                        grades[row, column] = np.nan if failed else 3 * ("!" in doc.text)
                        diagnostics.judging.add(
                            Tally(n_calls=1, n_judgements=1, n_missing=int(failed))
                        )
            yield grades

    def said(self, items: Iterable) -> dict:
        """A reason for each pair."""
        return {
            (item.query.id, doc.text, target.text): (None, f"saw {doc.text}")
            for item in items
            for doc in item.docs
            for target in item.targets
        }


class Failing:
    """A matcher that cannot be made."""

    def __init__(self) -> None:
        raise RuntimeError("the model file is missing")


class NoMatcher:
    """A class without what a matcher needs."""
