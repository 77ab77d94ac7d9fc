"""Where the documents come from: the expected types among them, and how many sources."""

from collections import Counter
from math import log2

import numpy as np

from kragx.data import value_at
from kragx.metrics.evidence import Evidence
from kragx.metrics.match_table import Floats
from kragx.metrics.spec import Metric, MetricSpec, Option


def _doc_type_coverage(evidence: Evidence, spec: MetricSpec) -> Floats:
    shares = []
    for ranked in evidence.lists:
        expected = set(ranked.query.expected_doc_types)
        types: set[str] = set()
        for doc in ranked.top(spec.k):
            value = value_at(doc.metadata, spec["key"])
            types.update(map(str, value if isinstance(value, (list, tuple)) else [value]))
        shares.append(len(expected & types) / len(expected) if expected else np.nan)
    return np.array(shares, np.float64)


def _sources(evidence: Evidence, spec: MetricSpec) -> list[Counter[str]]:
    """For each query how many of the top k come from each source that is known."""
    return [
        Counter(
            str(source)
            for doc in ranked.top(spec.k)
            if (source := value_at(doc.metadata, spec["key"])) is not None
        )
        for ranked in evidence.lists
    ]


def _diversity(evidence: Evidence, spec: MetricSpec) -> Floats:
    return np.array([_entropy(counts) for counts in _sources(evidence, spec)], np.float64)


def _greatest_diversity(evidence: Evidence, spec: MetricSpec) -> Floats:
    totals = [counts.total() for counts in _sources(evidence, spec)]
    return np.array([log2(total) if total else np.nan for total in totals], np.float64)


def _entropy(counts: Counter[str]) -> float:
    total = counts.total()
    if not total:
        return np.nan
    # One source alone: 0, not the -0.0 that the sum would give.
    return abs(-sum(n / total * log2(n / total) for n in counts.values()))


DOC_TYPE_COVERAGE = Metric(
    name="doc_type_coverage",
    question="Are the expected types of document among the top k?",
    formula="expected types retrieved / expected types; undefined where none is expected",
    meaning={
        "en": "The share of the expected types of document that stand in {}.",
        "ko": "기대하는 문서 유형 가운데 {} 안에 있는 비율입니다.",
    },
    from_evidence=_doc_type_coverage,
    options={"key": Option("doc_type")},
)
SOURCE_DIVERSITY = Metric(
    name="source_diversity",
    question="From how many different sources does the top k come, and how evenly?",
    formula="Shannon entropy in bits of a metadata key over the top k; its maximum is log2 of "
    "their number; undefined where no document has the key",
    meaning={
        "en": "From how many sources {} come, and how evenly, in bits: 0 if all are from one.",
        "ko": "{} 안의 문서가 얼마나 여러 출처에서 고르게 왔는지를 "
        "비트로 나타냅니다. 모두 한 출처면 0입니다.",
    },
    from_evidence=_diversity,
    maximum=_greatest_diversity,
    options={"key": Option("source")},
    range=(0.0, None),
    unit="bits",
    better="neither",
)
