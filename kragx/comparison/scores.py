"""What a comparison looks at: a retriever's values, from an evaluation or a run's folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from types import NoneType
from typing import Any, Self

import numpy as np

from kragx.comparison.estimates import Direction, definition_of
from kragx.comparison.slices import Tables
from kragx.comparison.statistics.evidence import rows_of
from kragx.data import GoldDataset
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.nearby import Nearby
from kragx.evaluation.runs import RUNS, SeveralRuns
from kragx.ground.errors import DataError, UsageError, nearest, shorten
from kragx.ground.printing import Name, message
from kragx.metrics import Floats, is_mean, known_metric
from kragx.metrics.intervals import Ratio


@dataclass(frozen=True)
class RetrieverScores:
    """What one retriever scored under one matcher.

    Attributes:
        name: the retriever.
        match: names the matcher.
        settings: as of an `Evaluation`.
        query_ids: the queries.
        values: for each metric (q) the queries' values; NaN where there is none.
        means: for each metric the number that its report showed.
        better: for each metric ``higher``, ``lower`` or ``neither``.
        nearby: the means at thresholds near the chosen one, where they are known.
        bounds: of metrics some of whose judgements are missing, what the mean may become.
        failures: by query id why the retriever failed, as far as that is known.
        counts: as of an `Evaluation`.
        dataset: the gold set; None where it was not kept.
        groups: the fields of the queries to slice by, where these stand beside the values.
        runs: how its runs differ; None of a retriever that was asked once.
        ratios: of metrics that are a sum over a sum, what each query adds; empty where that was not
            kept.
        weights: (q) for how many asks each query stands; None where all are alike.
    """

    name: str
    match: str
    settings: Mapping[str, Any]
    query_ids: Sequence[str]
    values: Mapping[str, Floats]
    means: Mapping[str, float | None]
    better: Mapping[str, Direction]
    nearby: Nearby | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dataset: GoldDataset | None = field(default=None, repr=False, compare=False)
    groups: Tables | None = field(default=None, repr=False, compare=False)
    runs: SeveralRuns | None = field(default=None, repr=False)
    ratios: Mapping[str, Ratio] = field(default_factory=dict, repr=False, compare=False)
    weights: Floats | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, evaluation: Evaluation) -> RetrieverScores:
        """Of an evaluation."""
        return cls(
            name=Name(evaluation.name, "retriever"),
            match=evaluation.match_name,
            settings=evaluation.settings,
            query_ids=evaluation.query_ids,
            values={str(scores.spec): scores.values for scores in evaluation.scores},
            means=evaluation.mean,
            better={name: direction(name) for name in evaluation.mean},
            nearby=evaluation.nearby,
            bounds=evaluation.bounds,
            failures=evaluation.failures,
            counts=evaluation.counts,
            dataset=evaluation.dataset,
            runs=evaluation.several_runs,
            ratios={
                str(scores.spec): scores.ratio
                for scores in evaluation.scores
                if scores.ratio is not None
            },
            weights=evaluation.weights,
        )

    @classmethod
    def read(
        cls,
        row: Mapping[str, Any],
        better: Mapping[str, Direction],
        dataset: GoldDataset | None = None,
        tables: Tables | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> RetrieverScores:
        """Of a row of report.json's ``evaluations``.

        Args:
            row: the row.
            better: the directions that the report's comparisons hold.
            dataset: the gold set, if it is known.
            tables: where the queries' values stand, if not in the row.
            weights: the report's, by query id; None where all are alike, or in the tables.
        """
        queries = {} if tables is not None else row["queries"]
        return cls(
            name=row["retriever"],
            match=row["match"],
            settings=_settings(row["settings"]),
            query_ids=tuple(queries) if tables is None else tables.query_ids,
            values={name: _values(row, name, tables) for name in row["mean"]},
            means={name: mean_in(row, name) for name in row["mean"]},
            better={name: better.get(name) or direction(name) for name in row["mean"]},
            nearby=Nearby.read(row["nearby"]) if row.get("nearby") else None,
            bounds={name: (low, high) for name, (low, high) in row.get("bounds", {}).items()},
            failures=dict(row.get("failures", {})),
            counts=dict(row["counts"]),
            dataset=dataset,
            groups=tables,
            runs=SeveralRuns.read(row["runs"]) if row.get("runs") else None,
            weights=(
                tables.weights
                if tables is not None
                else None
                if weights is None
                else np.array([weights[query_id] for query_id in queries], np.float64)
            ),
        )

    def table(self, metrics: Iterable[str], query_ids: Sequence[str]) -> Floats:
        """(len(query_ids), len(metrics)) the values of these queries, each of which there is."""
        # A row a query, so that rows can be picked at once for all metrics.
        values = np.stack([self.values[metric] for metric in metrics], axis=1)
        rows = rows_of(query_ids, self.query_ids)
        return values if rows is None else values[rows]

    def with_first(self, metrics: Iterable[str]) -> Self:
        """The same with some metrics before the others, as the first one is what is asked."""
        names = dict.fromkeys([*metrics, *self.means])
        return replace(self, means={name: self.means[name] for name in names if name in self.means})

    @property
    def n_failed(self) -> int:
        """On how many queries the retriever failed."""
        return int(self.counts.get("n_failed", 0))

    @property
    def nothing(self) -> bool:
        """Whether every list is empty, or missing, though it did not fail and some have gold."""
        n, bare = (self.counts.get(name, 0) for name in ("n_queries", "n_no_gold"))
        answers = self.counts.get(RUNS, self.counts)  # of all runs
        n_empty = sum(answers.get(name, 0) for name in ("n_empty", "n_missing", "n_failed"))
        return bool(n_empty == n * answers.get("n", 1) and n > max(bare, self.n_failed))

    def is_mean(self, metric: str) -> bool:
        """Whether the metric's number is the mean of the queries' values."""
        mean, values = self.means[metric], self.values[metric]
        return is_mean(known_metric(metric), mean, values, weights=self.weights)


def _settings(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a report; what an earlier version did not write is unknown."""
    return {
        **recorded,
        **{name: dict(recorded.get(name, {})) for name in ("deviations", "versions")},
        **{name: dict(recorded[name]) for name in ("profile", "match")},
        "dataset": dict.fromkeys(("name", "version", "hash")) | recorded["dataset"],
    }


