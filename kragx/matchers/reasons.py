"""Why a pair matches or does not: which matcher decided it, with which score.

Reasons are found out by asking again; matching itself keeps none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from kragx.matchers import describe
from kragx.matchers.base import Matcher, MatchItem
from kragx.matchers.combine import Asked, CombinedMatcher
from kragx.matchers.judge import JudgeMatcher
from kragx.metrics.table import Bools, Floats

Verdict = Literal["match", "no match", "open", "unknown"]


@dataclass(frozen=True)
class Reason:
    """What one matcher said of a document and a target.

    Attributes:
        method: the matcher's method.
        settings: its options, as results record them.
        score: None if it is not known.
        verdict: ``match``, ``no match``, ``unknown``, or ``open`` for a member that left the pair
            to those after it.
        accept: a score from here on is a match; None if this member makes none.
        reject: a score below is no match; None if this member rules nothing out.
        decides: whether the pair's verdict rests on this matcher.
        text: what the judge said.
        parts: of a combination: the members that were asked, in order.
    """

    method: str
    settings: Mapping[str, Any]
    score: float | None
    verdict: Verdict
    accept: float | None = None
    reject: float | None = None
    decides: bool = True
    text: str | None = None
    parts: tuple[Reason, ...] = ()

    @property
    def distance(self) -> float | None:
        """How far the score is from the limit next to it; below 0 is short of it."""
        if self.score is None:
            return None
        limits = [limit for limit in (self.accept, self.reject) if limit is not None]
        return min((self.score - limit for limit in limits), key=abs, default=None)

    def deciding(self) -> tuple[Reason, ...]:
        """The matchers, none of them a combination, on which the verdict rests."""
        if not self.parts:
            return (self,) if self.decides else ()
        return tuple(leaf for part in self.parts if part.decides for leaf in part.deciding())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = {
            "method": self.method,
            "score": self.score,
            "verdict": self.verdict,
            "decides": self.decides,
            "accept": self.accept,
            "reject": self.reject,
            "distance": self.distance,
            "reason": self.text,
        }
        plain = {key: value for key, value in plain.items() if value is not None or key == "score"}
        if self.parts:
            plain["of"] = [part.to_dict() for part in self.parts]
        return plain


Grid = list[list[Reason]]
Because = Callable[[int, int], Reason]
"""From a document and a target, by position, to why they match or not."""


def offline(matcher: Matcher) -> Matcher:
    """This matcher with judges that answer from their store alone, so that asking costs nothing."""
    if isinstance(matcher, JudgeMatcher):
        return replace(matcher, judge=replace(matcher.judge, dry_run=True, progress=False))
    if isinstance(matcher, CombinedMatcher):
        steps = (replace(step, matcher=offline(step.matcher)) for step in matcher.steps)
        return replace(matcher, steps=tuple(steps))
    return matcher


def reasons(matcher: Matcher, item: MatchItem) -> Grid:
    """For each document and target of a query, why it matches or not; n x t.

    A judge answers from its store; what is not there is unknown.
    """
    asked = offline(matcher)
    if isinstance(asked, CombinedMatcher):
        ((scores, log),) = asked.traces([item], Counter())
        because = combined_reasons(asked, scores, log, item)
    else:
        (scores,) = (np.asarray(each, np.float64) for each in asked.scores([item], Counter()))
        because = _single(asked, scores, np.ones(scores.shape, bool), item)
    n, t = scores.shape
    return [[because(row, column) for column in range(t)] for row in range(n)]


def _single(
    matcher: Matcher,
    scores: Floats,
    open_: Bools,
    item: MatchItem,
    limits: tuple[float | None, float | None] | None = None,
) -> Because:
    """Of a matcher that is no combination; `limits` are a member's accept and reject."""
    settings = describe(matcher)
    accept, reject = limits or (matcher.threshold, None)
    # Of those that say yes or no a limit would tell nothing.
    shown = (accept, reject) if limits or "threshold" in settings else (None, None)
    said = _said(matcher, item, open_) if isinstance(matcher, JudgeMatcher) else {}

    def verdict(score: float) -> Verdict:
        if np.isnan(score):
            return "unknown"
        if accept is not None and score >= accept:
            return "match"
        if limits is None or (reject is not None and score < reject):
            return "no match"
        return "open"

    def because(row: int, column: int) -> Reason:
        score = float(scores[row, column])
        return Reason(
            str(settings["method"]),
            settings,
            None if np.isnan(score) else score,
            verdict(score),
            *shown,
            text=said.get((row, column)),
        )

    return because


