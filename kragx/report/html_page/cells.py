"""A cell for each matcher and retriever: its evaluation and texts, and its values for the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kragx.comparison import check_comparable
from kragx.comparison.near_misses import Origins, near_misses
from kragx.data import Gold, GoldDataset
from kragx.errors import UsageError
from kragx.evaluation.curves import Curve, curves, histogram, times
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import (
    budget_ranks,
    gold_outcome,
    lists_behind,
    missed_rows,
    pool_gold,
)
from kragx.metrics import RankedList
from kragx.plain import plain
from kragx.report.html_page.rounding import rounded_score, short
from kragx.report.html_page.sources import Sources


@dataclass(frozen=True, eq=False)
class Cell:
    """One retriever under one matcher, with the texts behind it.

    Attributes:
        evaluation: its numbers.
        lists: what each row of its table got; None if no texts were given.
        golds: the gold of each row, in the table's order.
        curves: its metrics at growing cut-offs.
        rows: for each query of the page the row in the evaluation's table; None if it has none.
    """

    evaluation: Evaluation
    lists: Sequence[RankedList] | None
    golds: Sequence[Sequence[Gold]]
    curves: Sequence[Curve]
    rows: Sequence[int | None]

    @property
    def pooled(self) -> bool:
        """Whether the gold is a pool that a judge has graded."""
        return "pool" in self.evaluation.settings

    def by_query(self, values: Sequence[Any], missing: Any = None) -> list[Any]:
        """The values of rows in the page's order of queries."""
        return [missing if row is None else values[row] for row in self.rows]


@dataclass(frozen=True)
class Grid:
    """The cells by matcher and retriever, and the queries of the page."""

    cells: Mapping[str, Mapping[str, Cell]]
    query_ids: Sequence[str]

    def __iter__(self) -> Iterator[Cell]:
        """Every cell."""
        return (cell for of_match in self.cells.values() for cell in of_match.values())

    @property
    def runs(self) -> list[Sequence[RankedList]]:
        """The lists of every cell whose texts were given."""
        return [cell.lists for cell in self if cell.lists is not None]


def cell_grid(evaluations: Sequence[Evaluation], sources: Sources) -> Grid:
    """The cells of evaluations.

    Raises:
        UsageError: there is no evaluation, or they cannot stand side by side.
    """
    if not evaluations:
        raise UsageError("evaluations: the list is empty; pass at least one")
    grouped: dict[str, dict[str, tuple[Evaluation, list[Curve]]]] = {}
    for evaluation, of_metric in zip(evaluations, curves(evaluations), strict=True):
        name, of_match = evaluation.name, grouped.setdefault(evaluation.match_name, {})
        if name in of_match:
            raise UsageError(
                f"evaluations: two are of retriever {name!r} and matcher "
                f"{evaluation.match_name!r}; give each its own name "
                "(dataclasses.replace(evaluation, name=...))"
            )
        of_match[name] = (evaluation, of_metric)
    query_ids = list(dict.fromkeys(id_ for each in evaluations for id_ in each.query_ids))
    cells: dict[str, dict[str, Cell]] = {}
    for match, of_match in grouped.items():
        check_comparable([evaluation for evaluation, _ in of_match.values()])
        lists = {
            name: lists_behind(evaluation, sources.dataset, sources.runs)
            for name, (evaluation, _) in of_match.items()
        }
        pooled = [
            (evaluation, lists[name] or ())
            for name, (evaluation, _) in of_match.items()
            if "pool" in evaluation.settings
        ]
        shared = pool_gold(pooled) if pooled and all(lists for _, lists in pooled) else None
        cells[match] = {}
        for name, (evaluation, of_metric) in of_match.items():
            golds = shared or _golds(evaluation, lists[name], sources.dataset)
            row_of = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
            rows = list(map(row_of.get, query_ids))
            cells[match][name] = Cell(evaluation, lists[name], golds, of_metric, rows)
    return Grid(cells, query_ids)


def _golds(
    evaluation: Evaluation, lists: Sequence[RankedList] | None, dataset: GoldDataset | None
) -> list[Sequence[Gold]]:
    """The gold set's gold of each row; nothing where only the table is known."""
    if "pool" not in evaluation.settings:
        if lists is not None:
            return [ranked.query.gold for ranked in lists]
        if dataset is not None:
            return [dataset[query_id].gold for query_id in evaluation.query_ids]
    return [()] * len(evaluation.query_ids)


def cell_values(cell: Cell, texts: Mapping[str, str], origins: Origins) -> dict[str, Any]:
    """Everything about a cell but the texts of its lists.

    Args:
        cell: the evaluation.
        texts: of gold that is named by its id alone.
        origins: which document passages were cut from.
    """
    evaluation, lists, by_query = cell.evaluation, cell.lists, cell.by_query
    first, best = _gold_ranks(evaluation)
    missed = (
        {row: (lists[row], cell.golds[row]) for row in missed_rows(evaluation)} if lists else {}
    )
    near = near_misses(missed, texts, origins)
    return {
        "values": {
            str(scores.spec): by_query(short(scores.values.tolist()))
            for scores in evaluation.scores
            if not np.isnan(scores.values).all()
        },
        "mean": evaluation.mean,
        "micro": evaluation.micro,
        "bounds": evaluation.bounds,
        "maximum": evaluation.maximum,
        "counts": evaluation.counts,
        "remarks": evaluation.remarks,
        "status": "".join(by_query(_statuses(cell), "-")),
        "seconds": None if lists is None else by_query(short([each.seconds for each in lists])),
        "cuts": {
            name: by_query(ranks.tolist()) for name, ranks in budget_ranks(evaluation).items()
        },
        "first": by_query(first),
        "best": by_query(best),
        "alike": [near[row].alike if row in near else None for row in cell.rows],
        "kin": [near[row].kin or None if row in near else None for row in cell.rows],
        "curves": plain(cell.curves),
        "histogram": plain(histogram(evaluation)),
        "times": None if lists is None else plain(times(lists)),
    }


def _statuses(cell: Cell) -> list[str]:
    """A letter for each row: answered, empty, failed or missing."""
    table = cell.evaluation.table
    if cell.lists is None:
        letters = ["a" if answered else "m" for answered in table.answered.tolist()]
    else:
        letters = [ranked.status[0] for ranked in cell.lists]
    n_docs = table.n_docs.tolist()
    return [
        "e" if letter == "a" and not n else letter
        for letter, n in zip(letters, n_docs, strict=True)
    ]


def _gold_ranks(
    evaluation: Evaluation,
) -> tuple[list[list[int | None]], list[list[float | int | None]]]:
    """For each row: the first rank of each gold item, and its highest score with its rank.

    A first rank is 0 for an item that was not found, and None where that is not known; an item
    that is no gold (its grade is too low) has -1.
    """
    table, outcome = evaluation.table, gold_outcome(evaluation)
    first: list[int | None] = np.where(outcome.relevant, outcome.first, -1).tolist()
    for item in np.flatnonzero(outcome.unknown & outcome.relevant).tolist():
        first[item] = None
    best: list[float | int | None] = []
    for score, rank in zip(outcome.best.tolist(), outcome.best_rank.tolist(), strict=True):
        best += (rounded_score(score, table.threshold), rank)
    spans = list(pairwise(table.gold_start.tolist()))
    return (
        [first[start:end] for start, end in spans],
        [best[2 * start : 2 * end] for start, end in spans],
    )