def _n_never(row: Mapping[str, Any], metric: str) -> int:
    """For how many queries what a metric waits for never came, which JSON has as null."""
    return int(row["counts"].get("metrics", {}).get(metric, {}).get("n_never", 0))


def mean_in(row: Mapping[str, Any], metric: str) -> float | None:
    """A number of a row of report.json; infinity, which JSON has as null, where it is never."""
    value: float | None = row["mean"][metric]
    is_never = metric not in row.get("bounds", {}) and _n_never(row, metric)
    return inf if value is None and is_never else value


def _values(row: Mapping[str, Any], metric: str, tables: Tables | None) -> Floats:
    """(q) the values of a row or its tables; NaN for all where never is not told from no value."""
    if tables is not None:
        return tables.values(metric)
    # JSON has null for both; with a wrong guess means and tests would be of other queries.
    if _n_never(row, metric):
        return np.full(len(row["queries"]), np.nan)
    return np.array([values.get(metric) for values in row["queries"].values()], float)


def direction(metric: str) -> Direction:
    """The direction of a metric in a word; ``neither`` also for one that cannot be loaded."""
    return definition_of(metric).better


@dataclass(frozen=True)
class Results:
    """What a comparison needs of a finished run.

    Attributes:
        name: what messages call it.
        scores: of its retrievers, under each matcher.
        dataset: its gold set; None where only values are at hand.
    """

    name: str
    scores: tuple[RetrieverScores, ...]
    dataset: GoldDataset | None = None

    @classmethod
    def read(
        cls,
        name: str,
        report: Mapping[str, Any],
        dataset: GoldDataset | None = None,
        tables: Tables | None = None,
    ) -> Results:
        """The numbers of a report.json as they stand there; nothing is computed again.

        Args:
            name: what messages call it.
            report: what it holds.
            dataset: its gold set, if that is at hand.
            tables: where the values of its queries stand, if not in the report.

        Raises:
            DataError: it is none.
        """
        check_report(report, name)
        better: dict[str, Direction] = {}
        try:
            for comparison in report.get("comparisons", ()):
                better |= comparison["better"]
            scores = tuple(
                RetrieverScores.read(row, better, dataset, tables, report.get("weights"))
                for row in report["evaluations"]
            )
        # check_report looks at kinds alone; a report that somebody edited may still be impossible.
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            problem = message("not what kragx writes: {error!r}", error=error)
            raise DataError(problem, path=name, field="evaluations") from None
        return cls(name, scores, dataset)

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers' names, each once."""
        return tuple(dict.fromkeys(score.name for score in self.scores))

    def of(self, retriever: str) -> tuple[RetrieverScores, ...]:
        """A retriever's scores, under each matcher.

        Raises:
            UsageError: there is no such retriever.
        """
        if retriever not in self.retrievers:
            raise UsageError(
                "{name} has no retriever {retriever!r}; {hint}",
                name=self.name,
                retriever=retriever,
                hint=nearest(retriever, self.retrievers),
            )
        return tuple(score for score in self.scores if score.name == retriever)


