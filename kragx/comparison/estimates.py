"""What views are made of: a mean, a difference of two, who is best, and families of tests.

The question that was asked, all else, and measured times are each corrected by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

from kragx.comparison.statistics import (
    CONFIDENCE,
    MOST_RESAMPLES,
    NO_FAMILY,
    RESAMPLES,
    SEED,
    Family,
    check_confidence,
)
from kragx.ground.errors import UsageError, check_whole, nearest
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import Cell, between, joined, message, number, probability, signed
from kragx.metrics import Floats, Ints, Metric, known_metric
from kragx.metrics.intervals import Interval, ends_text

Direction = Literal["higher", "lower", "neither"]
Verdict = Literal["better", "worse", "different", "undecided", "untested"]
Mark = Literal["★", "=", "≈"]


CORRECTIONS = ("family", "none")
"""How p is adjusted to the number of tests."""


@dataclass(frozen=True)
class Settings:
    """How sure is sure.

    Attributes:
        confidence: of intervals; a difference is decided where its p is at most 1 - confidence.
        resamples: how many bootstrap resamples, and how many random sign flips.
        seed: of both.
        correction: ``family``: the first metric over every two retrievers, which is the question
            that was asked; all other metrics, and each slice, under each matcher of the report,
            together; and measured times by themselves. Or ``none``.
        max_failed: the share of questions on which a retriever may fail and be compared all the
            same; its failures then score as empty lists.
    """

    confidence: float = CONFIDENCE
    resamples: int = RESAMPLES
    seed: int = SEED
    correction: Literal["family", "none"] = "family"
    max_failed: float = 0.0

    def __post_init__(self) -> None:
        check_confidence(self.confidence, lowest=0.5)
        check_whole("resamples", self.resamples, lowest=100, highest=MOST_RESAMPLES)
        check_whole("seed", self.seed, lowest=0)
        if self.correction not in CORRECTIONS:
            hint = nearest(str(self.correction), CORRECTIONS)
            raise UsageError(
                "correction: unknown value {correction!r}; {hint}",
                correction=self.correction,
                hint=hint,
            )
        if isinstance(self.max_failed, bool) or not 0 <= self.max_failed <= 1:
            raise UsageError(
                "max_failed: {max_failed!r} is no share from 0 to 1", max_failed=self.max_failed
            )

    @property
    def alpha(self) -> float:
        """The chance of a false alarm that is put up with."""
        return round(1 - self.confidence, 12)  # 1 - 0.9 is less than 0.1

    @property
    def resampling(self) -> tuple[float, int, int]:
        """Confidence, resamples and seed."""
        return self.confidence, self.resamples, self.seed


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        value: the mean, or the run's own number (a percentile, a throughput); None where there is
            nothing to take it of.
        low, high: its interval over queries; None for a run's own number, with fewer than three
            queries, and where all have the same value, unless that is the least or the greatest
            that there is.
        n: how many queries have a value.
        is_mean: False for a run's own number.
        sure_low, sure_high: what the queries are evidence for, whatever those may be that were not
            asked (`kragx.comparison.statistics.sure_bounds`): `surely` gates look at these. None
            where there is no evidence at all.
        bounds: between which values it lies, as of `n_open` queries more it is not known; None
            where all is known, or there is an estimate.
        effective: how many queries of one weight are as sure (Kish); None where all weigh alike.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    is_mean: bool = True
    sure_low: float | None = field(default=None, repr=False)
    sure_high: float | None = field(default=None, repr=False)
    exact: bool = field(default=False, repr=False, metadata=HIDDEN)
    bounds: Interval | None = field(default=None, repr=False, metadata=HIDDEN)
    n_open: int = field(default=0, repr=False, metadata=HIDDEN)
    effective: float | None = field(default=None, repr=False, metadata=HIDDEN)

    @property
    def least(self) -> float | None:
        """The value, or the least that it may be."""
        return self.value if self.bounds is None else self.bounds[0]

    @property
    def greatest(self) -> float | None:
        """The value, or the greatest that it may be."""
        return self.value if self.bounds is None else self.bounds[1]

    @property
    def number(self) -> str:
        """The value as people read it, or between which it lies."""
        return number(self.value) if self.bounds is None else between(*self.bounds)

    @property
    def ends(self) -> str:
        """Its interval, or why there is none; empty for a run's own number."""
        n = self.n if self.is_mean else 0
        return ends_text(self.low, self.high, n, self.effective, exact=self.exact)

    @property
    def text(self) -> str:
        """The value and its interval, in a sentence."""
        return _in_text(self.number, self.ends)


