"""Retrievers compared on some queries: all of them, or those of a slice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kragx.comparison.estimates import Difference, Estimate, Leader, definition_of, difference_cells
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.presenting import bounds_note
from kragx.evaluation.runs import SeveralRuns, runs_note
from kragx.ground.printing import Cell, Name, Part, Result, Table, joined, message
from kragx.metrics.intervals import with_reasons

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
        return next(
            (
                difference
                for difference in self.differences
                if (difference.metric, difference.retriever) == (metric, retriever)
            ),
            None,
        )

    def scored(self, metric: str) -> int:
        """How many queries have a value of a metric: one without an answer has no ndcg.

        Where retrievers have unlike many, as some judgement is missing, those of who has most.
        """
        return max((mean[metric].n for mean in self.means.values()), default=0)

    def found_nothing(self, metric: str) -> bool:
        """Whether a metric of what is found is 0 for every retriever: then none is ahead."""
        values = [mean[metric].value for mean in self.means.values()]
        if not _is_of_finding(metric):
            return False
        return bool(values) and all(value is not None and abs(value) < 1e-12 for value in values)

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
        columns = [*words, *pair, *heads, "n", ""]
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
        return Table(columns, rows, len(words), note=note)

    def best_cell(self, metric: str) -> Cell:
        """Who is best in a metric, or that it is not decided; of one retriever its mean."""
        leader = self.leaders.get(metric)
        if self.found_nothing(metric):
            elsewhere = any(self.finds(name) for name in self.means)
            return Cell(message("0 for all") if elsewhere else message("none found anything"))
        if leader is None and len(self.means) != 1:
            return Cell("-")
        mean = self.means[leader.best if leader else next(iter(self.means))][metric]
        text = f"{leader.best if leader else ''} {mean.number}".lstrip()
        if leader is not None and leader.decided:
            return Cell(f"{text} ★", "bold green", mean.ends)
        if leader is not None:
            text = message(
                "not decided, {best}" if leader.tested else "not tested, {best}", best=text
            )
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
