"""Runs of the past as report.json tells them, and what lies between two of them.

Whether their numbers mean the same, and what changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Any, ClassVar, Self

from kragx.comparison.estimates import Direction, Estimate
from kragx.comparison.scores import Results, RetrieverScores
from kragx.comparison.side_by_side import Kind
from kragx.ground.errors import DataError, shorten
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import message


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
            message(
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


_SHA256 = 64  # characters


@dataclass(frozen=True)
class Entry:
    """A setting that changed; ``None`` where it was not there."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name} {_shorten_value(self.before)} → {_shorten_value(self.after)}"


@dataclass(frozen=True)
class HistoryStep:
    """From one run of a retriever to the next.

    Attributes:
        since: the run before.
        breaks: why the numbers do not mean the same, by the kind of reason; empty where they do.
        changes: the settings that changed.
    """

    since: str
    breaks: Mapping[Kind, str]
    changes: tuple[Entry, ...]

    @property
    def joined(self) -> bool:
        """Whether the numbers before and after mean the same."""
        return not self.breaks


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings that changed: of how the retriever was asked, matcher, gold set and versions."""
    parts = (("run", ""), ("match", "match."), ("dataset", "gold."), ("versions", "versions."))
    for part, prefix in parts:
        old, new = (dict(_flat(side.get(part) or {}, prefix)) for side in (before, after))
        for name in dict.fromkeys((*old, *new)):
            pair = old.get(name), new.get(name)
            # A name is how it is called; what the gold set holds is told by its hash.
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
