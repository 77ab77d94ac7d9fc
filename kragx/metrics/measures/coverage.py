"""Of the document types that a question expects, how many were retrieved."""

from __future__ import annotations

from kragx.data.metadata import value_at
from kragx.metrics.measures.base import (
    Answer,
    Described,
    Evidence,
    MeasureScores,
    MeasureSpec,
    per_query,
)


def _coverage(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    def of_query(answer: Answer) -> float | None:
        expected = set(answer.query.expected_doc_types)
        if not expected:
            return None
        found: set[object] = set()
        for doc in answer.top(spec.k):
            types = value_at(doc.metadata, spec["key"])
            found.update(map(str, types) if isinstance(types, (list, tuple)) else [str(types)])
        return len(expected & found) / len(expected)

    return per_query(evidence, spec, of_query)


DOC_TYPE_COVERAGE = Described(
    name="doc_type_coverage",
    question="Are the expected types of document among the top k?",
    formula="expected types retrieved / expected types; undefined where none is expected",
    function=_coverage,
    options={"key": "doc_type"},
)
