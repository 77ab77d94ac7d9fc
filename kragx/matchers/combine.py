"""Matchers made of matchers: all of them, any of them, or a cascade from cheap to dear.

A pair that an earlier matcher has decided is not shown to a judge, which answers only for the rest;
how many of its calls that saved is counted. `trace` says of one query which member was asked what
and what it decided (`kragx.matchers.reasons`); nothing of that is kept otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from kragx.errors import UsageError
from kragx.matchers.base import Matcher, MatchItem
from kragx.matchers.embedding import EmbeddingMatcher
from kragx.matchers.judge import JudgeMatcher

Kind = Literal["any", "all", "cascade"]
KINDS: tuple[Kind, ...] = ("any", "all", "cascade")

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

_BATCH = 1024  # queries


@dataclass(frozen=True)
class Step:
    """One matcher of a combination and what its scores decide.

    Attributes:
        matcher: scores the pairs that are still open.
        accept: at or above it a pair is a match; None if this step makes no match.
        reject: below it a pair is none; None if this step rules nothing out.
    """

    matcher: Matcher
    accept: float | None = None
    reject: float | None = None


@dataclass(frozen=True)
class Asked:
    """What one step was asked for one query, and what it said.

    Attributes:
        step: the step.
        scores: (n x t) its scores; NaN where it does not know.
        open: (n x t) the pairs that nothing had decided before.
        match, gone: (n x t) the pairs that it made a match, and those that it ruled out.
        inner: what the members of a nested combination were asked.
    """

    step: Step
    scores: Floats
    open: Mask
    match: Mask
    gone: Mask
    inner: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class CombinedMatcher:
    """Decides with several matchers; a pair's score is 1 (match), 0, or NaN (not known).

    A cascade whose earlier steps only rule out (reject, no accept) keeps the score of its last
    matcher, and has the threshold of that one; what was ruled out scores 0.

    Attributes:
        kind: ``any``, ``all`` or ``cascade``.
        steps: in the order in which they are asked; the last one decides what is still open.
    """

    kind: Kind
    steps: tuple[Step, ...]
    may_not_know: ClassVar[bool] = True

    @property
    def threshold(self) -> float:
        """1; of a cascade that only rules out, the last matcher's."""
        return self.steps[-1].matcher.threshold if self.filters else 1.0

    @cached_property
    def filters(self) -> bool:
        """Whether this is a cascade that only rules out before a last matcher with a threshold."""
        from kragx.matchers import describe

        last = self.steps[-1].matcher
        return (
            self.kind == "cascade"
            and all(step.accept is None for step in self.steps[:-1])
            and not isinstance(last, (JudgeMatcher, CombinedMatcher))
            and "threshold" in describe(last)
        )

    @property
    def judge(self) -> JudgeMatcher | None:
        """The first judge among the matchers, if there is one."""
        for step in self.steps:
            inner = step.matcher.judge if isinstance(step.matcher, CombinedMatcher) else None
            if isinstance(step.matcher, JudgeMatcher):
                return step.matcher
            if inner is not None:
                return inner
        return None

    def described(self) -> dict[str, Any]:
        """What a result records: the matchers in order, with their limits."""
        from kragx.matchers import describe

        steps = []
        for step in self.steps:
            own = describe(step.matcher)
            if self.kind == "cascade" and step is not self.steps[-1]:
                own.pop("threshold", None)
                limits = {"accept": step.accept, "reject": step.reject}
                own |= {name: value for name, value in limits.items() if value is not None}
            steps.append(own)
        if self.filters:
            del steps[-1]["threshold"]
            return {"method": self.kind, "of": steps, "threshold": self.threshold}
        return {"method": self.kind, "of": steps}

    def scores(self, items: Iterable[MatchItem], notes: Counter[str]) -> Iterator[Floats]:
        """Yield n x t arrays of 1, 0 and NaN."""
        stream = iter(items)
        while batch := list(islice(stream, _BATCH)):
            yield from self._decide(batch, None, notes)

    def scores_where(
        self, items: Iterable[tuple[MatchItem, Mask | None]], notes: Counter[str]
    ) -> Iterator[Floats]:
        """`scores` of the pairs that a mask asks for; the others are 0."""
        stream = iter(items)
        while batch := list(islice(stream, _BATCH)):
            masks = [mask for _, mask in batch]
            yield from self._decide([item for item, _ in batch], masks, notes)

    def trace(self, item: MatchItem, notes: Counter[str]) -> tuple[Floats, tuple[Asked, ...]]:
        """The scores of one query, and what each step was asked for them, in order."""
        (traced,) = self.traces([item], notes)
        return traced

    def traces(
        self, items: Iterable[MatchItem], notes: Counter[str]
    ) -> Iterator[tuple[Floats, tuple[Asked, ...]]]:
        """`trace` of each query."""
        stream = iter(items)
        while batch := list(islice(stream, _BATCH)):
            logs: list[list[Asked]] = [[] for _ in batch]
            yield from zip(self._decide(batch, None, notes, logs), map(tuple, logs), strict=True)

    def _decide(
        self,
        batch: Sequence[MatchItem],
        masks: Sequence[Mask | None] | None,
        notes: Counter[str],
        logs: Sequence[list[Asked]] | None = None,
    ) -> Iterator[Floats]:
        shapes = [(len(item.docs), len(item.targets)) for item in batch]
        results = [np.zeros(shape) for shape in shapes]
        wanted = masks or [None] * len(batch)
        open_ = [
            np.ones(shape, bool) if mask is None else mask.copy()
            for shape, mask in zip(shapes, wanted, strict=True)
        ]
        unknown = [np.zeros(shape, bool) for shape in shapes]
        before = [pairs.copy() for pairs in open_]
        for step in self.steps:
            last = step is self.steps[-1]
            if isinstance(step.matcher, JudgeMatcher):
                notes["judge.saved"] += _saved(batch, before, open_)
            inner: list[list[Asked]] | None = None if logs is None else [[] for _ in batch]
            scored = _score(step.matcher, batch, open_, notes, inner)
            for at, scores in enumerate(scored):
                rest = open_[at]
                missing = np.isnan(scores) & rest
                unknown[at] |= missing
                with np.errstate(invalid="ignore"):
                    match = _reaches(scores, step.matcher.threshold if last else step.accept) & rest
                    gone = rest & ~missing & _below(scores, step.reject)
                if last and self.filters:
                    results[at][rest] = scores[rest]
                else:
                    results[at][match] = 1.0
                if logs is not None and inner is not None:
                    logs[at].append(Asked(step, scores, rest, match, gone, tuple(inner[at])))
                open_[at] = np.zeros_like(rest) if last else rest & ~match & ~gone
                if self.kind == "all":  # one that does not match decides
                    unknown[at] &= ~(rest & ~missing & ~match) if last else ~gone
        for result, doubt in zip(results, unknown, strict=True):
            if self.kind == "any":  # one that matches decides
                result[doubt & (result == 0)] = np.nan
            else:
                result[doubt] = np.nan
            yield result