@dataclass(frozen=True, slots=True)
class Difference:
    """One retriever against another in one metric, over the queries where both have a value.

    Attributes:
        metric, retriever, against: of what; `against` is the baseline, or the one that the leader
            is set against.
        value: the mean of the differences (of a run's own number: the difference over these
            queries).
        low, high: its interval over queries; None where nothing was tested, with fewer than three
            queries, and where all differ by the same.
        sure_low, sure_high: as of an `Estimate`.
        n: how many queries both have a value for.
        p: of the paired randomisation test, two-sided; None where nothing was tested.
        p_adjusted: p as one of all tests of the report; the same as p without a correction.
        effect: Cohen's d_z; None where all queries differ by the same, or n < 2.
        wins, ties, losses: queries where `retriever` is better, equal, worse. For a metric without
            a direction: higher, equal, lower.
        verdict: ``better`` or ``worse`` where `p_adjusted` is at most 1 - confidence and the
            interval, where there is one, leaves 0 out; ``different`` then for a metric without a
            direction;
            ``undecided`` where the data does not say; ``untested`` for a run's own number.
        values: of a run's own number what both have over these queries, infinity for never.
        effective: as of an `Estimate`.
    """

    metric: str
    retriever: str
    against: str
    value: float | None
    low: float | None = None
    high: float | None = None
    sure_low: float | None = field(default=None, repr=False)
    sure_high: float | None = field(default=None, repr=False)
    n: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    effect: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    verdict: Verdict = "untested"
    values: tuple[float | None, float | None] = field(
        default=(None, None), repr=False, metadata=HIDDEN
    )
    effective: float | None = field(default=None, repr=False, metadata=HIDDEN)

    @property
    def decided(self) -> bool:
        """Whether the data says that the two differ."""
        return self.verdict in ("better", "worse", "different")

    @property
    def never_differs(self) -> bool:
        """Whether the two have the same value for every query."""
        return self.p is not None and self.wins == self.losses == 0

    @property
    def ends(self) -> str:
        """Its interval, or why there is none; empty where nothing was tested."""
        # With 0 nothing is said of why there is no interval, as nothing was tested.
        n = 0 if self.p is None else self.n
        return ends_text(self.low, self.high, n, self.effective, plus=True)

    @property
    def text(self) -> str:
        """Its numbers as people read them."""
        if self.value is None:
            return message("difference is not known")
        value = _in_text(signed(self.value), self.ends)
        if self.p_adjusted is None:
            return message("difference is {value}", value=value)
        is_corrected = self.p_adjusted != self.p
        without_0 = self.low is not None and self.high is not None and self.low * self.high > 0
        return message(
            # Or it would look as if it contradicted the verdict.
            "difference is {value}, p {p} after correction (the interval is without it)"
            if is_corrected and not self.decided and without_0
            else "difference is {value}, p {p} after correction"
            if is_corrected
            else "difference is {value}, p {p}",
            value=value,
            p=probability(self.p_adjusted, equals="= "),
        )

    @property
    def outcome(self) -> str:
        """What it says; nothing more would decide between two that are the same."""
        return message("the same") if self.never_differs else VERDICTS[self.verdict]

    @property
    def sentence(self) -> str:
        """Who against whom, the numbers, and what they decide."""
        return message(
            "{metric}: {retriever} against {against}: {difference}; {verdict}",
            metric=self.metric,
            retriever=self.retriever,
            against=self.against,
            difference=self.text,
            verdict=self.outcome,
        )


def _in_text(value: str, ends: str) -> str:
    """A number with its interval, or why there is none, in a sentence."""
    if not ends or ends.startswith("["):
        return joined(" ", [value, ends])
    return message("{value} ({reason})", value=value, reason=ends)


VERDICTS: Mapping[Verdict, str] = {
    "better": message("better"),
    "worse": message("worse"),
    "different": message("different"),
    "undecided": message("undecided"),
    "untested": message("untested"),
}
"""What tables and sentences call a verdict."""

_MARKS = {"better": "▲", "worse": "▼", "different": "≠", "undecided": "", "untested": ""}
_STYLES = {"better": "green", "worse": "red", "different": "yellow"}