def _said(matcher: JudgeMatcher, item: MatchItem, open_: Bools) -> dict[tuple[int, int], str]:
    """The judge's reasons, or why there is none, for the pairs that it was asked about."""
    known = matcher.said([item], relevance=False)
    return {
        (row, column): found[1]
        for column, gold in item.target_texts(matcher.name).items()
        for row, doc in enumerate(item.doc_texts(matcher.name))
        if open_[row, column] and (found := known.get((item.query.id, doc, gold)))
    }


def combined_reasons(
    matcher: CombinedMatcher, scores: Floats, log: Sequence[Asked], item: MatchItem
) -> Because:
    """Of a combination, from what `CombinedMatcher.traces` tells of a query."""
    settings = describe(matcher)
    members = [_member(matcher, asked, item) for asked in log]
    own = matcher.threshold if matcher.filters else None

    def because(row: int, column: int) -> Reason:
        score = float(scores[row, column])
        parts = [
            member(row, column)
            for member, asked in zip(members, log, strict=True)
            if asked.open[row, column]
        ]
        verdict: Verdict = (
            "unknown" if np.isnan(score) else "match" if score >= matcher.threshold else "no match"
        )
        deciding = _deciding(matcher.kind, parts, verdict)
        return Reason(
            matcher.kind,
            settings,
            None if np.isnan(score) else score,
            verdict,
            own,
            parts=tuple(replace(part, decides=at in deciding) for at, part in enumerate(parts)),
        )

    return because


def _member(matcher: CombinedMatcher, asked: Asked, item: MatchItem) -> Because:
    """What one member said, in its own words."""
    inner = asked.step.matcher
    if isinstance(inner, CombinedMatcher):
        return combined_reasons(inner, asked.scores, asked.inner, item)
    last = asked.step is matcher.steps[-1]
    # The members of `any` and `all`, and the last of a cascade, say yes or no by their threshold.
    limits = None if last or matcher.kind != "cascade" else (asked.step.accept, asked.step.reject)
    return _single(inner, asked.scores, asked.open, item, limits)


def _deciding(kind: str, parts: Sequence[Reason], verdict: Verdict) -> set[int]:
    """The positions of the members on which the verdict rests."""
    every = set(range(len(parts)))
    if not parts:  # a nested combination that this pair never came to
        return every
    if verdict == "unknown":
        return {at for at in every if parts[at].verdict == "unknown"}
    if kind == "cascade":
        return {len(parts) - 1}
    one = "match" if kind == "any" else "no match"  # a single one of these is enough
    if (verdict == "match") == (kind == "any"):
        return {next(at for at, part in enumerate(parts) if part.verdict == one)}
    return every


_RANK: Mapping[Verdict, int] = {"match": 3, "unknown": 2, "open": 1, "no match": 0}


def strength(reason: Reason) -> tuple[int, float]:
    """Puts the targets of a gold item in order: the greatest is the one that speaks for it."""
    return _RANK[reason.verdict], reason.score or 0.0


def best_targets(item: MatchItem, grid: Iterable[Sequence[Reason]]) -> list[list[int]]:
    """For each document and gold item, the target that speaks for it: its best one; n x m."""
    columns: list[list[int]] = [[] for _ in item.query.gold]
    for at, target in enumerate(item.targets):
        columns[target.gold].append(at)
    return [[max(of_gold, key=lambda at: strength(row[at])) for of_gold in columns] for row in grid]
