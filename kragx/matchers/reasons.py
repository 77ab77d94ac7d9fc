"""Why a pair matches or does not: which matcher decided it, with which score.

Reasons are found out by asking again; matching itself keeps none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from kragx.matchers.base import BaseMatcher, Matcher, Trace, adapted
from kragx.matchers.items import Diagnostics, MatchItem, batch_of, every_pair, shapes
from kragx.metrics import Bools
from kragx.metrics.threshold import matches

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
        text: what the judge said, or what is special about how the gold text was compared.
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
    def limit(self) -> float | None:
        """The limit next to the score."""
        score, limits = self.score, (self.accept, self.reject)
        known = (limit for limit in limits if limit is not None and score is not None)
        return min(known, key=lambda limit: abs((score or 0) - limit), default=None)

    @property
    def distance(self) -> float | None:
        """How far the score is from the limit next to it; below 0 is short of it."""
        limit = self.limit
        return None if self.score is None or limit is None else self.score - limit

    def deciding(self) -> tuple[Reason, ...]:
        """The matchers, none of them a combination, on which the verdict rests."""
        if not self.parts:
            return (self,) if self.decides else ()
        return tuple(leaf for part in self.parts if part.decides for leaf in part.deciding())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("verdict", "decides", "accept", "reject", "distance")
        further = {name: getattr(self, name) for name in names} | {"reason": self.text}
        record = {"method": self.method, "score": self.score}
        record |= {name: value for name, value in further.items() if value is not None}
        return record | ({"of": [part.to_dict() for part in self.parts]} if self.parts else {})


Because = Callable[[int, int], Reason]
"""From a document and a target, by position, to why they match or not."""


def reasons(matcher: Matcher, item: MatchItem) -> list[list[Reason]]:
    """For each document and target of a query, why it matches or not; n x t.

    A judge answers from its store; what is not there is unknown.
    """
    ((_, trace),) = _traces(adapted(matcher), [item])
    because = _explained(trace, item)
    n, t = trace.scores.shape
    return [[because(row, column) for column in range(t)] for row in range(n)]


def _traces(matcher: BaseMatcher, items: Iterable[MatchItem]) -> Iterator[tuple[MatchItem, Trace]]:
    """Each query with what its pairs are asked about, and what was said."""
    items = [*items]
    batch = batch_of(items)
    trace = matcher.offline().score_batch(batch, Diagnostics(), every_pair(batch))
    return zip(items, trace.of_queries(*shapes(batch)), strict=True)


def _explained(trace: Trace, item: MatchItem) -> Because:
    """The reasons in what a matcher was asked for a query, and said."""
    matcher = trace.matcher
    settings = matcher.settings
    method = str(settings["method"])
    # Of yes and no a limit tells nothing.
    limits = trace.limits or (None if matcher.yes_or_no else matcher.threshold, None)
    members = [(_explained(member, item), member.open) for member in trace.members]
    docs, golds = ([entry.text or "" for entry in side] for side in (item.docs, item.targets))
    judged = {} if members else matcher.said([item])

    def because(row: int, column: int) -> Reason:
        score, doc, gold = float(trace.scores[row, column]), docs[row], golds[column]
        verdict = _verdict(trace, score)
        parts = [member(row, column) for member, open_ in members if open_[row, column]]
        deciding = _deciding(method, [part.verdict for part in parts], verdict)
        answer = judged.get((item.query.id, doc, gold)) if trace.open[row, column] else None
        text = (answer[1] if answer else "") or matcher.remark(gold)
        # Of a 0 alone the score does not tell why: a sibling's was taken away.
        if not text and not parts and score == 0:
            text = matcher.why_not(doc, gold)
        return Reason(
            method,
            settings,
            None if np.isnan(score) else score,
            verdict,
            *limits,
            text=text or None,
            parts=tuple(replace(part, decides=n in deciding) for n, part in enumerate(parts)),
        )

    return because


def _verdict(trace: Trace, score: float) -> Verdict:
    threshold = trace.matcher.threshold
    accept, reject = trace.limits or (threshold, threshold)
    if np.isnan(score):
        return "unknown"
    if accept is not None and matches(score, accept):
        return "match"
    return "no match" if reject is not None and score < reject else "open"


def _deciding(method: str, members: Sequence[Verdict], verdict: Verdict) -> Iterable[int]:
    """The positions of the members on which the verdict of a combination rests."""
    numbers = range(len(members))
    if method == "cascade" and verdict != "unknown":
        return numbers[-1:]
    # A match is enough for `any`, and a pair that is none for `all`; else all of them decide.
    if members and verdict != "unknown" and (verdict == "match") == (method == "any"):
        return {members.index(verdict)}
    return [n for n in numbers if verdict != "unknown" or members[n] == "unknown"]


_RANK: Mapping[Verdict, int] = {"match": 3, "unknown": 2, "open": 1, "no match": 0}


def strength(reason: Reason) -> tuple[int, float]:
    """Puts the targets of a gold item in order: the greatest is the one that speaks for it."""
    return _RANK[reason.verdict], reason.score or 0.0


def decisions(
    matcher: BaseMatcher, items: Iterable[MatchItem]
) -> Iterator[dict[tuple[int, int], Reason]]:
    """For each query why its documents match the gold or not, by positions of document and gold.

    Of a gold item the target speaks that comes furthest. Pairs of which no member that was asked
    says anything above 0 are left out. Judges answer from their store.
    """
    for item, trace in _traces(matcher, items):
        because = _explained(trace, item)
        best: dict[tuple[int, int], Reason] = {}
        for row, column in np.argwhere(_relevant_pairs(trace)).tolist():
            pair, reason = (row, item.targets[column].gold), because(row, column)
            best[pair] = max(best.get(pair, reason), reason, key=strength)
        yield best


def _relevant_pairs(trace: Trace) -> Bools:
    """The pairs of which a member that was asked says more than 0, or does not know."""
    mask: Bools = trace.open & (trace.scores != 0)
    return (
        np.logical_or.reduce(list(map(_relevant_pairs, trace.members))) if trace.members else mask
    )


def best_targets(item: MatchItem, grid: Iterable[Sequence[Reason]]) -> list[list[int]]:
    """For each document and gold item, the target that speaks for it: its best one; n x m."""
    columns: list[list[int]] = [[] for _ in item.query.gold]
    for column, target in enumerate(item.targets):
        columns[target.gold].append(column)
    return [
        [max(of_gold, key=lambda column: strength(row[column])) for of_gold in columns]
        for row in grid
    ]
