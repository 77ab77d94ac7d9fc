"""What lies between two runs: if their numbers mean the same, what changed, and how sure it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from kragx.comparison.families import N_FAMILIES, Families, family_of
from kragx.comparison.history.runs import PastScore
from kragx.comparison.side_by_side import Kind, settings_that_differ
from kragx.comparison.statistics import (
    CONFIDENCE,
    MANY,
    TOLERANCE,
    Flipped,
    flip_tests,
    normal_tests,
)
from kragx.comparison.view import Direction
from kragx.errors import shorten
from kragx.metrics import Floats, Ints
from kragx.printing import phrase

ALPHA = 1 - CONFIDENCE

_SHA256 = 64  # characters

BREAKS: Mapping[Kind, str] = {
    "gold": phrase("another gold set"),
    "profile": phrase("another profile"),
    "match": phrase("another matcher"),
    "no_gold": phrase("queries without gold are treated differently"),
    "facts_match": phrase("facts are matched differently"),
    "relevance": phrase("relevance was judged differently"),
    "pool": phrase("judged in another pool"),
}
"""The kinds of reasons in a few words; a step has them in full."""

Verdict = Literal["better", "worse", "different", "undecided", "same"]


@dataclass(frozen=True)
class Entry:
    """A setting that changed; ``None`` where it was not there."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name} {_shown(self.before)} → {_shown(self.after)}"


@dataclass(frozen=True)
class StepTest:
    """How much a mean changed, and whether that is more than chance.

    Attributes:
        difference: of the means, over the questions that have a value before and after.
        p: of the paired randomisation test, two-sided.
        p_adjusted: the same as one of all tests of the history.
        verdict: what that says; ``same`` where no question has another value.
    """

    difference: float
    p: float
    p_adjusted: float
    verdict: Verdict


@dataclass(frozen=True)
class Step:
    """From one run of a retriever to the next.

    Attributes:
        since: the run before.
        breaks: why the numbers do not mean the same, by the kind of reason; empty where they do.
        changes: the settings that changed.
        tests: of each metric that is a mean; none across a break.
    """

    since: str
    breaks: Mapping[Kind, str]
    changes: tuple[Entry, ...]
    tests: Mapping[str, StepTest] = field(default_factory=dict)

    @property
    def joined(self) -> bool:
        """Whether the numbers before and after mean the same."""
        return not self.breaks


def step(since: str, before: PastScore, after: PastScore) -> Step:
    """What changed between two runs; nothing is tested yet."""
    breaks = settings_that_differ(before.settings, after.settings)
    if before.settings["dataset"]["hash"] is None and before.query_ids != after.query_ids:
        breaks["gold"] = "the gold sets have different queries"
    return Step(since, breaks, tuple(_changes(before.settings, after.settings)))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings of how the retriever was asked, of the matcher, the gold set and versions."""
    parts = (("run", ""), ("match", "match."), ("dataset", "gold."), ("versions", "versions."))
    for part, prefix in parts:
        one, other = (dict(_flat(own.get(part) or {}, prefix)) for own in (before, after))
        for name in dict.fromkeys((*one, *other)):
            pair = one.get(name), other.get(name)
            if pair[0] != pair[1] and name not in ("name", "gold.name"):
                yield Entry(name, *pair)


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, own in value.items():
        if isinstance(own, Mapping) and own:
            yield from _flat(own, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", own


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value[:12] if len(value) == _SHA256 else value
    return shorten(value)


Places = Mapping[tuple[int, int], tuple[Step, PastScore, PastScore]]
"""Steps by the place of their series and of their point, with what lies on both sides."""

_Column = tuple[tuple[int, int], str, Floats]
"""A step by its place, a metric, and (q) by how much each question's value has changed."""


def tested(
    steps: Places, metrics: Sequence[str], better: Mapping[str, Direction]
) -> tuple[dict[tuple[int, int], Step], Families]:
    """Steps with the paired test of each metric, whose errors are bounded as a report's.

    Args:
        steps: of all series.
        metrics: that are looked at, the first by itself.
        better: their directions.
    """
    columns: dict[tuple[str, ...], list[_Column]] = defaultdict(list)
    for place, (own, before, after) in steps.items():
        for metric in metrics:
            pair = before.estimates.get(metric), after.estimates.get(metric)
            if own.joined and all(known is not None and known.is_mean for known in pair):
                column = after.values[metric] - _rows(before, after.query_ids, metric)
                columns[after.query_ids].append((place, metric, column))
    groups = [
        (group, own, *_flipped(group, own))
        for group in columns.values()
        for own in [np.array([family_of(metric, metrics[0]) for _, metric, _ in group])]
    ]
    families = Families.joined(own for *_, own in groups)
    found: dict[tuple[int, int], dict[str, StepTest]] = defaultdict(dict)
    for group, own_family, flipped, _ in groups:
        adjusted = flipped.p.copy()
        for family in np.unique(own_family).tolist():
            at = own_family == family
            adjusted[at] = families.adjusted(family, flipped.p[at], flipped.z[at])
        for (place, metric, column), p, p_adjusted in zip(
            group, flipped.p.tolist(), adjusted.tolist()
        ):
            known = column[~np.isnan(column)]
            if known.size:
                difference = float(known.mean())
                verdict = _verdict(known, difference, p_adjusted, better[metric])
                found[place][metric] = StepTest(difference, p, p_adjusted, verdict)
    done = {place: replace(own, tests=found[place]) for place, (own, _, _) in steps.items()}
    return done, families


def _rows(before: PastScore, query_ids: tuple[str, ...], metric: str) -> Floats:
    """(q) the values before of these questions."""
    if before.query_ids == query_ids:
        return before.values[metric]
    place = {query_id: at for at, query_id in enumerate(before.query_ids)}
    values = [before.values[metric][place[own]] if own in place else np.nan for own in query_ids]
    return np.array(values, float)


def _flipped(group: list[_Column], family: Ints) -> tuple[Flipped, Families]:
    n, of = len(group[0][2]), family[None]
    every = [np.arange(n)]
    if n > MANY:
        columns = (own for _, _, own in group)
        tests, own = normal_tests(columns, n, every, family_of=of, n_families=N_FAMILIES)
    else:
        table = np.stack([own for _, _, own in group], axis=1)
        tests, own = flip_tests(table, every, family_of=of, n_families=N_FAMILIES)
    return tests[0], Families(*own)


def _verdict(known: Floats, difference: float, p: float, better: Direction) -> Verdict:
    if np.all(np.abs(known) <= TOLERANCE):
        return "same"
    if p > ALPHA:
        return "undecided"
    if better == "neither":
        return "different"
    return "better" if (difference > 0) == (better == "higher") else "worse"
