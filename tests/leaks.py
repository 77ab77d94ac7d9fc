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
    mark = np.zeros((int(table.doc_start[-1]), len(kinds) + 1), np.int8)
    names = {}
    for query_id, ranks in leaks.items():
        for rank, kind in ranks.items():
            doc = int(table.doc_start[ids.index(query_id)]) + rank - 1
            mark[doc, kinds.index(kind)] = 1
            names[doc] = f"{query_id}-doc{rank}"
    asked = set(ids if could is None else could)
    of_question = np.array([[query_id in asked] * (len(kinds) + 1) for query_id in ids], bool)
    is_unknown = np.array([[*[name in set(unknown)] * len(kinds), False] for name in ids], bool)
    marks = ForbiddenMarks(
        kinds=kinds,
        mark=mark,
        could=of_question,
        open=of_question & is_unknown,
        names=names,
    )
    evidence = evaluation.evidence or GatheredEvidence((), table)
    marked = replace(evaluation, evidence=replace(evidence, forbidden=marks), forbidden=marks)
    measured = marked.measured((*evaluation.specs, *parse_all(tuple(metrics) or ("leak@3",))))
    return replace(measured, evidence=evaluation.evidence)
