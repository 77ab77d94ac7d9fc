"""A number with how sure it is: a mean, or the difference of two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kragx.printing import Line, Result, interval, number, probability, signed

Direction = Literal["higher", "lower", "neither"]
Verdict = Literal["better", "worse", "different", "undecided", "untested"]


@dataclass(frozen=True, slots=True)
class Estimate(Result):
    """A mean with its interval.

    Attributes:
        value: the mean, or the run's own number (a percentile, a throughput); None where there is
            nothing to take it of.
        low, high: the bootstrap interval over queries; None for a run's own number, or with fewer
            than two queries.
        n: how many queries have a value.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    def describe(self) -> Iterator[Line]:
        """The value and its interval."""
        yield Line(f"{number(self.value)} {interval(self.low, self.high)}".rstrip())


@dataclass(frozen=True, slots=True)
class Difference(Result):
    """One retriever against another in one metric, over the queries where both have a value.

    Attributes:
        metric, retriever, against: of what; `against` is the baseline, or the one that the leader
            is set against.
        value: the mean of the differences (of a run's own number: the difference).
        low, high: its bootstrap interval; None where nothing was tested.
        n: how many queries both have a value for.
        p: of the paired randomisation test, two-sided; None where nothing was tested.
        p_adjusted: p after the correction; the same as p without one.
        effect: Cohen's d_z; None where all queries differ by the same, or n < 2.
        wins, ties, losses: queries where `retriever` is better, equal, worse. For a metric without
            a direction: higher, equal, lower.
        verdict: ``better`` or ``worse`` where `p_adjusted` is at most 1 - confidence and the
            interval leaves 0 out; ``different`` then for a metric without a direction;
            ``undecided`` where the data does not say; ``untested`` for a run's own number.
    """

    metric: str
    retriever: str
    against: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    effect: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    verdict: Verdict = "untested"

    @property
    def decided(self) -> bool:
        """Whether the data says that the two differ."""
        return self.verdict in ("better", "worse", "different")

    @property
    def never_differs(self) -> bool:
        """Whether the two have the same value for every query."""
        return self.p is not None and self.wins == self.losses == 0

    @property
    def text(self) -> str:
        """Its numbers as people read them."""
        if self.value is None:
            return "difference is not known"
        ends = interval(self.low, self.high, plus=True)
        text = f"difference is {signed(self.value)} {ends}".rstrip()
        if self.p_adjusted is None:
            return text
        corrected = "" if self.p_adjusted == self.p else " after correction"
        equals = "" if self.p_adjusted < 0.0001 else "= "
        return f"{text}, p {equals}{probability(self.p_adjusted)}{corrected}"

    def describe(self) -> Iterator[Line]:
        """Who against whom, the numbers, and what they decide."""
        names = f"{self.retriever} against {self.against}"
        yield Line(f"{self.metric}: {names}: {self.text}; {self.verdict}")
