"""What context expansion adds, and whether the context holds what an answer needs."""

from __future__ import annotations

import numpy as np

from kragx.data.metadata import value_at
from kragx.metrics.measures.base import (
    Described,
    Evidence,
    MeasureScores,
    MeasureSpec,
    mean_of,
    rank_of,
)


def _relevance(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    relevant = evidence.relevant()
    has_gold = set(evidence.table.gold_query[evidence.table.grade > 0].tolist())
    values = np.full(len(evidence.answers), np.nan)
    for row, answer in enumerate(evidence.answers):
        start = int(evidence.table.doc_start[row])
        added = [
            start + rank
            for rank, doc in enumerate(answer.top(spec.k))
            if value_at(doc.metadata, spec["key"])
        ]
        # Without gold nothing can be relevant, and 0 would say that the expansion failed.
        if added and row in has_gold:
            values[row] = relevant[added].mean()
    return MeasureScores(spec, values, mean_of(values))


def _completeness(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    values = evidence.facts(rank_of(spec.k))
    return MeasureScores(spec, values, mean_of(values))


CONTEXT_RELEVANCE = Described(
    name="context_relevance",
    question="Is what context expansion adds worth reading?",
    formula="relevant documents among those whose metadata key is true / those; undefined where "
    "there is none",
    function=_relevance,
    options={"key": "expanded"},
)
CONTEXT_COMPLETENESS = Described(
    name="context_completeness",
    question="Does the top k hold every fact that an answer needs?",
    formula="facts (metadata.facts of the query) matched by a document of the top k / facts; "
    "undefined where the query has none",
    function=_completeness,
)
