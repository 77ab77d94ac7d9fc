"""What the context holds: what expansion adds, the facts of an answer, what the gold set knows."""

import numpy as np

from kragx.data import value_at
from kragx.metrics.evidence import Evidence
from kragx.metrics.match_table import Floats
from kragx.metrics.spec import Metric, MetricSpec, Option


def _relevance(evidence: Evidence, spec: MetricSpec) -> Floats:
    table = evidence.table
    has_gold = set(table.gold_query[table.grade > 0].tolist())
    relevant = np.split(table.relevant, table.doc_start[1:-1])
    values = np.full(table.n_queries, np.nan)
    for row, ranked in enumerate(evidence.lists):
        added = [
            rank
            for rank, doc in enumerate(ranked.top(spec.k))
            if value_at(doc.metadata, spec["key"])
        ]
        # Without gold nothing can be relevant, and 0 would say that the expansion failed.
        if added and row in has_gold:
            values[row] = relevant[row][added].mean()
    return values


def _completeness(evidence: Evidence, spec: MetricSpec) -> Floats:
    return evidence.facts(spec.k)


def _judged(evidence: Evidence, spec: MetricSpec) -> Floats:
    table = evidence.table
    tops = [judged[: spec.k] for judged in np.split(table.judged, table.doc_start[1:-1])]
    return np.array([top.mean() if top.size else np.nan for top in tops], np.float64)


CONTEXT_RELEVANCE = Metric(
    name="context_relevance",
    question="Is what context expansion adds worth reading?",
    formula="relevant documents among those whose metadata key is true / those; undefined where "
    "there is none",
    meaning={
        "en": "The share of what context expansion adds that is relevant.",
        "ko": "문맥 확장으로 더해진 문서 가운데 관련 있는 것의 비율입니다.",
    },
    from_evidence=_relevance,
    options={"key": Option("expanded")},
)
CONTEXT_COMPLETENESS = Metric(
    name="context_completeness",
    question="Does the top k hold every fact that an answer needs?",
    formula="facts (metadata.facts of the query) matched by a document of the top k / facts; "
    "undefined where the query has none",
    meaning={
        "en": "The share of the facts an answer needs that stand in {}.",
        "ko": "답변에 필요한 사실 가운데 {} 안에 있는 비율입니다.",
    },
    from_evidence=_completeness,
    reads_facts=True,
)
JUDGED = Metric(
    name="judged",
    question="How much of the top k is known to the gold set, relevant or not?",
    formula="documents in the top k that match a gold item of any grade / min(k, n); undefined "
    "for an empty list",
    meaning={
        "en": "The share of {} that the gold set knows, as relevant or not.",
        "ko": "{} 가운데 관련 여부가 골드셋에 알려진 비율입니다.",
    },
    from_evidence=_judged,
    better="neither",
)
