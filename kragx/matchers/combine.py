"""Matchers made of matchers: all of them, any of them, or a cascade from cheap to dear.

A pair that an earlier matcher has decided is not shown to a judge, which answers only for the rest;
how many of its calls that saved is counted. `CombinedMatcher.traces` says of each query which
member was asked what and what it decided (`kragx.matchers.reasons`); nothing of that is kept
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from kragx.matchers.base import BaseMatcher, MatchItem, Trace
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats, Profile
from kragx.metrics.threshold import matches

if TYPE_CHECKING:
    from kragx.judging.tally import Tally
    from kragx.matchers.vocabulary import Vocabulary

Kind = Literal["any", "all", "cascade"]
KINDS: tuple[Kind, ...] = ("any", "all", "cascade")

_BATCH = 1024  # queries


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
            vocabulary=next((own.vocabulary for own in members if own.vocabulary), None),
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
            own = dict(step.matcher.settings)
            if self.kind == "cascade" and step is not self.steps[-1]:
                own.pop("threshold", None)
                limits = {"accept": step.accept, "reject": step.reject}
                own |= {name: limit for name, limit in limits.items() if limit is not None}
            settings["of"].append(own)
        if not self.yes_or_no:
            settings["threshold"] = settings["of"][-1].pop("threshold")
        return settings

    def judging(self, **options: Any) -> Self:
        """The same with every member's judges."""
        steps = (replace(step, matcher=step.matcher.judging(**options)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def for_run(self, name: str) -> Self:
        """The same with every member for this run."""
        steps = (replace(step, matcher=step.matcher.for_run(name)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def siblings_together(self) -> Self:
        """The same with every member's rule switched off."""
        steps = (replace(step, matcher=step.matcher.siblings_together()) for step in self.steps)
        return replace(self, steps=tuple(steps))

    @property
    def needs_vocabulary(self) -> bool:
        """Whether a member does."""
        return any(member.needs_vocabulary for member in self.members)

    def knowing(self, vocabulary: Vocabulary) -> Self:
        """The same with every member's."""
        steps = (replace(step, matcher=step.matcher.knowing(vocabulary)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def profile_for(self, profile: Profile) -> Profile:
        """A cascade that filters has scores; what the others give is yes or no."""
        return profile if self.yes_or_no else profile.for_scores(filtered=True)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """As the first judge among the members, with the calls that the others saved."""
        judge = next(member for member in self.members if member.judges)
        return {**judge.summary(tally), "n_calls_saved": tally.n_calls_saved}

    def said(
        self, items: Iterable[MatchItem], *, relevance: bool = False
    ) -> dict[tuple[str, str, str], tuple[float | None, str]]:
        """What the judges among the members have said."""
        items = list(items)
        return {
            pair: grade
            for member in reversed(self.members)
            for pair, grade in member.said(items, relevance=relevance).items()
        }

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats | None:
        """What the members say by texts alone; what is left to another one is no match."""
        of_members = [step.matcher.pair_scores(docs, golds) for step in self.steps]
        known = [member for member in of_members if member is not None]
        if not known or (self.kind == "all" and len(known) < len(of_members)):
            return None
        scores, is_open = np.zeros(len(docs)), np.ones(len(docs), bool)
        for step, own in zip(self.steps, of_members):
            if own is None:
                if self.kind == "cascade":  # whoever is asked here decides all that is open
                    break
                continue
            last = step is self.steps[-1]
            accept = step.matcher.threshold if last else step.accept
            if last and not self.yes_or_no:
                scores[is_open] = own[is_open]
            elif accept is not None:
                scores[is_open & matches(own, accept)] = 1.0
            is_open &= scores == 0
            if step.reject is not None:
                is_open &= own >= step.reject
        return scores

    def scores_where(
        self, items: Iterable[tuple[MatchItem, Bools | None]], notes: Notes
    ) -> Iterator[Floats]:
        """Yield n x t arrays of 1, 0 and NaN; pairs that a mask does not ask for are 0."""
        return (trace.scores for trace in self.traces(items, notes))

    def traces(
        self, items: Iterable[tuple[MatchItem, Bools | None]], notes: Notes
    ) -> Iterator[Trace]:
        """The scores of each query, and what each member was asked for them, in order."""
        stream = iter(items)
        while batch := list(islice(stream, _BATCH)):
            yield from self._decide(batch, notes)

    def _decide(
        self, batch: Sequence[tuple[MatchItem, Bools | None]], notes: Notes
    ) -> Iterator[Trace]:
        items = [item for item, _ in batch]
        wanted = [np.ones(item.shape, bool) if mask is None else mask for item, mask in batch]
        open_ = list(wanted)
        scores = [np.zeros(item.shape) for item in items]
        unknown = [np.zeros(item.shape, bool) for item in items]
        pending = [np.zeros(item.shape, bool) for item in items]
        disputed = [np.zeros(item.shape, bool) for item in items]
        logs: list[list[Trace]] = [[] for _ in batch]
        for step in self.steps:
            last = step is self.steps[-1]
            accept, reject = (
                np.nan if limit is None else limit  # nothing is at or above NaN, or below it
                for limit in (step.matcher.threshold if last else step.accept, step.reject)
            )
            # The members of `any` and `all`, the last of a cascade and combinations say yes or no.
            says = last or self.kind != "cascade" or step.matcher.members
            limits = None if says else (step.accept, step.reject)
            if step.matcher.judges and not step.matcher.members:
                notes.judging.n_calls_saved += _spared(items, wanted, open_)
            for query, trace in enumerate(step.matcher.traces(zip(items, open_), notes)):
                rest = trace.open
                missing = np.isnan(trace.scores) & rest
                unknown[query] |= missing
                match = (trace.scores >= accept) & rest
                gone = (trace.scores < reject) & rest
                if last and not self.yes_or_no:
                    scores[query][rest] = trace.scores[rest]
                else:
                    scores[query][match] = 1.0
                if self.kind == "all":  # one that does not match decides
                    unknown[query] &= ~(rest & ~missing & ~match) if last else ~gone
                if trace.reach is not None:
                    low, high = trace.reach
                    by_vote = ((low >= accept) != (high >= accept)) | (
                        (low < reject) != (high < reject)
                    )
                    disputed[query] |= by_vote & rest
                logs[query].append(replace(trace, limits=limits))
                open_[query] = rest & ~match & ~gone
                if trace.pending is not None:
                    open_[query] &= ~trace.pending
                    pending[query] |= trace.pending
        for query in range(len(batch)):
            if self.kind == "any":  # one that matches decides
                unknown[query] &= scores[query] == 0
            scores[query][unknown[query]] = np.nan
            waits = pending[query] if pending[query].any() else None
            own, reach = scores[query], None
            if self.votes:  # what hangs on a vote may become a match, or none
                reach = np.where(disputed[query], 0.0, own), np.where(disputed[query], 1.0, own)
            yield Trace(
                self, own, wanted[query], members=tuple(logs[query]), pending=waits, reach=reach
            )


def _spared(items: Sequence[MatchItem], wanted: Sequence[Bools], open_: Sequence[Bools]) -> int:
    """Distinct pairs of texts that a judge need not be asked for, as they are decided already."""
    needed: set[tuple[str | None, str | None]] = set()
    decided: set[tuple[str | None, str | None]] = set()
    for item, pairs, rest in zip(items, wanted, open_, strict=True):
        for row, column in zip(*np.nonzero(pairs)):
            texts = (item.docs[row].text, item.targets[column].text)
            (needed if rest[row, column] else decided).add(texts)
    return len(decided - needed)