_NUMBER, _TEXT = (int, float), (str, NoneType)
_VALUE = (*_NUMBER, NoneType)
_WHOLE = (int,)
_MAP: dict[str, Any] = {}
_EVERY = "*"
"""A mapping with this one holds the same kind under every name."""

_COUNTS = {
    "n_queries": _WHOLE,
    "n_scored": _WHOLE,
    "n_no_gold": _WHOLE,
    "n_missing": _WHOLE,
    "n_extra": _WHOLE,
    "n_failed": _WHOLE,
    "n_empty": _WHOLE,
    "n_duplicates": _WHOLE,
    "n_queries_ids_apart": _WHOLE,
    "n_replaced_surrogates": _WHOLE,
    "n_longer_lines": _WHOLE,
    "judged_share": _VALUE,
    "first_failure": (str,),
    "siblings": {
        "cause!": (str,),
        **dict.fromkeys(("n!", "of!", "n_questions!"), (int,)),
        "example!": {_EVERY: (str,)},
    },
    "unanswerable": {_EVERY: (int,)},
    "metrics": {_EVERY: {"n_scored!": (int,), "n_no_gold": (int,)}},
    "pooled": {_EVERY: {_EVERY: _NUMBER}},
    "facts": {_EVERY: (int,)},
    **dict.fromkeys(("judging", "judging_facts", "judging_relevance"), _MAP),
}
_SETTINGS = {
    **dict.fromkeys(("profile", "deviations", "versions", "match", "run"), _MAP),
    "metrics": ([(str,)], None),
    "pool": ({"hash": (str,)}, None),
    "dataset": ({"name!": (str,), "version": _TEXT, "hash": _TEXT}, None),
}
_NEARBY = {"chosen": _NUMBER, "thresholds": [_NUMBER], "means": {_EVERY: [_VALUE]}}
_REPORT = {
    "evaluations": [
        {
            "retriever": (str,),
            "match": (str,),
            "settings": _SETTINGS,
            "counts": _COUNTS,
            "mean": {_EVERY: _VALUE},
            "queries": {_EVERY: {_EVERY: _VALUE}},
            "nearby": (_NEARBY, None),
            "failures": {_EVERY: (str,)},
        }
    ],
    "comparisons": [
        {
            "better": {_EVERY: (str,)},
            "overall": {
                "means": {_EVERY: {_EVERY: dict.fromkeys(("value", "low", "high"), _VALUE)}}
            },
        }
    ],
    "weights": {_EVERY: _NUMBER},
}
"""By name what stands there: types, a list of one kind, a mapping, or one of these and None; a name
with ``!`` has to be there."""


def check_report(report: Any, name: str, kind: Any = _REPORT, place: tuple[str, ...] = ()) -> None:
    """See to it that what is there is of the right kind; what is missing others say.

    Args:
        report: what the file holds, or a part of it.
        name: what messages call it.
        kind: that it has to be of.
        place: where it stands.

    Raises:
        DataError: something is of another kind.
    """
    # None at the end of a tuple stands for a field that may be null.
    if isinstance(kind, tuple) and kind[-1] is None:
        if report is None:
            return
        kind = kind[0]
    types = kind if isinstance(kind, tuple) else type(kind)
    if not isinstance(report, types) or isinstance(report, bool):
        problem = message("not what kragx writes: {value}", value=shorten(report))
        raise DataError(problem, path=name, field=".".join(place))
    if isinstance(kind, list):
        report, kind = dict(enumerate(report)), {_EVERY: kind[0]}
    if isinstance(kind, dict):
        for key, of_key in kind.items():
            for field in report if key == _EVERY else [key.removesuffix("!")]:
                if field in report or key.endswith("!"):
                    check_report(report.get(field), name, of_key, (*place, str(field)))
