"""Matchers made of matchers: all of them, any of them, or a cascade from cheap to dear.

A pair that an earlier matcher has decided is not shown to a judge, which answers only for the rest;
how many of its calls that saved is counted. Its trace says which member was asked what, and
what it decided (`kragx.matchers.reasons`); nothing of that is kept otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kragx.data.batch import Batch
from kragx.data.ngrams import of_pairs
from kragx.matchers.base import BaseMatcher, Sayings, Trace
from kragx.matchers.items import MatchItem, Targets
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats, Profile

if TYPE_CHECKING:
    from kragx.judging.tally import Tally
    from kragx.matchers.vocabulary import Vocabulary

Kind = Literal["any", "all", "cascade"]
KINDS: tuple[Kind, ...] = ("any", "all", "cascade")


@dataclass(frozen=True)
class Step:
    """One matcher of a combination and what its scores decide.

    Attributes:
        matcher: scores the pairs that are still open.
        accept: at or above it a pair is a match; None if this step makes no match.
        reject: below it a pair is none; None if this step rules nothing out.
        place: where the matcher stands in the spec, from 0.
    """

    matcher: BaseMatcher
    accept: float | None = None
    reject: float | None = None
    place: int = 0


@dataclass(frozen=True)
class CombinedMatcher(BaseMatcher):
    """Decides with several matchers; a pair's score is 1 (match), 0, or NaN (not known).

    A cascade whose earlier steps only rule out (reject, no accept) keeps the score of its last
    matcher, and has the threshold of that one; what was ruled out scores 0.

    Attributes:
        kind: ``any``, ``all`` or ``cascade``.
        steps: in the order in which they are asked; the last one decides what is still open.
    """

    kind: Kind
    steps: tuple[Step, ...]
    may_not_know = True

    def __post_init__(self) -> None:
        members = tuple(step.matcher for step in self.steps)
        filters = (
            self.kind == "cascade"
            and all(step.accept is None for step in self.steps[:-1])
            and not (members[-1].yes_or_no or members[-1].judges or members[-1].members)
        )
        self._set(
            name=self.kind,
            members=members,
            places=tuple(step.place for step in self.steps),
            judges=any(member.judges for member in members),
            votes=any(member.votes for member in members),
            vocabulary=next((member.vocabulary for member in members if member.vocabulary), None),
            reads="texts" if any(member.reads == "texts" for member in members) else "ids",
            yes_or_no=not filters,
            tells_siblings=any(member.tells_siblings for member in members),
            threshold=members[-1].threshold if filters else 1.0,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the matchers in order, with their limits."""
        settings: dict[str, Any] = {"method": self.kind, "of": []}
        for step in self.steps:
            options = dict(step.matcher.settings)
            if self.kind == "cascade" and step is not self.steps[-1]:
                options.pop("threshold", None)
                limits = {"accept": step.accept, "reject": step.reject}
                options |= {name: limit for name, limit in limits.items() if limit is not None}
            settings["of"].append(options)
        if not self.yes_or_no:
            settings["threshold"] = settings["of"][-1].pop("threshold")
        return settings

    def _each(self, change: Callable[[BaseMatcher], BaseMatcher]) -> Self:
        """The same with every member changed."""
        steps = (replace(step, matcher=change(step.matcher)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def judging(self, **options: Any) -> Self:
        """The same with every member's judges."""
        return self._each(lambda member: member.judging(**options))

    def for_run(self, name: str) -> Self:
        """The same with every member for this run."""
        return self._each(lambda member: member.for_run(name))

    def siblings_together(self) -> Self:
        """The same with every member's rule switched off."""
        return self._each(lambda member: member.siblings_together())

    @property
    def needs_vocabulary(self) -> bool:
        """Whether a member does."""
        return any(member.needs_vocabulary for member in self.members)

    def knowing(self, vocabulary: Vocabulary) -> Self:
        """The same with every member's."""
        return self._each(lambda member: member.knowing(vocabulary))

    def profile_for(self, profile: Profile) -> Profile:
        """A cascade that filters has scores; what the others give is yes or no."""
        return profile if self.yes_or_no else profile.for_scores(filtered=True)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """As the first judge among the members, with the calls that the others saved."""
        judge = next(member for member in self.members if member.judges)
        return {**judge.summary(tally), "n_calls_saved": tally.n_calls_saved}

    def said(self, items: Iterable[MatchItem]) -> Sayings:
        """What the judges among the members have said."""
        items = list(items)
        return {
            pair: grade
            for member in reversed(self.members)
            for pair, grade in member.said(items).items()
        }

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats | None:
        """What the members say by texts alone; what is left to another one is no match."""
        of_members = [step.matcher.pair_scores(docs, golds) for step in self.steps]
        scores = [member for member in of_members if member is not None]
        if not scores or (self.kind == "all" and len(scores) < len(of_members)):
            return None
        decision = _Decision(self, np.ones(len(docs), bool))
        for step, of_member in zip(self.steps, of_members):
            if of_member is not None:
                decision.take(step, Trace(step.matcher, of_member, decision.open))
            elif self.kind == "cascade":  # whoever is asked here decides all that is open
                break
        return decision.trace().scores

    def batch_trace(self, batch: Batch, notes: Notes, wanted: Bools) -> Trace:
        """1, 0 and NaN, and what each member was asked; pairs that are not wanted are 0."""
        decision = _Decision(self, wanted)
        for step in self.steps:
            if step.matcher.judges and not step.matcher.members:
                notes.judging.n_calls_saved += _n_spared(batch, wanted, decision.open)
            decision.take(step, step.matcher.trace(batch, notes, decision.open))
        return decision.trace()


class _Decision:
    """What the members of a combination have decided of the wanted pairs, one after another.

    Attributes:
        open: the pairs that the next member is asked for.
    """

    def __init__(self, matcher: CombinedMatcher, mask: Bools) -> None:
        self._matcher, self._wanted = matcher, mask
        self.open: Bools = mask
        self._scores = np.zeros(len(mask))
        self._unknown, self._pending, self._disputed = np.zeros((3, len(mask)), bool)
        self._members: list[Trace] = []

    def take(self, step: Step, trace: Trace) -> None:
        """Take what the next member says of the open pairs."""
        kind, rest = self._matcher.kind, self.open
        last = step is self._matcher.steps[-1]
        accept, reject = (
            np.nan if limit is None else limit  # nothing is at or above NaN, or below it
            for limit in (step.matcher.threshold if last else step.accept, step.reject)
        )
        missing = np.isnan(trace.scores) & rest
        self._unknown |= missing
        match, rejected = (trace.scores >= accept) & rest, (trace.scores < reject) & rest
        if last and not self._matcher.yes_or_no:
            self._scores[rest] = trace.scores[rest]
        else:
            self._scores[match] = 1.0
        if kind == "all":  # one that does not match decides
            self._unknown &= ~(rest & ~missing & ~match) if last else ~rejected
        if trace.reach is not None:
            low, high = trace.reach
            by_vote = ((low >= accept) != (high >= accept)) | ((low < reject) != (high < reject))
            self._disputed |= by_vote & rest
        # The members of `any` and `all`, the last of a cascade and combinations say yes or no.
        yes_or_no = last or kind != "cascade" or step.matcher.members
        limits = None if yes_or_no else (step.accept, step.reject)
        self._members.append(replace(trace, limits=limits))
        self.open = rest & ~match & ~rejected
        if trace.pending is not None:
            self.open &= ~trace.pending
            self._pending |= trace.pending

    def trace(self) -> Trace:
        """What is decided, once all were asked."""
        scores, reach = self._scores, None
        if self._matcher.kind == "any":  # one that matches decides
            self._unknown &= scores == 0
        scores[self._unknown] = np.nan
        if self._matcher.votes:  # what hangs on a vote may become a match, or none
            reach = np.where(self._disputed, 0.0, scores), np.where(self._disputed, 1.0, scores)
        members, pending = tuple(self._members), self._pending
        return Trace(
            self._matcher, scores, self._wanted, members=members, pending=pending, reach=reach
        )


def _n_spared(batch: Batch, mask: Bools, open_: Bools) -> int:
    """Distinct pairs of texts that a judge need not be asked for, as they are decided already."""
    docs, targets = batch.docs.texts, Targets.of(batch.golds).entries.texts
    doc, target = of_pairs(docs.n_texts, targets.n_texts)
    n = len(targets.known) + 1  # a text that is missing has the number -1
    pairs = docs.numbers[doc] * n + targets.numbers[target]
    return len(np.setdiff1d(pairs[mask & ~open_], pairs[open_]))
