"""What one retriever did under one matcher, query by query, as plain values for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import isnan
from typing import Any

import numpy as np

from kragx.comparison.near_misses import Misses, Origins, near_misses
from kragx.data.gold import Gold
from kragx.evaluation.answers import GoldOutcome, gold_outcome
from kragx.evaluation.curves import Curve, histogram, times
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import RankedList, TextBudget
from kragx.report.html_page.rounding import rounded_score


@dataclass(frozen=True)
class Cell:
    """One evaluation with the texts behind it.

    Attributes:
        evaluation: its numbers.
        answers: one for each row of its table; None if no texts were given.
        golds: the gold of each row, in the table's order.
        curves: its metrics at growing cut-offs.
    """

    evaluation: Evaluation
    answers: Sequence[RankedList] | None
    golds: Sequence[Sequence[Gold]]
    curves: Sequence[Curve]

    @property
    def found(self) -> GoldOutcome:
        """What became of each gold item."""
        return gold_outcome(self.evaluation.table, self.evaluation.profile.rel)


def cell_values(
    cell: Cell, rows: Sequence[int | None], texts: Mapping[str, str], origins: Origins
) -> dict[str, Any]:
    """Everything about a cell but the texts of its lists.

    Args:
        cell: the evaluation.
        rows: for each query of the page the row in the evaluation's table; None if it has none.
        texts: of gold that is named by its id alone.
        origins: which document passages were cut from.
    """
    evaluation, got = cell.evaluation, cell.found
    spread = histogram(evaluation, got)
    taken = None if cell.answers is None else times(cell.answers)
    statuses = _statuses(cell)
    firsts, scores = _gold_ranks(evaluation, got)
    near = near_misses(_misses(cell, got), texts, origins)

    def of_query(values: Sequence[Any], missing: Any = None) -> list[Any]:
        return [missing if row is None else values[row] for row in rows]

    return {
        "values": {
            str(each.spec): of_query([_short(value) for value in each.values.tolist()])
            for each in evaluation.scores
            if not np.isnan(each.values).all()
        },
        "mean": evaluation.mean,
        "micro": evaluation.micro,
        "bounds": evaluation.bounds,
        "maximum": evaluation.maximum,
        "counts": evaluation.counts,
        "remarks": list(evaluation.remarks),
        "status": "".join(of_query(statuses, "-")),
        "seconds": None
        if cell.answers is None
        else of_query([_short(each.seconds) for each in cell.answers]),
        "cuts": {name: of_query(depths) for name, depths in _cuts(evaluation).items()},
        "first": of_query(firsts),
        "best": of_query(scores),
        "alike": [near[row].alike if row in near else None for row in rows],
        "kin": [(near[row].kin or None) if row in near else None for row in rows],
        "curves": [asdict(each) for each in cell.curves],
        "histogram": None if spread is None else asdict(spread),
        "times": None if taken is None else asdict(taken),
    }


def pairs(evaluation: Evaluation, row: int, most: int) -> list[float | None]:
    """Document, gold item and score of each pair with a score above 0, one after the other."""
    table = evaluation.table
    first, last = table.doc_start[row], min(table.doc_start[row + 1], table.doc_start[row] + most)
    begin, end = np.searchsorted(table.pair_doc, (first, last))
    listed: list[float | None] = []
    for doc, gold, score in zip(
        (table.pair_doc[begin:end] - first).tolist(),
        (table.pair_gold[begin:end] - table.gold_start[row]).tolist(),
        table.pair_score[begin:end].tolist(),
    ):
        listed += (doc, gold, rounded_score(score, table.threshold))
    return listed


def _cuts(evaluation: Evaluation) -> dict[str, list[int]]:
    """For each metric with a budget, the rank at which each row's list is cut.

    A metric sees the documents that fit whole; one that reads text token by token, also the
    document in which the budget ends. Nothing where the evaluation did not keep its texts.
    """
    evidence, cuts = evaluation.evidence, {}
    for spec in evaluation.specs:
        if evidence is not None and isinstance(spec.k, TextBudget):
            sizes = evidence.sizes
            count = sizes.begun if spec.metric.cuts_budgets else sizes.depths
            cuts[str(spec)] = count(evidence.lists, spec.k).tolist()
    return cuts


def _statuses(cell: Cell) -> list[str]:
    """A letter for each row: answered, empty, failed or missing."""
    table = cell.evaluation.table
    n_docs = table.n_docs.tolist()
    if cell.answers is None:
        answered = table.answered.tolist()
        return [
            ("a" if n else "e") if there else "m" for there, n in zip(answered, n_docs, strict=True)
        ]
    return [
        {"missing": "m", "failed": "f"}.get(each.status, "a" if n else "e")
        for each, n in zip(cell.answers, n_docs, strict=True)
    ]


def _gold_ranks(
    evaluation: Evaluation, got: GoldOutcome
) -> tuple[list[list[int | None]], list[list[float | int | None]]]:
    """For each row: the first rank of each gold item, and its highest score with its rank.

    A first rank is 0 for an item that was not found, and None where that is not known; an item
    that is no gold (its grade is too low) has -1.
    """
    starts = evaluation.table.gold_start.tolist()
    threshold = evaluation.table.threshold
    first: list[int | None] = np.where(got.relevant, got.first, -1).tolist()
    for at in np.flatnonzero(got.unknown & got.relevant).tolist():
        first[at] = None
    best: list[float | int | None] = []
    for score, rank in zip(got.best.tolist(), got.best_rank.tolist(), strict=True):
        best += (rounded_score(score, threshold), rank)
    spans = list(pairwise(starts))
    return (
        [first[begin:end] for begin, end in spans],
        [best[2 * begin : 2 * end] for begin, end in spans],
    )


def _misses(cell: Cell, got: GoldOutcome) -> Misses:
    """Rows with texts and without any match, nor one that may yet be known."""
    if cell.answers is None:
        return {}
    table = cell.evaluation.table
    hit = np.zeros(table.n_queries, bool)
    hit[table.gold_query[got.relevant & ((got.first > 0) | got.unknown)]] = True
    rows: list[int] = np.flatnonzero(~hit).tolist()
    return {row: (cell.answers[row], cell.golds[row]) for row in rows}


def _short(value: float | None) -> float | None:
    """Six digits, which is more than anyone reads, and a third of the space."""
    return None if value is None or isnan(value) else float(f"{value:.6g}")
