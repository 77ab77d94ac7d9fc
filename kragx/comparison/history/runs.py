"""Runs of the past as report.json tells them, and what lies between two of them.

Whether their numbers mean the same, what changed, and how sure that is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kragx.comparison.estimates import N_FAMILIES, Direction, Estimate, Families, family_of, told
from kragx.comparison.scores import Results, RetrieverScores
from kragx.comparison.side_by_side import Entry, Kind, RunPair
from kragx.comparison.statistics import CONFIDENCE, TOLERANCE, paired_tests
from kragx.comparison.statistics.evidence import signed
from kragx.ground.errors import DataError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import phrase
from kragx.metrics import Floats
from kragx.metrics.weights import weighted_mean

Verdict = Literal["better", "worse", "different", "undecided", "same"]


@dataclass(frozen=True)
class PastScore:
    """What a retriever scored in a run under one matcher.

    Attributes:
        scores: its values.
        estimates: for each metric the mean with its interval.
        failed: on how many questions it failed, where it is not comparable; else nothing.
    """

    scores: RetrieverScores = field(repr=False, metadata=HIDDEN)
    estimates: Mapping[str, Estimate]
    failed: str = ""

    also_plain: ClassVar[tuple[str, ...]] = ("retriever", "match", "settings")

    @property
    def retriever(self) -> str:
        """Whose."""
        return self.scores.name

    @property
    def match(self) -> str:
        """Under which matcher."""
        return self.scores.match

    @property
    def settings(self) -> Mapping[str, Any]:
        """As of an `Evaluation`."""
        return self.scores.settings

    @classmethod
    def read(cls, scores: RetrieverScores, comparison: Mapping[str, Any]) -> Self:
        """Of a report's comparison under the same matcher."""
        failures = (
            phrase(
                "failed on {n} of {of} questions", n=failure["n_failed"], of=failure["n_queries"]
            )
            for failure in comparison.get("failures", [])
            if failure["retriever"] == scores.name and not failure["tolerated"]
        )
        intervals = comparison["overall"]["means"].get(scores.name, {})
        bare = {"low": None, "high": None, "n": 0, "is_mean": False}
        return cls(
            scores,
            {
                metric: _unbounded(
                    Estimate(**intervals.get(metric) or {"value": mean, **bare}), mean
                )
                for metric, mean in scores.means.items()
            },
            next(failures, ""),
        )


def _unbounded(estimate: Estimate, mean: float | None) -> Estimate:
    """An estimate with the infinities that JSON has as null: of never, and of open upper ends."""
    # JSON knows no infinity, so null is one of two things; the mean beside it says which.
    if estimate.value is None and mean == inf:
        return replace(estimate, value=mean)
    if estimate.low is None or estimate.high is not None:
        return estimate
    return replace(estimate, high=inf, sure_high=inf)


@dataclass(frozen=True)
class PastRun:
    """A run of the past.

    Attributes:
        name: of its folder, from the results' folder on.
        date: when it began, as ISO 8601.
        commit: that was checked out; None if there is none, or none is known.
        dirty: whether it may rest on what the commit does not hold; None: not known.
        branch: that was checked out.
        gold: name, version and content hash of the gold set.
        better: the direction of each metric.
        scores: of its retrievers, under each matcher.
    """

    name: str
    date: str
    commit: str | None
    dirty: bool | None
    branch: str | None
    gold: Mapping[str, Any]
    better: Mapping[str, Direction] = field(repr=False)
    scores: tuple[PastScore, ...]

    @classmethod
    def read(cls, name: str, report: Mapping[str, Any]) -> Self:
        """Of a report.json.

        Raises:
            DataError: it is none, or does not say when it came about.
        """
        results = Results.read(name, report)
        try:
            record = report.get("record")
            if record is None:
                raise DataError("does not say when it came about (an earlier version wrote it)")
            gold = results.scores[0].settings["dataset"]
            if not gold["hash"]:
                raise DataError(
                    "does not say which gold set it is of (an earlier version wrote it)"
                )
            # Outside of a repository, and in reports of before it was recorded, there is none.
            git = {"commit": None, "dirty": None, "branch": None} | (record.get("git") or {})
            compared = {comparison["match"]: comparison for comparison in report["comparisons"]}
            run = cls(
                name,
                str(record["date"]),
                git["commit"],
                git["dirty"],
                git["branch"],
                gold,
                {metric: way for score in results.scores for metric, way in score.better.items()},
                tuple(PastScore.read(score, compared[score.match]) for score in results.scores),
            )
            run.when  # noqa: B018  # a date that is none is a mistake of the file
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise DataError("not a report that kragx wrote: {error!r}", error=error) from None
        return run

    @property
    def when(self) -> datetime:
        """When it began."""
        date = datetime.fromisoformat(self.date)
        return date if date.tzinfo else date.replace(tzinfo=UTC)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it computed."""
        return tuple(self.better)


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

    @property
    def joined(self) -> bool:
        """Whether the numbers before and after mean the same."""
        return not self.breaks


Place = tuple[int, int]
"""Of a step: its series and its run."""

Column = tuple[Place, str, Floats, Floats | None]
"""The step, a metric, how much each question changed in it, and what each weighs."""


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
    # Not a comparison for each step: signs are drawn once for all steps of as many questions, where
    # a long history would draw them hundreds of times.
    columns: dict[int, list[Column]] = defaultdict(list)
    for place, (step, before, after) in steps.items():
        pair = RunPair(before.scores, after.scores)
        for metric in _means(before, after, metrics if step.joined else ()):
            differences = pair.gains(metric)
            columns[len(differences)].append((place, metric, differences, pair.weights))
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
        rows = zip(group, flipped.p.tolist(), adjusted.tolist())
        for (place, metric, column, weights), p, p_adjusted in rows:
            if (mean := weighted_mean(column, weights)) is not None:
                verdict = _verdict(column, mean, p_adjusted, better[metric])
                tests[place][metric] = StepTest(mean, p, p_adjusted, verdict)
    return {
        place: replace(step, tests=tests[place]) for place, (step, _, _) in steps.items()
    }, every


def _means(before: PastScore, after: PastScore, metrics: Sequence[str]) -> Iterator[str]:
    """Those that are means before and after, so that their differences can be tested."""
    for metric in metrics:
        means = [side.estimates.get(metric) for side in (before, after)]
        if all(mean is not None and mean.is_mean for mean in means):
            yield metric


def _verdict(differences: Floats, mean: float, p: float, better: Direction) -> Verdict:
    if np.nanmax(np.abs(differences)) <= TOLERANCE:
        return "same"
    if p > 1 - CONFIDENCE:
        return "undecided"
    return told(mean, better)
