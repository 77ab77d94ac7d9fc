"""Which list metrics are about that name none: one for all questions, and all runs compared."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kragx.data import GoldDataset, Retrieved, Run
from kragx.data.batch import Batch
from kragx.data.search_lists import SearchLists
from kragx.evaluation.searching.listing import query_of
from kragx.metrics import Bools
from kragx.metrics.search_table import Basis


def basis_of(batches: Iterable[Batch]) -> Basis | None:
    """What each question got in the end where all have that, else what its first search gave.

    Args:
        batches: the questions with their searches; looked at until one decides. None where no
            question has any.
    """
    basis: Basis | None = None
    for batch in batches:
        if batch.searches is not None:
            basis = "retrieved"
            if _lacks_list(batch.searches, batch.answered).any():
                return "first"
    return basis


def basis_of_runs(dataset: GoldDataset, runs: Iterable[Run]) -> Basis | None:
    """The same of several runs, which have one."""
    answers = [
        answer
        for run in runs
        for query_id, answer in run.results.items()
        if query_id in dataset and answer.error is None
    ]
    if any(map(_has_searches_alone, answers)):
        return "first"
    return "retrieved" if any(answer.searches for answer in answers) else None


def _has_searches_alone(answer: Retrieved) -> bool:
    is_known = any(search.is_measured for search in answer.searches)
    return is_known and not answer.has_list


def _lacks_list(lists: SearchLists, answered: Bools) -> Bools:
    """(q) which questions have a search that is measured, and no list beside."""
    n_measured = np.bincount(query_of(lists.n)[lists.measured], minlength=len(lists.n))
    return (n_measured > 0) & ~lists.has_list & answered
