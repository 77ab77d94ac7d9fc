"""A run of the past, as its report.json tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np

from kragx.comparison.report_fields import check_report
from kragx.comparison.scores import direction
from kragx.comparison.view import Direction, Estimate
from kragx.errors import DataError
from kragx.metrics import Floats
from kragx.plain import HIDDEN
from kragx.printing import phrase


@dataclass(frozen=True)
class PastScore:
    """What a retriever scored in a run under one matcher.

    Attributes:
        retriever, match: whose.
        settings: as of an `Evaluation`.
        estimates: for each metric the mean with its interval.
        failed: on how many questions it failed, where it is not comparable; else nothing.
        query_ids: the questions.
        values: for each metric (q) their values; NaN where there is none.
    """

    retriever: str
    match: str
    settings: Mapping[str, Any] = field(repr=False)
    estimates: Mapping[str, Estimate]
    failed: str = ""
    query_ids: tuple[str, ...] = field(default=(), repr=False, metadata=HIDDEN)
    values: Mapping[str, Floats] = field(default_factory=dict, repr=False, metadata=HIDDEN)


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
        copies: other folders that hold the very same run.
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
    copies: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, report: Mapping[str, Any]) -> Self:
        """Of a report.json.

        Raises:
            DataError: it is none, or does not say when it came about.
        """
        check_report(report, name)
        try:
            record = report.get("record")
            if record is None:
                raise DataError("does not say when it came about (an earlier version wrote it)")
            gold = {"version": None, **report["evaluations"][0]["settings"]["dataset"]}
            if not gold.get("hash"):
                raise DataError(
                    "does not say which gold set it is of (an earlier version wrote it)"
                )
            git = record.get("git") or {}
            better = {
                metric: how
                for comparison in report["comparisons"]
                for metric, how in comparison["better"].items()
            }
            scores = tuple(_score(row, report["comparisons"]) for row in report["evaluations"])
            metrics = dict.fromkeys(metric for score in scores for metric in score.estimates)
            run = cls(
                name,
                str(record["date"]),
                git.get("commit"),
                git.get("dirty"),
                git.get("branch"),
                gold,
                {metric: better.get(metric) or direction(metric) for metric in metrics},
                scores,
            )
            run.when  # noqa: B018  # a date that is none is a mistake of the file
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"not a report that kragx wrote: {error!r}") from None
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


def _score(row: Mapping[str, Any], comparisons: list[Mapping[str, Any]]) -> PastScore:
    retriever, match = str(row["retriever"]), str(row["match"])
    comparison = next((own for own in comparisons if own["match"] == match), None)
    known = {} if comparison is None else comparison["overall"]["means"].get(retriever, {})
    lost = [] if comparison is None else comparison.get("failures", [])
    failed = next(
        (
            phrase("failed on {n} of {of} questions", n=own["n_failed"], of=own["n_queries"])
            for own in lost
            if own["retriever"] == retriever and not own["tolerated"]
        ),
        "",
    )
    own_settings = row["settings"]
    settings = {name: own_settings[name] for name in ("dataset", "profile", "match")} | own_settings
    settings["versions"] = settings.get("versions", {})
    return PastScore(
        retriever,
        match,
        {**settings, "deviations": settings.get("deviations", {})},
        {
            metric: Estimate(**known[metric])
            if metric in known
            else Estimate(mean, None, None, 0, is_mean=False)
            for metric, mean in row["mean"].items()
        },
        failed,
        tuple(row["queries"]),
        {
            metric: np.array([own.get(metric) for own in row["queries"].values()], float)
            for metric in row["mean"]
        },
    )