def _reaches(scores: Floats, limit: float | None) -> Mask:
    return np.zeros(scores.shape, bool) if limit is None else scores >= limit


def _below(scores: Floats, limit: float | None) -> Mask:
    return np.zeros(scores.shape, bool) if limit is None else scores < limit


def _score(
    matcher: Matcher,
    batch: Sequence[MatchItem],
    open_: Sequence[Mask],
    notes: Counter[str],
    logs: Sequence[list[Asked]] | None,
) -> list[Floats]:
    if isinstance(matcher, CombinedMatcher) and logs is not None:
        return list(matcher._decide(batch, open_, notes, logs))
    if isinstance(matcher, (JudgeMatcher, CombinedMatcher)):
        return list(matcher.scores_where(zip(batch, open_, strict=True), notes))
    return [np.asarray(scores, np.float64) for scores in matcher.scores(batch, notes)]


def _saved(batch: Sequence[MatchItem], before: Sequence[Mask], open_: Sequence[Mask]) -> int:
    """Distinct pairs of texts that a judge need not be asked for."""
    asked: set[tuple[str | None, str | None]] = set()
    spared: set[tuple[str | None, str | None]] = set()
    for item, all_, rest in zip(batch, before, open_, strict=True):
        for row, column in zip(*np.nonzero(all_)):
            pair = (item.docs[row].text, item.targets[column].text)
            (asked if rest[row, column] else spared).add(pair)
    return len(spared - asked)


