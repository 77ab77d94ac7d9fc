"""How many different sources the documents come from, and how evenly."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np

from kragx.data.metadata import value_at
from kragx.metrics.measures.base import (
    Answer,
    Described,
    Evidence,
    MeasureScores,
    MeasureSpec,
    mean_of,
)


def _sources(answer: Answer, spec: MeasureSpec) -> Counter[str]:
    values = (value_at(doc.metadata, spec["key"]) for doc in answer.top(spec.k))
    return Counter(str(value) for value in values if value is not None)


def _entropy(counts: Counter[str]) -> float:
    total = counts.total()
    # One source alone: 0, not the -0.0 that the sum would give.
    return abs(-sum(n / total * log2(n / total) for n in counts.values()))


def _diversity(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    counted = [_sources(answer, spec) for answer in evidence.answers]
    values = np.array([_entropy(each) if each else np.nan for each in counted], np.float64)
    best = np.array([log2(each.total()) if each else np.nan for each in counted], np.float64)
    return MeasureScores(spec, values, mean_of(values), maximum=mean_of(best))


SOURCE_DIVERSITY = Described(
    name="source_diversity",
    question="From how many different sources does the top k come, and how evenly?",
    formula="Shannon entropy in bits of a metadata key over the top k; its maximum is log2 of "
    "their number; undefined where no document has the key",
    function=_diversity,
    range=(0.0, None),
    better="neither",
    options={"key": "source"},
)
