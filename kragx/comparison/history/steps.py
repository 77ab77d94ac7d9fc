"""What lies between two runs: if their numbers mean the same, what changed, and how sure it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from kragx.comparison.columns import joined
from kragx.comparison.families import N_FAMILIES, Families, family_of
from kragx.comparison.history.runs import PastScore
from kragx.comparison.side_by_side import Kind, settings_that_differ, shared_weights
from kragx.comparison.statistics import CONFIDENCE, TOLERANCE, paired_tests
from kragx.comparison.statistics.weighted import signed
from kragx.comparison.view import Direction
from kragx.ground.errors import shorten
from kragx.metrics import Floats
from kragx.metrics.weights import weighted_mean

_SHA256 = 64  # characters

Verdict = Literal["better", "worse", "different", "undecided", "same"]


@dataclass(frozen=True)
class Entry:
    """A setting that changed; ``None`` where it was not there."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name} {_shorten_value(self.before)} → {_shorten_value(self.after)}"


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
class HistoryStep:
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

    @classmethod
    def of(cls, since: str, before: PastScore, after: PastScore) -> HistoryStep:
        """What changed between two runs; nothing is tested yet."""
        breaks = settings_that_differ(before.settings, after.settings)
        return cls(since, breaks, tuple(_changes(before.settings, after.settings)))

    @property
    def joined(self) -> bool:
        """Whether the numbers before and after mean the same."""
        return not self.breaks


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings of how the retriever was asked, of the matcher, the gold set and versions."""
    parts = (("run", ""), ("match", "match."), ("dataset", "gold."), ("versions", "versions."))
    for part, prefix in parts:
        old, new = (dict(_flat(side.get(part) or {}, prefix)) for side in (before, after))
        for name in dict.fromkeys((*old, *new)):
            pair = old.get(name), new.get(name)
            if pair[0] != pair[1] and name not in ("name", "gold.name"):
                yield Entry(name, *pair)


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, entry in value.items():
        if isinstance(entry, Mapping) and entry:
            yield from _flat(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry


def _shorten_value(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value[:12] if len(value) == _SHA256 else value
    return shorten(value)


Place = tuple[int, int]
"""Of a step: its series and its run."""


def tested(
    steps: Mapping[Place, tuple[HistoryStep, PastScore, PastScore]],
    metrics: Sequence[str],
    better: Mapping[str, Direction],
) -> tuple[dict[Place, HistoryStep], Families]:
    """Steps with the paired test of each metric, whose errors are bounded as a report's.

    Args:
        steps: of all series, by their places, with what lies on both sides.
        metrics: that are looked at, the first by itself.
        better: their directions.
    """
    columns: dict[int, list[tuple[Place, str, Floats, Floats | None]]] = defaultdict(list)
    for place, (step, before, after) in steps.items():
        pair = before.scores, after.scores
        ids, rows = joined([side.query_ids for side in pair])
        weights = shared_weights(pair, ids, rows) if step.joined else None
        for metric in metrics if step.joined else ():
            means = [side.estimates.get(metric) for side in (before, after)]
            if all(mean is not None and mean.is_mean for mean in means):
                old, new = (
                    side.values[metric] if own_rows is None else side.values[metric][own_rows]
                    for side, own_rows in zip(pair, rows)
                )
                columns[len(old)].append((place, metric, new - old, weights))
    groups = []
    for n, group in columns.items():  # of as many questions the signs are the same
        family_numbers = np.array([family_of(metric, metrics[0]) for _, metric, *_ in group])
        values = (term for *_, column, weights in group for term in signed([column], weights))
        (flipped,), families = paired_tests(
            values, n, [np.arange(n)], family_of=family_numbers[None], n_families=N_FAMILIES
        )
        groups.append((group, family_numbers, flipped, Families(*families)))
    every = Families.joined(families for *_, families in groups)
    tests: dict[Place, dict[str, StepTest]] = defaultdict(dict)
    for group, family_numbers, flipped, _ in groups:
        # Against the maxima of all groups, not of its own alone: errors are bounded over the whole
        # history.
        adjusted = every.adjusted(family_numbers, flipped.p, flipped.z)
        for (place, metric, column, weights), p, p_adjusted in zip(
            group, flipped.p.tolist(), adjusted.tolist()
        ):
            mean = weighted_mean(column, weights)
            if mean is not None:
                verdict = _verdict(column, mean, p_adjusted, better[metric])
                tests[place][metric] = StepTest(mean, p, p_adjusted, verdict)
    return {
        place: replace(step, tests=tests[place]) for place, (step, _, _) in steps.items()
    }, every


def _verdict(differences: Floats, mean: float, p: float, better: Direction) -> Verdict:
    if np.nanmax(np.abs(differences)) <= TOLERANCE:
        return "same"
    if p > 1 - CONFIDENCE:
        return "undecided"
    if better == "neither":
        return "different"
    return "better" if (mean > 0) == (better == "higher") else "worse"
