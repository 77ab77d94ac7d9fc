"""What a matcher that judges may also be able to do, and what any other one answers there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from kragx.errors import UsageError
from kragx.matchers.items import MatchItem
from kragx.plain import plain

if TYPE_CHECKING:
    from kragx.judging import Judge
    from kragx.judging.budget import Plan
    from kragx.judging.pool import Pool
    from kragx.judging.tally import Tally
    from kragx.matchers.base import BaseMatcher

Sayings = dict[tuple[str, str, str], tuple[float | None, str]]
"""For (query id, document text, gold text, empty for relevance) a judge's grade and the reason; the
grade is None, and the reason what went wrong, where there is no grade."""


class Judging:
    """The part of `BaseMatcher` that is about judges; a matcher that has none keeps it as it is.

    Attributes:
        judges: whether its scores are judgements that are paid for: it asks for the wanted pairs
            alone, combinations ask it last, and results tell what it took.
        votes: whether several judges decide its scores, so that `trace` tells how far they differ.
        uses_gold: whether the gold is what documents are matched with.
        of_context: whether what it is given as a document is a whole context, all that was
            retrieved down to a cut-off: then it decides about facts alone.
        pool: the judged documents that are the gold instead.
    """

    name: str
    members: tuple[BaseMatcher, ...]
    judges: bool = False
    votes: bool = False
    uses_gold: bool = True
    of_context: bool = False
    pool: Pool | None = None

    def of_members(self, change: Callable[[BaseMatcher], BaseMatcher]) -> Self:
        """Of a combination the same with every member changed; any other matcher is itself."""
        return self

    def judging(self, **options: Any) -> Self:
        """This matcher with these options of its judges, whichever it has."""
        return self.of_members(lambda member: member.judging(**options))

    def offline(self) -> Self:
        """This matcher with judges that answer from their store alone, so that asking is free."""
        return self.judging(dry_run=True, progress=False)

    @property
    def graders(self) -> tuple[Judge, ...]:
        """The judges that it asks, or that its members ask."""
        return tuple(judge for member in self.members for judge in member.graders)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What dry runs of its judges would have asked so far."""
        return tuple(judge.plan for judge in self.graders)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """What judging took, for a result; of a matcher that judges."""
        return {"model": self.name, "cost": None, "currency": None, **plain(tally)}

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """What a judge's store has for the documents of these queries; nothing is asked."""
        items, members = [*items], reversed(self.members)  # of two that know a pair the first
        return {pair: text for member in members for pair, text in member.said(items).items()}

    def against_gold(self) -> BaseMatcher:
        """This matcher as it is asked where there is gold for sure."""
        return self  # type: ignore[return-value]  # as it is the base of that alone

    def of_relevance(self, depth: int | None) -> BaseMatcher:
        """This matcher as it judges how relevant documents are to questions, whatever the gold.

        Args:
            depth: how many documents of each list are judged; None for all.

        Raises:
            UsageError: it is no judge of that.
        """
        raise UsageError(
            f"{self.name or type(self).__name__!r} is no LLM judge, and relevance is what one "
            "judges",
            field="relevance_match",
            remedy="name llm",
        )

    def needs_pool(self, items: Iterable[MatchItem]) -> bool:
        """Whether these queries are judged without gold, so that a pool must be made first."""
        return not self.uses_gold

    def pooled(self, runs: Iterable[Iterable[MatchItem]]) -> BaseMatcher:
        """The matcher with the pool of several runs over the same queries as gold.

        Raises:
            UsageError: this is no judge of relevance.
        """
        raise UsageError(f"{self.name!r} is no LLM judge, and a pool is what one judged")
