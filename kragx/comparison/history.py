"""Runs over time: what became of each retriever's numbers, with which commit and which settings.

What lies between two runs: whether their numbers mean the same, and what changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from math import inf
from typing import Any, Self

from kragx.comparison.estimates import Direction, Estimate
from kragx.comparison.scores import Results
from kragx.comparison.side_by_side import settings_that_differ
from kragx.data.gold_diff import gold_name
from kragx.ground.errors import DataError, UsageError, nearest, shorten
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    message,
    number,
    visible,
    warning,
)
from kragx.metrics import name_among

SHOWN = 20
"""So many runs are shown in a terminal."""


@dataclass(frozen=True)
class PastScore:
    """What a retriever scored in a run under one matcher.

    Attributes:
        retriever, match: whose, and under which matcher.
        settings: as of an `Evaluation`.
        estimates: for each metric the mean with its interval.
        failed: on how many questions it failed, where it is not comparable; else nothing.
    """

    retriever: str
    match: str
    settings: Mapping[str, Any]
    estimates: Mapping[str, Estimate]
    failed: str = ""


def _estimate(recorded: Mapping[str, Any] | None, mean: float | None) -> Estimate:
    """An estimate with the infinities that JSON has as null: of never, and of open upper ends."""
    of_mean = {"value": mean, "low": None, "high": None, "n": 0, "is_mean": False}
    values = dict(recorded or of_mean)
    # JSON knows no infinity, so null is one of two things; the mean beside it says which.
    if values["value"] is None and mean == inf:
        values["value"] = mean
    elif values["low"] is not None and values["high"] is None:
        values |= {"high": inf, "sure_high": inf}
    return Estimate(**values)


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
            DataError: it is none, or does not say which gold set it is of.
        """
        results = Results.read(name, report)
        try:
            record, gold = report["record"], results.scores[0].settings["dataset"]
            if not gold["hash"]:
                raise DataError("does not say which gold set it is of")
            # Outside of a repository there is none.
            git = record.get("git") or dict.fromkeys(("commit", "dirty", "branch"))
            run = cls(
                name,
                str(record["date"]),
                git["commit"],
                git["dirty"],
                git["branch"],
                gold,
                {metric: way for score in results.scores for metric, way in score.better.items()},
                tuple(_past_scores(results, report)),
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


def _past_scores(results: Results, report: Mapping[str, Any]) -> Iterator[PastScore]:
    """What each retriever scored, with the intervals of the comparison under its matcher."""
    compared = {comparison["match"]: comparison for comparison in report["comparisons"]}
    for score in results.scores:
        comparison = compared[score.match]
        intervals = comparison["overall"]["means"].get(score.name, {})
        failures = (
            message(
                "failed on {n} of {of} questions", n=failure["n_failed"], of=failure["n_queries"]
            )
            for failure in comparison.get("failures", [])
            if failure["retriever"] == score.name and not failure["tolerated"]
        )
        yield PastScore(
            score.name,
            score.match,
            score.settings,
            {name: _estimate(intervals.get(name), mean) for name, mean in score.means.items()},
            next(failures, ""),
        )


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
        breaks: why the numbers do not mean the same; empty where they do.
        changes: the settings that changed.
    """

    since: str
    breaks: tuple[str, ...]
    changes: tuple[Entry, ...]


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Entry]:
    """Settings that changed: of how the retriever was asked, matcher, gold set and versions."""
    parts = (("run", ""), ("match", "match."), ("dataset", "gold."), ("versions", "versions."))
    for part, prefix in parts:
        old, new = (dict(_flat(side.get(part) or {}, prefix)) for side in (before, after))
        for name in dict.fromkeys((*old, *new)):
            entry = Entry(name, old.get(name), new.get(name))
            # A name is how it is called; what the gold set holds is told by its hash.
            if entry.before != entry.after and name not in ("name", "gold.name"):
                yield entry


def _flat(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, entry in value.items():
        if isinstance(entry, Mapping) and entry:
            yield from _flat(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry


def _shorten_value(value: Any) -> str:
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value[:12] if len(value) == _SHA256 else value
    return "-" if value is None else shorten(value)


@dataclass(frozen=True)
class Series:
    """A retriever under one matcher, run by run.

    Attributes:
        retriever, match: whose.
        points: for each run of the history what it scored; None where it was no part of it.
        steps: for each run what lies between it and the one before that has numbers of it; None
            for the first, and where it has none.
    """

    retriever: str
    match: str
    points: tuple[PastScore | None, ...]
    steps: tuple[HistoryStep | None, ...]

    @classmethod
    def of(cls, runs: Sequence[PastRun], retriever: str, match: str) -> Self:
        """Of some runs, from the oldest to the newest."""
        # A retriever that was left out for some runs keeps one line, with a gap.
        scores = [{(score.retriever, score.match): score for score in run.scores} for run in runs]
        points = [of_run.get((retriever, match)) for of_run in scores]
        steps: list[HistoryStep | None] = [None] * len(runs)
        measured = [
            (place, point) for place, point in enumerate(points) if point and not point.failed
        ]
        for (earlier, before), (later, after) in pairwise(measured):
            settings = before.settings, after.settings
            breaks = tuple(settings_that_differ(*settings))
            steps[later] = HistoryStep(
                runs[earlier].name, breaks, tuple(changed_settings(*settings))
            )
        return cls(retriever, match, tuple(points), tuple(steps))

    def remarks(self, place: int) -> Iterator[str]:
        """What a run has to say of it besides its numbers."""
        point, step = self.points[place], self.steps[place]
        if point is not None and point.failed:
            yield message("not comparable: it {failed}", failed=point.failed)
        if step is not None:
            for why in step.breaks:
                yield message("not comparable with {run}: {why}", run=visible(step.since), why=why)
            yield from (visible(str(change)) for change in step.changes)

    def cell(self, place: int, metric: str) -> Cell:
        """Its number in a run, with a mark where the run before cannot be compared."""
        point, step = self.points[place], self.steps[place]
        if point is None or metric not in point.estimates:
            return Cell("")
        if point.failed:
            return Cell("✗", "dim")
        estimate = point.estimates[metric]
        broken = "┊ " if step is not None and step.breaks else ""
        return Cell(joined("", [broken, number(estimate.value)]), below=estimate.ends)


@dataclass(frozen=True)
class History(Result):
    """Runs over time.

    Attributes:
        runs: from the oldest to the newest.
        metrics: that are looked at.
        series: of each retriever under each matcher.
        skipped: folders that are left out, with the reason.
    """

    runs: tuple[PastRun, ...]
    metrics: tuple[str, ...]
    series: tuple[Series, ...]
    skipped: Mapping[str, str]

    @classmethod
    def of(
        cls,
        runs: Iterable[PastRun],
        *,
        metrics: Sequence[str] = (),
        skipped: Mapping[str, str] | None = None,
    ) -> History:
        """The history of some runs.

        Args:
            runs: in any order.
            metrics: to look at, however they are written; all of the newest run if none is named.
            skipped: folders that are no run.

        Raises:
            UsageError: there is no run, or no run has a metric that is named.
        """
        # By the time in each report: folders are copied and renamed, and clones have other dates.
        ordered = sorted(runs, key=lambda run: (run.when, run.name))
        reasons = dict(skipped or {})
        if not ordered:
            text = message("name a folder of folders that kragx run has written")
            why = (joined(": ", entry) for entry in islice(reasons.items(), 3))
            raise UsageError("there is no run here", remedy=joined("; ", [text, *why]))
        keys = ((score.retriever, score.match) for run in ordered for score in run.scores)
        series = tuple(Series.of(ordered, *key) for key in dict.fromkeys(keys))
        bare = tuple(replace(run, scores=()) for run in ordered)  # these stand in the series
        return cls(bare, tuple(_named(metrics, ordered) or ordered[-1].better), series, reasons)

    def describe(self, metrics: Sequence[str] | None = None) -> Iterator[Part]:
        """A table of each metric, newest run last, then what changed."""
        metric_names = self.metrics if metrics is None else metrics
        start = max(len(self.runs) - SHOWN, 0)
        for name, why in self.skipped.items():
            yield warning(message("left out: {name}: {why}", name=visible(name), why=visible(why)))
        if len(self.runs) == 1:
            yield Line(message("one run: there is nothing yet to set it against"))
        for metric in metric_names:
            if len(metric_names) > 1:
                yield Heading(metric)
            yield self._table(metric, start)
        yield from self._remarks(start)
        if start:
            note = message(
                "the last {shown} of {n} runs; --format json has all",
                shown=SHOWN,
                n=len(self.runs),
            )
            yield Line(note, "dim")

    def _remarks(self, start: int) -> Iterator[Line]:
        """What changed with each run, and where numbers before and after mean something else."""
        for place, run in list(enumerate(self.runs))[start:]:
            texts: dict[str, list[str]] = defaultdict(list)
            for series in self.series:
                for text in series.remarks(place):
                    texts[text].append(self._label(series))
            for text, names in texts.items():
                retriever_names = "" if len(names) == len(self.series) > 1 else ", ".join(names)
                head = f"{_when(run)} {visible(run.name)}"
                yield Line(joined(": ", [head, retriever_names, text]), item="-")

    def _label(self, series: Series) -> str:
        is_one_match = len({other.match for other in self.series}) == 1
        return visible(series.retriever if is_one_match else f"{series.retriever} ({series.match})")

    def _table(self, metric: str, start: int) -> Table:
        runs = self.runs[start:]
        words, places = _run_columns(runs), range(start, len(self.runs))
        values = (
            (self._label(series), [series.cell(place, metric) for place in places])
            for series in self.series
        )
        # A retriever that has none of this metric, or was no part of these runs, has no column.
        told = (value for value in values if any({*cell.text} - {*"┊ -"} for cell in value[1]))
        heads, cells = zip(*words, *told)
        broken = any("┊" in cell.text for column in cells for cell in column)
        notes = [
            message("┊ not comparable with the run before") if broken else "",
            message("+ with uncommitted changes") if any(run.dirty for run in runs) else "",
            message("kragx compare says whether a change is more than chance"),
        ]
        note = joined("; ", notes) if len(self.runs) > 1 else ""
        return Table(heads, [*zip(*cells)], words=len(words), note=note)


def _named(metrics: Sequence[str], runs: Sequence[PastRun]) -> list[str]:
    """The metrics of these names, however they are written."""
    names = list(dict.fromkeys(name for run in reversed(runs) for name in run.better))
    metrics = [name if ":" in name else name_among(name, names) for name in metrics]
    for name in metrics:
        if name not in names:
            raise UsageError(
                "--metric: no run has {name!r}; {hint}", name=name, hint=nearest(name, names)
            )
    return metrics


def _run_columns(runs: Sequence[PastRun]) -> list[tuple[str, list[Cell]]]:
    """What tells runs from each other: their heads and cells."""
    # The start of a commit, with a mark where the run may rest on something else.
    commits = [
        Cell(
            f"{run.commit[:10]}{'+' if run.dirty else ''}" if run.commit else "-",
            below=visible(run.branch or ""),
        )
        for run in runs
    ]
    is_known = any(run.commit or run.branch for run in runs)
    return [
        (message("run"), [Cell(_when(run), below=visible(run.name)) for run in runs]),
        *([(message("commit"), commits)] if is_known else []),
        (message("gold set"), [Cell(visible(gold_name(run.gold))) for run in runs]),
    ]


def _when(run: PastRun) -> str:
    return f"{run.date[:10]} {run.date[11:16]}"
