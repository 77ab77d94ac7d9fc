"""What a comparison says, as plain frozen values that every report reads.

    Comparison                   several retrievers under one matcher, on the same queries
    ├── overall: View        all queries
    └── slices: Slice[]      each a View of the queries that have one value of one field
        ├── means            retriever -> metric -> Estimate
        ├── leaders          metric -> Leader: the best, and who cannot be told from it
        └── differences      Difference[]: each other retriever against the baseline

`to_dict` of each gives what stands in report.json.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import ClassVar

from kragx.comparison.advice import Failures, Recommendation, failed_names, with_failures
from kragx.comparison.estimates import (
    Difference,
    Direction,
    Estimate,
    Leader,
    Settings,
    definition_of,
    difference_cell,
    difference_cells,
    family_of,
)
from kragx.comparison.side_by_side import GoldVersions
from kragx.comparison.threshold_study import Order
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.presenting import bounds_note
from kragx.evaluation.runs import SeveralRuns, runs_note
from kragx.ground.json_values import HIDDEN, IF_KNOWN
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Name,
    Part,
    Result,
    Table,
    joined,
    listed,
    message,
    visible,
    warning,
)
from kragx.metrics import Floats
from kragx.metrics.intervals import with_reasons
from kragx.metrics.weights import effective_n

FEW = 10
"""A slice of fewer queries says next to nothing."""

NO_VALUE = "(no value)"
"""What the slice of queries without a value is called."""

STANDING = message("★ better than every other; = the best value, but a tie with ≈")
"""What the marks beside means say, wherever they stand."""


@dataclass(frozen=True)
class View(Result):
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
        pairs = ((difference.metric, difference.retriever) for difference in self.differences)
        return dict(zip(pairs, self.differences)).get((metric, retriever))

    def scored(self, metric: str) -> int:
        """How many queries have a value of a metric: one without an answer has no ndcg.

        Where retrievers have unlike many, as some judgement is missing, those of who has most.
        """
        return max((mean[metric].n for mean in self.means.values()), default=0)

    def found_nothing(self, metric: str) -> bool:
        """Whether a metric of what is found is 0 for every retriever: then none is ahead."""
        values = [mean[metric].value for mean in self.means.values()]
        is_nothing = all(value is not None and abs(value) < 1e-12 for value in values)
        return _is_of_finding(metric) and bool(values) and is_nothing

    def finds(self, retriever: str) -> tuple[str, ...]:
        """The metrics by which a retriever finds something at all."""
        return tuple(
            metric
            for metric, mean in self.means[retriever].items()
            if _is_of_finding(metric) and (mean.value or 0) >= 1e-12
        )

    def standing(self, metric: str, retriever: str) -> str:
        """What stands beside a mean: a mark of `Leader.marks`, or nothing."""
        leader = self.leaders.get(metric)
        return "" if leader is None else leader.marks.get(retriever, "")

    def means_table(
        self,
        metrics: Iterable[str],
        evaluations: Sequence[Evaluation] = (),
        *,
        runs: Mapping[str, SeveralRuns] = MappingProxyType({}),
        note: str = "",
        narrow_note: str = "",
    ) -> Table:
        """Metrics down, retrievers across; below each mean its interval, where there is room.

        Args:
            metrics: the rows.
            evaluations: of the same retrievers, for what their means say besides: bounds, maxima,
                and of a single one the micro averages.
            runs: how those differ that were asked several times, by retriever.
            note: what stands below the table.
            narrow_note: what stands below it in a window without room for intervals.
        """
        metrics = tuple(metrics)
        evaluated = {evaluation.name: evaluation for evaluation in evaluations}
        micro = evaluations[0] if len(evaluations) == 1 and evaluations[0].micro else None
        columns = [message("metric"), *self.means, *([message("micro")] if micro else [])]
        rows = [
            [
                Cell(Name(metric, "metric"), code=True),
                *(
                    self._mean_cell(metric, name, evaluated.get(name), runs.get(name))
                    for name in self.means
                ),
                *([Cell(micro.micro_cell(metric))] if micro else []),
            ]
            for metric in metrics
        ]
        # Without intervals columns are as narrow as their means, and more of them fit a window.
        narrow = [[replace(cell, below="") for cell in row] for row in rows]
        bounds = bounds_note(score for evaluation in evaluations for score in evaluation.scores)
        below = (mean[metric].ends for mean in self.means.values() for metric in metrics)
        return Table(
            columns,
            rows,
            narrow=Table(columns, narrow, note=with_reasons((), narrow_note, bounds)),
            note=with_reasons(below, note, bounds, runs_note(runs)),
        )

    def _mean_cell(
        self, metric: str, retriever: str, evaluation: Evaluation | None, runs: SeveralRuns | None
    ) -> Cell:
        mean, mark = self.means[retriever][metric], self.standing(metric, retriever)
        value = mean.number if evaluation is None else evaluation.mean_cell(metric)
        style = {"★": "bold green", "=": "bold"}.get(mark, "")
        spread = "" if runs is None else runs.beside(metric)
        return Cell(joined(" ", [value, mark]), style, joined("; ", [mean.ends, spread]))

    def differences_table(self, note: str = "") -> Table:
        """Each retriever against the baseline; of two the means stand beside their difference."""
        pair = list(self.means) if len(self.means) == 2 else []
        words = [message("metric"), *([] if pair else [message("retriever")])]
        heads = [message("difference"), message("interval"), "p", "d_z", message("win/tie/loss")]
        rows = [
            [
                Cell(difference.metric, code=True),
                *([] if pair else [difference.retriever]),
                *(self.means[name][difference.metric].number for name in pair),
                *difference_cells(difference),
            ]
            for difference in self.differences
        ]
        note = with_reasons((difference.ends for difference in self.differences), note)
        return Table([*words, *pair, *heads, "n", ""], rows, len(words), note=note)

    def best_cell(self, metric: str) -> Cell:
        """Who is best in a metric, or that it is not decided; of one retriever its mean."""
        leader = self.leaders.get(metric)
        if self.found_nothing(metric):
            is_elsewhere = any(map(self.finds, self.means))
            return Cell(message("0 for all" if is_elsewhere else "none found anything"))
        if leader is None:
            means = [mean[metric] for mean in self.means.values()]
            return Cell(means[0].number, below=means[0].ends) if len(means) == 1 else Cell("-")
        mean = self.means[leader.best][metric]
        text = f"{leader.best} {mean.number}"
        if leader.decided:
            return Cell(f"{text} ★", "bold green", mean.ends)
        text = message("not decided, {best}" if leader.tested else "not tested, {best}", best=text)
        return Cell(text, below=mean.ends)

    def describe(self) -> Iterator[Part]:
        """The means, and what differs from the baseline."""
        metrics = next(iter(self.means.values()), {})
        note = STANDING if len(self.means) > 1 else ""
        yield self.means_table(metrics, note=note, narrow_note=note)
        if self.differences:
            yield self.differences_table()


@dataclass(frozen=True)
class Slice(View):
    """The queries that have one value of one field, with the retrievers compared on them.

    Attributes:
        field: as it was asked for, for example ``metadata.difficulty``.
        value: the value as text; None for the queries that have none.
        query_ids: the queries.
        p_worse: the corrected p of the leading retriever being as good here as elsewhere, in the
            first metric; None where that is not tested, as with a value for fewer than `FEW`
            queries.
    """

    field: str
    value: str | None
    query_ids: Sequence[str]
    p_worse: float | None = None

    @property
    def label(self) -> str:
        """The value, or ``(no value)``."""
        return NO_VALUE if self.value is None else self.value


def _is_of_finding(metric: str) -> bool:
    """Whether a metric is above 0 where gold is found, and there alone."""
    definition = definition_of(metric)
    return definition.from_matches is not None and definition.better == "higher"


@dataclass(frozen=True)
class Comparison(Result):
    """Several retrievers under one matcher, on the same queries.

    Attributes:
        match: names the matcher.
        retrievers: those that are compared, by name, in the order given.
        baseline: the one that the others are set against.
        metrics: that all of them have, by canonical name; the first is the one that
            recommendations speak of.
        better: for each metric ``higher``, ``lower`` or ``neither``.
        run_level: the metrics whose number is the run's own (percentiles, throughput): no interval
            and no test; percentiles are taken within slices as well, the others have none there.
        query_ids: the queries that all of them answered or missed, in order.
        statistics: confidence, resamples, seed, correction.
        n_tests: over how many tests the p of the first metric is corrected: every two retrievers.
        n_tests_of_others: the same of the other metrics, and of all slices; they are corrected
            apart, so that the first metric's p is the same whatever stands beside it.
        n_tests_of_times: the same of measured times, unless the first metric is one.
        least: the statistic from which on a difference in the first metric is decided.
        overall: all queries.
        slices: by field in the order asked for, larger slices first, those without a value last.
        cautions: what a reader must know before trusting the comparison.
        orders: those metrics' that another threshold near the chosen one reverses.
        recommendations: what follows, the verdict first.
        failures: of each retriever that failed on some question, or returned nothing for any;
            whose are not tolerated is not comparable, and so not among `retrievers`.
        gold: of results of different gold sets, which questions are not the same.
        runs: of each retriever that was asked several times, how its runs differ over all queries.
        weights: (q) for how many asks each query stands; None where all weigh alike.
        n_asks: for how many asks they stand together; likewise.

    Examples:
        >>> from kragx import compare, evaluate
        >>> gold = [["the answer"]] * 20
        >>> one = evaluate(gold, [["the answer"]] * 20, name="one", metrics=["mrr@5"])
        >>> second = [["another text", "the answer"]] * 20
        >>> other = evaluate(gold, second, name="other", metrics=["mrr@5"])
        >>> comparison = compare([one, other], baseline="other", resamples=500)
        >>> comparison.best, comparison.retrievers
        ('one', ('one', 'other'))
    """

    match: str
    retrievers: tuple[str, ...]
    baseline: str
    metrics: tuple[str, ...]
    better: Mapping[str, Direction]
    run_level: tuple[str, ...]
    query_ids: Sequence[str] = field(metadata=HIDDEN)
    statistics: Settings
    n_tests: int
    least: float = field(metadata=HIDDEN)
    overall: View
    n_tests_of_others: int = field(default=0, kw_only=True)
    n_tests_of_times: int = field(default=0, kw_only=True)
    slices: tuple[Slice, ...] = ()
    cautions: tuple[str, ...] = ()
    orders: tuple[Order, ...] = field(default=(), metadata=HIDDEN)
    recommendations: tuple[Recommendation, ...] = ()
    failures: tuple[Failures, ...] = ()
    gold: tuple[GoldVersions, ...] = ()
    runs: Mapping[str, SeveralRuns] = field(default_factory=dict, metadata=HIDDEN)
    weights: Floats | None = field(default=None, repr=False, compare=False, metadata=HIDDEN)
    n_asks: float | None = field(default=None, metadata=IF_KNOWN)

    also_plain: ClassVar[tuple[str, ...]] = ("n_queries", "not_comparable")

    @property
    def n_queries(self) -> int:
        """How many queries are compared."""
        return len(self.query_ids)

    @property
    def not_comparable(self) -> tuple[str, ...]:
        """The retrievers that failed on more questions than is tolerated, or returned nothing."""
        return failed_names(self.failures)

    @property
    def every_retriever(self) -> tuple[str, ...]:
        """Those that are compared, then those that are not."""
        return self.retrievers + self.not_comparable

    @property
    def corrected(self) -> bool:
        """Whether p is corrected: a family has several tests, and it was not switched off."""
        n_tests = max(self.n_tests, self.n_tests_of_others, self.n_tests_of_times)
        return self.statistics.correction == "family" and n_tests > 1

    def n_tests_of(self, metric: str) -> int:
        """Over how many tests the p of a metric is corrected, over all queries."""
        sizes = self.n_tests, self.n_tests_of_others, self.n_tests_of_times
        return sizes[family_of(metric, self.primary)]

    @property
    def primary(self) -> str:
        """The first metric, which recommendations speak of."""
        return self.metrics[0]

    @property
    def further_cautions(self) -> tuple[str, ...]:
        """The cautions that do not stand in the verdict."""
        # By their texts: what stands in the verdict is said once, wherever it was found.
        texts = {caution.text for advice in self.recommendations for caution in advice.cautions}
        return tuple(caution for caution in self.cautions if caution not in texts)

    @property
    def leader(self) -> Leader | None:
        """Who is best in the first metric, over all queries."""
        return self.overall.leaders.get(self.primary)

    @property
    def best(self) -> str:
        """The retriever with the best value of the first metric; the first where none leads."""
        return self.leader.best if self.leader else next(iter(self.retrievers), self.baseline)

    @property
    def asks_counts(self) -> Mapping[str, float]:
        """How many queries are compared, and their asks; without these where all weigh alike."""
        asks = {} if self.n_asks is None else {"n_asks": self.n_asks}
        return {"n_queries": self.n_queries, **asks}

    @property
    def asks_text(self) -> str:
        """Of how many asks numbers are, and how sure that is; empty where all weigh alike."""
        if self.weights is None or self.n_asks is None:
            return ""
        effective = effective_n(self.weights, self.weights > 0)
        return message(
            "{asks}, as sure as one question"
            if round(effective) == 1
            else "{asks}, as sure as {effective:,.0f} questions that weigh alike",
            asks=message("weights that sum to {total:g}", total=self.n_asks)
            if self.n_asks < self.n_queries
            else message("{asks:,.0f} asks", asks=self.n_asks),
            effective=effective,
        )

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that there are slices by."""
        return tuple(dict.fromkeys(part.field for part in self.slices))

    def by(self, field: str) -> tuple[Slice, ...]:
        """The slices of a field."""
        return tuple(part for part in self.slices if part.field == field)

    def large(self, field: str) -> tuple[Slice, ...]:
        """The slices of a field that have `FEW` queries or more; of others nothing can be said."""
        return tuple(part for part in self.by(field) if part.scored(self.primary) >= FEW)

    @property
    def fields_told(self) -> tuple[str, ...]:
        """The fields by which some slice is large enough to say something of."""
        return tuple(field for field in self.fields if self.retrievers and self.large(field))

    def is_in(self, metric: str, view: View) -> bool:
        """Whether a slice can say something of a metric: a run's own number may have none there."""
        values = (means[metric].value for means in view.means.values())
        return metric not in self.run_level or any(value is not None for value in values)

    def means_table(self, evaluations: Sequence[Evaluation] = ()) -> Table:
        """The means over all queries; `evaluations` as for `View.means_table`."""
        marks = STANDING if len(self.retrievers) > 1 else ""
        with_each = message(
            "with each mean its {share:.0%} interval", share=self.statistics.confidence
        )
        elsewhere = message("intervals: in a wider window, or in the report's files")
        table = self.overall.means_table(
            self.metrics,
            evaluations,
            runs=self.runs,
            note=joined("; ", [with_each, marks, self.asks_text]),
            narrow_note=joined("; ", [elsewhere, marks, self.asks_text]),
        )
        return with_failures(table, self.failures, self.retrievers)

    def differences_table(self) -> Table:
        """Each other retriever against the baseline, over all queries."""
        return self.overall.differences_table(
            message(
                "▲ better, ▼ worse at {share:.0%}: p of the paired randomisation test, corrected "
                "for all that is looked at, and an interval without 0"
                if self.corrected
                else "▲ better, ▼ worse at {share:.0%}: p of the paired randomisation test, and an "
                "interval without 0",
                share=self.statistics.confidence,
            )
        )

    def slices_table(self, field: str) -> Table:
        """Who is best in each large slice by a field: metrics down, slices across."""
        return self._across(field, lambda metric, part: part.best_cell(metric))

    def slice_differences_table(self, field: str) -> Table:
        """Of two retrievers the difference in each large slice: metrics down, slices across."""
        name = next(name for name in self.retrievers if name != self.baseline)
        return self._across(
            field, lambda metric, part: difference_cell(part.difference(metric, name))
        )

    def _across(self, field: str, cell: Callable[[str, Slice], Cell]) -> Table:
        """A column for each slice; n is of the first metric, and beside a value where unlike it."""
        slices = self.large(field)
        sizes = [part.scored(self.primary) for part in slices]
        heads = (joined("", [visible(part.label), f" (n = {n})"]) for part, n in zip(slices, sizes))

        def with_n(metric: str, part: Slice, size: int) -> Cell:
            mean, n = cell(metric, part), part.scored(metric)
            text = mean.text if n in (0, size) else joined(" ", [mean.text, f"(n = {n})"])
            return replace(mean, text=text)

        rows = [
            [Cell(metric, code=True), *map(partial(with_n, metric), slices, sizes)]
            for metric in self.metrics
            if any(self.is_in(metric, part) for part in slices)
        ]
        note = with_reasons(row_cell.below for row in rows for row_cell in row)
        return Table([message("metric"), *heads], rows, note=note)

    def against_baseline(self, level: int = 2) -> Iterator[Part]:
        """The differences from the baseline under a heading; nothing with one retriever."""
        failed = {failure.retriever: failure.text for failure in self.failures}
        if self.retrievers and self.baseline in self.not_comparable:
            yield warning(
                message(
                    "nothing is set against the baseline {baseline}, as it {failed}",
                    baseline=self.baseline,
                    failed=failed[self.baseline],
                )
            )
        elif self.overall.differences:
            yield Heading(message("Compared with {baseline}", baseline=self.baseline), level=level)
            yield self.differences_table()

    def by_fields(self) -> Iterator[Part]:
        """What there is by each field, however small its slices."""
        for name in self.fields if self.retrievers else ():
            yield from self.by_field(name)

    def by_field(self, field: str, level: int = 2) -> Iterator[Part]:
        """The best in each large slice by a field under a heading; the others are named."""
        yield Heading(message("By {field}", field=field), level=level)
        large = self.large(field)
        if large:
            yield self.slices_table(field)
        rest = [part for part in self.by(field) if part not in large]
        if rest:
            sizes = ((visible(part.label), f" ({part.scored(self.primary)})") for part in rest)
            text = message(
                "fewer than {n} queries, and so in no table: {slices}",
                n=FEW,
                slices=listed([joined("", size) for size in sizes]),
            )
            yield Line(text, "dim")

    def describe(self, evaluations: Sequence[Evaluation] = ()) -> Iterator[Part]:
        """Who failed, means, differences from the baseline, the best in each slice, advice."""
        for remark in (*self.gold, *self.failures):
            yield from remark.describe()
        if not evaluations and self.recommendations:
            yield from self.recommendations[0].leak_lines()
        yield self.means_table(evaluations)
        yield from self.against_baseline()
        yield from self.by_fields()
        yield from map(warning, self.further_cautions)
        for recommendation in self.recommendations:
            yield from recommendation.describe()