def combined(spec: Mapping[str, Any], build: Callable[[object], Matcher]) -> CombinedMatcher:
    """The matcher of ``{any: [...]}``, ``{all: [...]}`` or ``{cascade: [...]}``.

    Args:
        spec: the mapping.
        build: makes the matcher of each member's spec.

    Raises:
        UsageError: it is malformed.
    """
    kind = next(each for each in KINDS if each in spec)
    others = [name for name in spec if name != kind]
    if others:
        raise UsageError(f"match.{others[0]}: {kind!r} stands alone; options belong to its members")
    members = spec[kind]
    if isinstance(members, (str, Mapping)) or not isinstance(members, Sequence) or len(members) < 2:
        raise UsageError(f"match.{kind}: a list of at least two matchers is expected")
    read = _cascade_step if kind == "cascade" else _step
    steps = []
    for at, member in enumerate(members):
        try:
            steps.append(read(kind, member, build, last=at == len(members) - 1))
        except UsageError as error:
            message = str(error).removeprefix("match")
            separator = "" if message[:1] in (".", ":") else ": "
            raise UsageError(f"match.{kind}[{at}]{separator}{message}") from None
    for at, step in enumerate(steps):
        if not isinstance(step.matcher, JudgeMatcher):
            continue
        if step.matcher.mode == "auto":
            steps[at] = replace(step, matcher=replace(step.matcher, mode="support"))
        if step.matcher.mode == "relevance":
            raise UsageError(
                f"match.{kind}: a judge of relevance uses no gold, and the other matchers do; "
                "use mode 'support', or the judge alone"
            )
    if kind != "cascade":  # in any order the answer is the same, so the dear ones come last
        steps.sort(key=lambda step: _is_dear(step.matcher))
    return CombinedMatcher(kind, tuple(steps))


def _is_dear(matcher: Matcher) -> bool:
    if isinstance(matcher, CombinedMatcher):
        return matcher.judge is not None
    return isinstance(matcher, JudgeMatcher)


def _step(kind: Kind, spec: object, build: Callable[[object], Matcher], *, last: bool) -> Step:
    matcher = build(spec)
    limit = matcher.threshold
    return Step(matcher, limit, None) if kind == "any" else Step(matcher, None, limit)


def _cascade_step(
    kind: Kind, spec: object, build: Callable[[object], Matcher], *, last: bool
) -> Step:
    limits: dict[str, float | None] = {"accept": None, "reject": None}
    if isinstance(spec, Mapping):
        for name in limits:
            limits[name] = _limit(name, spec)
        spec = {name: value for name, value in spec.items() if name not in limits}
        limit = limits["accept"] or limits["reject"]
        if not last and limit is not None and spec.get("method") == EmbeddingMatcher.name:
            spec.setdefault("threshold", limit)  # it has no default, and none is needed here
    matcher = build(spec)
    accept, reject = limits["accept"], limits["reject"]
    if last:
        if accept is not None or reject is not None:
            raise UsageError(
                "match: the last matcher of a cascade decides by its threshold; it takes no accept "
                "or reject"
            )
        return Step(matcher, None, None)
    if accept is None and reject is None:
        raise UsageError(
            "match: decides nothing; give accept (a match at or above it), reject (none below "
            "it), or both"
        )
    if accept is not None and reject is not None and accept < reject:
        raise UsageError(f"match.accept: {accept:g} is below reject, {reject:g}")
    return Step(matcher, accept, reject)


def _limit(name: str, spec: Mapping[str, Any]) -> float | None:
    value = spec.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise UsageError(f"match.{name}: {value!r} is not a number above 0")
    return float(value)


def combination_label(spec: Mapping[str, Any], label: Callable[[object], str]) -> str:
    """What a report calls a combination: ``cascade(overlap, llm)``."""
    kind = next(each for each in KINDS if each in spec)
    return f"{kind}({', '.join(label(member) for member in spec[kind])})"
