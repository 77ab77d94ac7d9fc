"""What became of the questions of somebody who searches several times."""

from dataclasses import dataclass, replace

import numpy as np

from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.ranked_lists import gold_outcome
from kragx.metrics import Bools
from kragx.metrics.search_table import SearchTable


@dataclass(frozen=True)
class SearchOutcomes:
    """The questions, as rows of an evaluation, of which something is so; one may be in several.

    Attributes:
        rescued: the first step brought no gold, and a later one did.
        in_vain: no step brought any, as ``waste`` counts it; nor did who failed, or never searched.
        wasted: steps followed after the last that brought new gold.
        unread: a search brought gold that was not read.
    """

    rescued: tuple[int, ...]
    in_vain: tuple[int, ...]
    wasted: tuple[int, ...]
    unread: tuple[int, ...]


def search_outcomes(evaluation: Evaluation) -> SearchOutcomes | None:
    """What became of each question; None where no searches are known."""
    if evaluation.searches is None:
        return None
    first_run = replace(evaluation, runs=())  # whose searches those are
    measured = first_run.with_metrics(["rescue", "evidence_recall", "waste"])
    values = {scores.spec.metric.name: scores.values for scores in measured.scores}
    return SearchOutcomes(
        _rows(values["rescue"] == 1),
        _rows(values["evidence_recall"] == 0),
        _rows(values["waste"] > 0),
        _rows(_has_unread(evaluation, evaluation.searches)),
    )


def _has_unread(evaluation: Evaluation, searches: SearchTable) -> Bools:
    """(q) of which questions a search brought gold that was not read, where that is known."""
    came, read = (
        gold_outcome(replace(evaluation, table=searches.of(name))) for name in ("all", "read")
    )
    is_lost = came.relevant & (came.first > 0) & (read.first == 0)
    n_lost = np.bincount(searches.table.gold_query[is_lost], minlength=len(searches.read.is_there))
    return (n_lost > 0) & searches.read.is_there


def _rows(is_so: Bools) -> tuple[int, ...]:
    return tuple(np.flatnonzero(is_so).tolist())
