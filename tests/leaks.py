"""Evaluations in which something came that must not, by marks that are set by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from kragx import Evaluation
from kragx.evaluation.evidence import GatheredEvidence
from kragx.metrics import parse_all
from kragx.metrics.evidence import ForbiddenMarks

Leaks = Mapping[str, Mapping[int, str]]
"""By query id and rank as what a document is forbidden."""


def leaking(
    evaluation: Evaluation,
    leaks: Leaks,
    *,
    metrics: Iterable[str] = (),
    kinds: Iterable[str] = ("tenant", "version"),
    could: Iterable[str] | None = None,
    unknown: Iterable[str] = (),
) -> Evaluation:
    """An evaluation in which these documents must not come.

    Args:
        evaluation: of whatever was retrieved.
        leaks: what came.
        metrics: that are computed beside those that there are.
        kinds: as what something may be forbidden.
        could: the questions that could leak; None for all.
        unknown: those of which it is not known.
    """
    kinds, table, ids = tuple(kinds), evaluation.table, evaluation.query_ids
    mark = np.zeros((int(table.doc_start[-1]), len(kinds)), np.int8)
    names = {}
    for query_id, ranks in leaks.items():
        for rank, kind in ranks.items():
            doc = int(table.doc_start[ids.index(query_id)]) + rank - 1
            mark[doc, kinds.index(kind)] = 1
            names[doc] = f"{query_id}-doc{rank}"
    n, asked = len(ids), set(ids if could is None else could)
    of_question = np.array([[query_id in asked] * len(kinds) for query_id in ids], bool)
    marks = ForbiddenMarks(
        kinds=kinds,
        mark=mark,
        could=of_question,
        open=of_question & np.array([[query_id in set(unknown)] for query_id in ids], bool),
        stale=np.zeros(len(mark), np.int8),
        versions=of_question.any(axis=1),
        stale_open=np.zeros(n, bool),
        names=names,
    )
    evidence = evaluation.evidence or GatheredEvidence((), table)
    marked = replace(evaluation, evidence=replace(evidence, forbidden=marks), forbidden=marks)
    measured = marked.measured((*evaluation.specs, *parse_all(tuple(metrics) or ("leak@3",))))
    return replace(measured, evidence=evaluation.evidence)
