"""Why a pair matches or does not: which matcher decided it, with which score.

Reasons are found out by asking again, for one query at a time; matching itself keeps none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from kragx.matchers import describe
from kragx.matchers.base import Matcher, MatchItem
from kragx.matchers.combine import Asked, CombinedMatcher
from kragx.matchers.judge import JudgeMatcher
from kragx.table import Bools, Floats

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
    notes: Counter[str] = Counter()
    everything = np.ones((len(item.docs), len(item.targets)), bool)
    if isinstance(asked, CombinedMatcher):
        scores, log = asked.trace(item, notes)
        return _combined(asked, scores, log, item)
    (scores,) = (np.asarray(each, np.float64) for each in asked.scores([item], notes))
    return _single(asked, scores, everything, item)


def _single(
    matcher: Matcher,
    scores: Floats,
    open_: Bools,
    item: MatchItem,
    limits: tuple[float | None, float | None] | None = None,
) -> Grid:
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

    return [
        [
            Reason(
                str(settings["method"]),
                settings,
                None if np.isnan(score) else float(score),
                verdict(score),
                *shown,
                text=said.get((row, column)),
            )
            for column, score in enumerate(of_row)
        ]
        for row, of_row in enumerate(scores)
    ]


def _said(matcher: JudgeMatcher, item: MatchItem, open_: Bools) -> dict[tuple[int, int], str]:
    """The judge's reasons, or why there is none, for the pairs that it was asked about."""
    known = matcher.said([item], relevance=False)
    return {
        (row, column): found[1]
        for column, gold in item.target_texts(matcher.name).items()
        for row, doc in enumerate(item.doc_texts(matcher.name))
        if open_[row, column] and (found := known.get((item.query.id, doc, gold)))
    }


def _combined(
    matcher: CombinedMatcher, scores: Floats, log: Sequence[Asked], item: MatchItem
) -> Grid:
    settings = describe(matcher)
    members = [_member(matcher, asked, item) for asked in log]
    grid: Grid = []
    for row, of_row in enumerate(scores):
        grid.append([])
        for column, score in enumerate(of_row):
            parts = [
                grid_of[row][column]
                for grid_of, asked in zip(members, log, strict=True)
                if asked.open[row, column]
            ]
            verdict: Verdict = (
                "unknown"
                if np.isnan(score)
                else "match"
                if score >= matcher.threshold
                else "no match"
            )
            deciding = _deciding(matcher.kind, parts, verdict)
            own = matcher.threshold if matcher.filters else None
            grid[-1].append(
                Reason(
                    matcher.kind,
                    settings,
                    None if np.isnan(score) else float(score),
                    verdict,
                    own,
                    parts=tuple(
                        replace(part, decides=at in deciding) for at, part in enumerate(parts)
                    ),
                )
            )
    return grid


def _member(matcher: CombinedMatcher, asked: Asked, item: MatchItem) -> Grid:
    """What one member said, in its own words."""
    inner = asked.step.matcher
    if isinstance(inner, CombinedMatcher):
        return _combined(inner, asked.scores, asked.inner, item)
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


def best_targets(item: MatchItem, grid: Iterable[Sequence[Reason]]) -> list[list[int]]:
    """For each document and gold item, the target that speaks for it: its best one; n x m."""
    rank = {"match": 3, "unknown": 2, "open": 1, "no match": 0}
    columns: list[list[int]] = [[] for _ in item.query.gold]
    for at, target in enumerate(item.targets):
        columns[target.gold].append(at)
    return [
        [
            max(of_gold, key=lambda at: (rank[row[at].verdict], row[at].score or 0.0))
            for of_gold in columns
        ]
        for row in grid
    ]
