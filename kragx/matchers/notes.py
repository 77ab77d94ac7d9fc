"""What a match takes note of: counts for its result, and findings that are warned of at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kragx.ground.caller_warnings import warn

if TYPE_CHECKING:
    from kragx.judging.judgement_counts import Tally


class MatchWarning(UserWarning):
    """Something about the texts makes matches less than they seem; said once per evaluation."""


@dataclass
class Finding:
    """What questions show together, and single ones do not; of plain values, as files keep it.

    Attributes:
        counts: by name.
        example: what the first of the questions shows; empty without one.
    """

    counts: Counter[str] = field(default_factory=Counter)
    example: dict[str, str] = field(default_factory=dict)

    def merge(self, later: Self) -> None:
        """Add what the questions after these have shown."""
        self.counts.update(later.counts)
        self.example = self.example or later.example

    def problem(self) -> str:
        """What to warn of; empty for nothing."""
        return ""


F = TypeVar("F", bound=Finding)


class Notes(Counter[str]):
    """Counts of a match that belong into its result; what judging took stands in `judging`.

    Notes of questions and of those after them come to those of all (`merge`), in whatever parts
    they were matched.
    """

    @cached_property
    def judging(self) -> Tally:
        """What judging took, and what is missing."""
        from kragx.judging.judgement_counts import Tally

        return Tally()

    @cached_property
    def findings(self) -> dict[tuple[str, str], Finding]:
        """By the kind of finding and the matcher's settings."""
        return {}

    def finding(self, settings: object, kind: str, make: Callable[[], F]) -> F:
        """The finding of this kind by the matcher with these settings, made if there is none."""
        key = kind, repr(settings)
        if key not in self.findings:
            self.findings[key] = make()
        return self.findings[key]  # type: ignore[return-value]

    def of_kind(self, kind: str) -> list[Finding]:
        """The findings of this kind, of whichever matchers."""
        return [finding for (name, _), finding in self.findings.items() if name == kind]

    def merge(self, later: Notes) -> None:
        """Add what was noted of the questions after these."""
        self.update(later)
        if "judging" in later.__dict__:
            self.judging.add(later.judging)
        for key, finding in later.findings.items():
            if key in self.findings:
                self.findings[key].merge(finding)
            else:
                self.findings[key] = finding

    def warn(self) -> None:
        """Warn of what was found in all questions."""
        for key in sorted(self.findings):  # the same order for parts of any size
            if problem := self.findings[key].problem():
                warn(problem, MatchWarning)

    def __reduce__(self) -> tuple[Any, ...]:
        # A Counter alone would be sent, without what stands beside its counts.
        return type(self), (dict(self),), self.__dict__