@dataclass(frozen=True)
class Leader:
    """Who is best in a metric.

    Attributes:
        metric: which.
        best: the retriever with the best value; the first of them where several have it.
        shared: all that have the best value.
        differences: the best against each other with a value.
        tested: False for a run's own number, which is compared as it stands.
    """

    metric: str = field(metadata=HIDDEN)
    best: str
    shared: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    tested: bool = True

    also_plain: ClassVar[tuple[str, ...]] = ("tied", "decided", "marks")

    @property
    def behind(self) -> tuple[Difference, ...]:
        """The differences from those that are better, over the queries where both have a value.

        A mean is over all queries of its own, of which the other may have no value for some.
        """
        return tuple(difference for difference in self.differences if difference.verdict == "worse")

    @property
    def ties(self) -> tuple[Difference, ...]:
        """The differences that are not decided; of a run's own number those that are 0."""
        return tuple(
            difference
            for difference in self.differences
            # Without a test only what is equal ties: any other difference is as it stands.
            if (not difference.decided if self.tested else difference.value == 0)
        )

    @property
    def tied(self) -> tuple[str, ...]:
        """The others that cannot be told from the best; one without a value is not among them."""
        return tuple(difference.against for difference in self.ties)

    @property
    def decided(self) -> bool:
        """Whether the data says that `best` is better than every other."""
        return self.tested and bool(self.differences) and not self.ties and not self.behind

    @property
    def marks(self) -> Mapping[str, Mark]:
        """What stands beside a retriever's mean: ``★``, ``=``, ``≈`` or nothing.

        ``★`` is better than every other; ``=`` has the best value, but is not told to be better
        than those that have ``≈``. None is marked where all have the same value, or of a run's own
        number, as that is not tested.
        """
        if not self.tested or len(self.shared) > len(self.differences):
            return {}
        rivals = (difference.against for difference in self.ties + self.behind)
        ties: dict[str, Mark] = dict.fromkeys(rivals, "≈")
        return {self.best: "★"} if self.decided else {**ties, **dict.fromkeys(self.shared, "=")}

    def against(self, retriever: str) -> Difference:
        """The best against one of the others that have a value."""
        return {difference.against: difference for difference in self.differences}[retriever]


def difference_cell(difference: Difference | None) -> Cell:
    """A difference and its p, with the mark of what is decided."""
    if difference is None or difference.value is None:
        return Cell("-")
    p = "" if difference.p_adjusted is None else f" {probability(difference.p_adjusted)}"
    text = joined("", [signed(difference.value), p, " ", _MARKS[difference.verdict] or " "])
    return Cell(text, _STYLES.get(difference.verdict, ""))


def difference_cells(difference: Difference) -> tuple[str | Cell, ...]:
    """Its numbers, and what they decide, in columns."""
    verdict = joined(" ", [_MARKS[difference.verdict], difference.outcome])
    return (
        signed(difference.value),
        difference.ends or "-",
        probability(difference.p_adjusted),
        "-" if difference.effect is None else f"{difference.effect:+.2f}",
        "-" if difference.p is None else f"{difference.wins}/{difference.ties}/{difference.losses}",
        str(difference.n),
        Cell(verdict, _STYLES.get(difference.verdict, "")),
    )


FIRST, OTHERS, TIMES = range(3)
"""The families, as `Families` counts them."""

N_FAMILIES = 3


_UNKNOWN = Metric("", "", "", from_run=lambda _: None, range=(0.0, None), better="neither")


def definition_of(metric: str) -> Metric:
    """What a metric is; of one that cannot be loaded nothing is known, not even a direction."""
    return known_metric(metric) or _UNKNOWN


def family_of(metric: str, first: str, *, whole: bool = True) -> int:
    """Which family the tests of a metric belong to.

    Args:
        metric: its name.
        first: the first metric.
        whole: whether over all questions; within a slice no test is of the question asked.
    """
    # A slice of the first metric is looked at besides: it was not the question.
    if whole and metric == first:
        return FIRST
    # A measured time is another one at each run.
    return TIMES if definition_of(metric).unit == "seconds" else OTHERS


class Families(NamedTuple):
    """All tests of a report; each family errs with a chance of alpha at most.

    The first metric is the question that was asked, so what else is shown never changes its p. All
    else that is found is looked at beside it, and times are others at each run.

    Attributes:
        first: the first metric over all questions, every two retrievers under one matcher.
        others: the other metrics but times, and every slice, under every matcher.
        times: measured times, over all questions and in every slice, likewise.
    """

    first: Family = NO_FAMILY
    others: Family = NO_FAMILY
    times: Family = NO_FAMILY

    @classmethod
    def joined(cls, several: Iterable[Families]) -> Families:
        """The tests of several."""
        parts = [part for part in several if any(family.n_tests for family in part)]
        return cls(*map(Family.of, zip(*parts)))

    def adjusted(self, family_of: Ints, p: Floats, z: Floats) -> Floats:
        """The p of tests, each corrected over its family: `FIRST`, `OTHERS` or `TIMES`."""
        adjusted = p.copy()
        for place, family in enumerate(self):
            members = family_of == place
            adjusted[members] = family.adjusted(p[members], z[members])
        return adjusted
