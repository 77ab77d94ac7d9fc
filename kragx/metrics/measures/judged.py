"""How much of what was retrieved the gold set has an opinion about."""

from __future__ import annotations

import numpy as np

from kragx.metrics.measures.base import (
    Described,
    Evidence,
    MeasureScores,
    MeasureSpec,
    mean_of,
    rank_of,
)


def _judged(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    table = evidence.table
    judged = table.judged
    values = np.full(table.n_queries, np.nan)
    k = rank_of(spec.k)
    for row, (start, end) in enumerate(zip(table.doc_start[:-1], table.doc_start[1:])):
        stop = end if k is None else min(end, start + k)
        if stop > start:
            values[row] = judged[start:stop].mean()
    return MeasureScores(spec, values, mean_of(values))


JUDGED = Described(
    name="judged",
    question="How much of the top k is known to the gold set, relevant or not?",
    formula="documents in the top k that match a gold item of any grade / min(k, n); undefined "
    "for an empty list",
    function=_judged,
    better="neither",
)
