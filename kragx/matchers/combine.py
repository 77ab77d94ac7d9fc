"""Matchers made of matchers: all of them, any of them, or a cascade from cheap to dear.

A pair that an earlier matcher has decided is not shown to a judge, which answers only for the rest;
how many of its calls that saved is counted. Its trace says which member was asked what, and
what it decided (`kragx.matchers.reasons`); nothing of that is kept otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from kragx.data.batch import Batch
from kragx.data.tokens import of_pairs
from kragx.ground.errors import UsageError
from kragx.ground.options import above_zero, check_options, optional
from kragx.matchers.base import BaseMatcher, Trace
from kragx.matchers.items import Diagnostics, Targets
from kragx.metrics import Bools, Floats, Profile
from kragx.metrics.threshold import matches

if TYPE_CHECKING:
    from kragx.judging.judgement_counts import Tally

Kind = Literal["any", "all", "cascade"]
KINDS: tuple[Kind, ...] = ("any", "all", "cascade")


Limit = Annotated[float | None, optional(lambda value: float(above_zero(value)))]


@dataclass(frozen=True)
class Step:
    """One matcher of a combination and what its scores decide.

    Attributes:
        matcher: scores the pairs that are still open.
        accept: at or above it a pair is a match; None if this step makes no match.
        reject: below it a pair is none; None if this step rules nothing out.

    Raises:
        UsageError: a limit is no score that the matcher gives, or accept is below reject.
    """

    matcher: BaseMatcher
    accept: Limit = None
    reject: Limit = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.accept is not None and self.reject is not None and self.accept < self.reject:
            raise UsageError(
                "{accept:g} is below reject, {reject:g}",
                field="accept",
                accept=self.accept,
                reject=self.reject,
            )
        top = float("inf") if self.matcher.inner else self.matcher.top or 1
        for field, limit in (("accept", self.accept), ("reject", self.reject)):
            if limit is not None and limit > top:  # every pair would be left to the dear ones
                raise UsageError(
                    "{value!r} is out of range",
                    field=field,
                    remedy="give a number above 0 and at most {top:g}",
                    value=limit,
                    top=top,
                )


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
        # Where the steps before only rule out, the last one's scores stay, as other thresholds mean
        # something for these.
        filters = (
            self.kind == "cascade"
            and all(step.accept is None for step in self.steps[:-1])
            and not (members[-1].yes_or_no or members[-1].judges or members[-1].members)
        )
        self._set(
            name=self.kind,
            members=members,
            judges=any(member.judges for member in members),
            votes=any(member.votes for member in members),
            vocabulary=next((member.vocabulary for member in members if member.vocabulary), None),
            by_texts=(all if self.kind == "all" else any)(member.by_texts for member in members),
            reads="texts" if any(member.reads == "texts" for member in members) else "ids",
            yes_or_no=not filters,
            tells_siblings=any(member.tells_siblings for member in members),
            threshold=members[-1].threshold if filters else 1.0,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records: the matchers in order, with their limits."""
        members = [dict(member.settings) for member in self.members]
        for step, options in zip(self.steps[:-1] if self.kind == "cascade" else (), members):
            options.pop("threshold", None)
            limits = {"accept": step.accept, "reject": step.reject}
            options |= {name: limit for name, limit in limits.items() if limit is not None}
        threshold = {} if self.yes_or_no else {"threshold": members[-1].pop("threshold")}
        return {"method": self.kind, "of": members, **threshold}

    def of_members(self, change: Callable[[BaseMatcher], BaseMatcher]) -> Self:
        """The same with every member changed."""
        steps = (replace(step, matcher=change(step.matcher)) for step in self.steps)
        return replace(self, steps=tuple(steps))

    def profile_for(self, profile: Profile) -> Profile:
        """A cascade that filters has scores; what the others give is yes or no."""
        return profile if self.yes_or_no else replace(profile, **profile.filtered)

    def summary(self, tally: Tally) -> dict[str, Any]:
        """As the first judge among the members, with the calls that the others saved."""
        judge = next(member for member in self.members if member.judges)
        return {**judge.summary(tally), "n_calls_saved": tally.n_calls_saved}

    def pair_scores(self, docs: Sequence[str], golds: Sequence[str]) -> Floats:
        """What the members say by texts alone; what is left to another one is no match."""

        def ask(step: Step, open_: Bools) -> Trace | None:
            if not step.matcher.by_texts:
                return None
            return Trace(step.matcher, step.matcher.pair_scores(docs, golds), open_)

        return self._decided(np.ones(len(docs), bool), ask).scores

    def score_batch(self, batch: Batch, diagnostics: Diagnostics, wanted: Bools) -> Trace:
        """1, 0 and NaN, and what each member was asked; pairs that are not wanted are 0."""

        def ask(step: Step, open_: Bools) -> Trace:
            if step.matcher.judges and not step.matcher.members:
                diagnostics.judging.n_calls_saved += _n_spared(batch, wanted, open_)
            return step.matcher.score_batch(batch, diagnostics, open_)

        return self._decided(wanted, ask)

    def _decided(self, wanted: Bools, ask: Callable[[Step, Bools], Trace | None]) -> Trace:
        """What the members decide of the wanted pairs, one after another.

        Args:
            wanted: the pairs that are asked for.
            ask: gives what a member says of the pairs that are open; None if it says nothing.
        """
        open_, scores, members = wanted, np.zeros(len(wanted)), list[Trace]()
        unknown, pending, disputed = np.zeros((3, len(wanted)), bool)
        for step in self.steps:
            if (trace := ask(step, open_)) is None:
                if self.kind == "cascade":  # whoever is asked here decides all that is open
                    break
                continue
            last = step is self.steps[-1]
            accept = step.matcher.threshold if last else step.accept
            match, rejected, missing, by_vote = (
                verdict & open_ for verdict in _verdicts(trace, accept, step.reject)
            )
            keeps_scores = last and not self.yes_or_no
            scores = np.where(open_, trace.scores if keeps_scores else match, scores)
            unknown |= missing
            if self.kind == "all":  # one that does not match decides
                unknown &= ~(open_ & ~missing & ~match) if last else ~rejected
            disputed |= by_vote
            # The members of `any` and `all`, the last of a cascade and combinations say yes or no.
            yes_or_no = last or self.kind != "cascade" or step.matcher.members
            members.append(replace(trace, limits=None if yes_or_no else (step.accept, step.reject)))
            open_ = open_ & ~match & ~rejected
            if trace.pending is not None:
                # What is still to come may decide: nobody dearer is asked for it meanwhile.
                pending |= trace.pending
                open_ &= ~trace.pending
        if self.kind == "any":  # one that matches decides
            unknown &= scores == 0
        scores[unknown] = np.nan
        low, high = (np.where(disputed, vote, scores) for vote in (0.0, 1.0))
        reach = (low, high) if self.votes else None
        return Trace(self, scores, wanted, None, tuple(members), pending, reach)


def _verdicts(
    trace: Trace, accept: float | None, reject: float | None
) -> tuple[Bools, Bools, Bools, Bools]:
    """Which pairs match, which are ruled out, which are not known, and which hang on a vote."""
    low, high = trace.reach or (trace.scores, trace.scores)
    nothing = np.zeros(len(trace.scores), bool)
    match = nothing if accept is None else matches(trace.scores, accept)
    rejected = nothing if reject is None else trace.scores < reject
    limits = (limit for limit in (accept, reject) if limit is not None)
    hangs = np.any([nothing, *((low >= limit) != (high >= limit) for limit in limits)], axis=0)
    return match, rejected, np.isnan(trace.scores), hangs


def _n_spared(batch: Batch, mask: Bools, open_: Bools) -> int:
    """Distinct pairs of texts that a judge need not be asked for, as they are decided already."""
    docs, targets = batch.docs.texts, Targets.of(batch.golds).entries.texts
    doc, target = of_pairs(docs.n_texts, targets.n_texts)
    n = len(targets.known) + 1  # a text that is missing has the number -1
    pairs = docs.numbers[doc] * n + targets.numbers[target]
    return len(np.setdiff1d(pairs[mask & ~open_], pairs[open_]))
