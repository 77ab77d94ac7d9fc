"""Several evaluations side by side: a table for each matcher, without statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kragx.comparison.comparability import check_comparable
from kragx.evaluation.evaluation import Evaluation, metric_names
from kragx.metrics import metric as metric_named
from kragx.printing import Cell, Part, Table


def side_by_side(evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    """A table for each matcher: metrics down, retrievers across, the best in bold.

    Raises:
        UsageError: numbers of one matcher do not mean the same.
    """
    for _, group in groupby(evaluations, key=lambda evaluation: evaluation.match_label):
        of_matcher = list(group)
        if len(of_matcher) == 1:
            yield from of_matcher[0].describe()
            continue
        check_comparable(of_matcher)
        yield from of_matcher[0].heading()
        yield _table(of_matcher)
        yield from remarks_on(of_matcher)
        yield of_matcher[0].size


def remarks_on(evaluations: Sequence[Evaluation]) -> Iterator[Part]:
    """What was left out of evaluations of one matcher, of several with their names."""
    for evaluation in evaluations:
        yield from evaluation.warnings(f"{evaluation.name}: " if len(evaluations) > 1 else "")


def _table(evaluations: Sequence[Evaluation]) -> Table:
    rows: list[list[str | Cell]] = []
    for metric in metric_names(evaluations):
        best = _best([evaluation.mean.get(metric) for evaluation in evaluations], metric)
        cells = [
            Cell(evaluation.mean_cell(metric), "bold green" if position in best else "")
            for position, evaluation in enumerate(evaluations)
        ]
        rows.append([metric, *cells])
    return Table(["metric", *(evaluation.name for evaluation in evaluations)], rows)


def _best(values: Sequence[float | None], metric: str) -> set[int]:
    """The positions of the best values; none where all are equal, or there is but one."""
    known = [value for value in values if value is not None]
    higher = metric_named(metric).higher_is_better
    if len(known) < 2 or len(set(known)) == 1 or higher is None:
        return set()
    top = (max if higher else min)(known)
    return {position for position, value in enumerate(values) if value == top}
