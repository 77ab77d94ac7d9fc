"""What a comparison says, as plain frozen values that every report reads.

    Comparison                   several retrievers under one matcher, on the same queries
    ├── overall: View            all queries
    └── slices: Slice[]          the queries that have one value of one field
        └── view: View
            ├── means            retriever -> metric -> Estimate
            ├── leaders          metric -> Leader: the best, and who cannot be told from it
            └── differences      Difference[]: each other retriever against the baseline

`to_dict` of each gives what stands in report.json; `kragx schema --report` is its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from kragx.comparison.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.errors import UsageError, nearest

CORRECTIONS = ("holm", "none")
"""How p is adjusted to the number of tests."""

Verdict = Literal["better", "worse", "different", "undecided", "untested"]


@dataclass(frozen=True)
class Settings:
    """How sure is sure.

    Attributes:
        confidence: of intervals; a difference is decided where its p is at most 1 - confidence.
        resamples: how many bootstrap resamples, and how many random sign flips.
        seed: of both.
        correction: ``holm``, over all metrics and retrievers of a view; or ``none``.
    """

    confidence: float = CONFIDENCE
    resamples: int = RESAMPLES
    seed: int = SEED
    correction: str = "holm"

    def __post_init__(self) -> None:
        numbers = (self.confidence, self.resamples, self.seed)
        for field, value in zip(fields(self), numbers):
            whole = field.name != "confidence"
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise UsageError(f"{field.name}: {value!r} is no {'whole ' * whole}number")
        if not 0.5 <= self.confidence < 1:
            raise UsageError(
                f"confidence: {self.confidence!r} is not from 0.5 to below 1; usual is 0.95"
            )
        if self.resamples < 100:
            raise UsageError(f"resamples: {self.resamples} is below 100; usual is 10000")
        if self.seed < 0:
            raise UsageError(f"seed: {self.seed} is below 0")
        if self.correction not in CORRECTIONS:
            hint = nearest(str(self.correction), CORRECTIONS)
            raise UsageError(f"correction: unknown value {self.correction!r}; {hint}")

    @property
    def alpha(self) -> float:
        """The chance of a false alarm that is put up with."""
        return round(1 - self.confidence, 12)  # 1 - 0.9 is less than 0.1


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        value: the mean, or the run's own number (a percentile, a throughput); None where there is
            nothing to take it of.
        low, high: the bootstrap interval over queries; None for a run's own number, or with fewer
            than two queries.
        n: how many queries have a value.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Difference:
    """One retriever against another in one metric, over the queries where both have a value.

    Attributes:
        metric, retriever, against: of what; `against` is the baseline, or the one that the leader
            is set against.
        value: the mean of the differences (of a run's own number: the difference).
        low, high: its bootstrap interval; None where nothing was tested.
        n: how many queries both have a value for.
        p: of the paired randomisation test, two-sided; None where nothing was tested.
        p_adjusted: p after the correction; the same as p without one.
        effect: Cohen's d_z; None where all queries differ by the same, or n < 2.
        wins, ties, losses: queries where `retriever` is better, equal, worse. For a metric without
            a direction: higher, equal, lower.
        verdict: ``better`` or ``worse`` where `p_adjusted` is at most 1 - confidence and the
            interval leaves 0 out; ``different`` then for a metric without a direction;
            ``undecided`` where the data does not say; ``untested`` for a run's own number.
    """

    metric: str
    retriever: str
    against: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    p_adjusted: float | None
    effect: float | None
    wins: int
    ties: int
    losses: int
    verdict: Verdict

    @property
    def decided(self) -> bool:
        """Whether the data says that the two differ."""
        return self.verdict in ("better", "worse", "different")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Leader:
    """Who is best in a metric.

    Attributes:
        metric: which.
        best: the retriever with the best value; the first of them where several have it.
        tied: the others that cannot be told from it: the difference is not decided. One without a
            value is not among them.
        differences: the best against each other with a value; corrected over them and all metrics.
        tested: False for a run's own number, which is compared as it stands.
    """

    metric: str
    best: str
    tied: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    tested: bool = True

    @property
    def decided(self) -> bool:
        """Whether the data says that `best` is better than every other."""
        return self.tested and bool(self.differences) and not self.tied

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "best": self.best,
            "tied": list(self.tied),
            "decided": self.decided,
            "tested": self.tested,
            "differences": [each.to_dict() for each in self.differences],
        }


@dataclass(frozen=True)
class View:
    """Retrievers compared on some queries.

    Attributes:
        n: how many queries.
        means: for each retriever, each metric's `Estimate`.
        leaders: for each metric that has a direction and a value, who is best; empty with one
            retriever.
        differences: each retriever but the baseline against it, by metric, then retriever.
    """

    n: int
    means: Mapping[str, Mapping[str, Estimate]]
    leaders: Mapping[str, Leader]
    differences: tuple[Difference, ...]

    def difference(self, metric: str, retriever: str) -> Difference | None:
        """A retriever against the baseline in a metric; None for the baseline itself."""
        for each in self.differences:
            if (each.metric, each.retriever) == (metric, retriever):
                return each
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "n": self.n,
            "means": {
                name: {metric: each.to_dict() for metric, each in of_run.items()}
                for name, of_run in self.means.items()
            },
            "leaders": {metric: each.to_dict() for metric, each in self.leaders.items()},
            "differences": [each.to_dict() for each in self.differences],
        }


@dataclass(frozen=True)
class Slice:
    """The queries that have one value of one field.

    Attributes:
        field: as it was asked for, for example ``metadata.difficulty``.
        value: the value as text; None for the queries that have none.
        query_ids: the queries.
        view: the retrievers on them. Its corrections are its own: each slice is a family of tests.
    """

    field: str
    value: str | None
    query_ids: tuple[str, ...]
    view: View

    @property
    def label(self) -> str:
        """The value, or ``(no value)``."""
        return NO_VALUE if self.value is None else self.value

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "field": self.field,
            "value": self.value,
            "query_ids": list(self.query_ids),
            **self.view.to_dict(),
        }


NO_VALUE = "(no value)"
"""What the slice of queries without a value is called."""


@dataclass(frozen=True)
class Comparison:
    """Several retrievers under one matcher, on the same queries.

    Attributes:
        match: names the matcher.
        retrievers: by name, in the order given.
        baseline: the one that the others are set against.
        metrics: that all of them have, by canonical name; the first is the one that
            recommendations speak of.
        better: for each metric ``higher``, ``lower`` or ``neither``.
        run_level: the metrics whose number is the run's own (percentiles, throughput): no interval
            and no test; percentiles are taken within slices as well, the others have none there.
        query_ids: the queries that all of them answered or missed, in order.
        settings: confidence, resamples, seed, correction.
        overall: all queries.
        slices: by field in the order asked for, larger slices first, those without a value last.
        cautions: what a reader must know before trusting the comparison.
    """

    match: str
    retrievers: tuple[str, ...]
    baseline: str
    metrics: tuple[str, ...]
    better: Mapping[str, str]
    run_level: tuple[str, ...]
    query_ids: tuple[str, ...]
    settings: Settings
    overall: View
    slices: tuple[Slice, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def primary(self) -> str:
        """The first metric, which recommendations speak of."""
        return self.metrics[0]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that there are slices by."""
        return tuple(dict.fromkeys(each.field for each in self.slices))

    def by(self, field: str) -> tuple[Slice, ...]:
        """The slices of a field."""
        return tuple(each for each in self.slices if each.field == field)

    def is_in(self, metric: str, view: View) -> bool:
        """Whether a slice can say something of a metric: a run's own number may have none there."""
        values = (of_run[metric].value for of_run in view.means.values())
        return metric not in self.run_level or any(value is not None for value in values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "match": self.match,
            "retrievers": list(self.retrievers),
            "baseline": self.baseline,
            "metrics": list(self.metrics),
            "better": dict(self.better),
            "run_level": list(self.run_level),
            "n_queries": len(self.query_ids),
            "statistics": asdict(self.settings),
            "cautions": list(self.cautions),
            "overall": self.overall.to_dict(),
            "slices": [each.to_dict() for each in self.slices],
        }

    def print(self) -> None:
        """Print the comparison as tables."""
        from kragx.report.comparison import print_comparison
        from kragx.report.text import console

        print_comparison(self, console())
