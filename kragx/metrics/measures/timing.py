"""How long the retriever took."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kragx.metrics.measures.base import Described, Evidence, MeasureScores, MeasureSpec
from kragx.metrics.table import Floats


def _seconds(evidence: Evidence) -> Floats:
    """(q) the time of each query that was answered; a failed one's says when it failed."""
    return np.array(
        [
            np.nan if each.seconds is None or each.status != "answered" else each.seconds
            for each in evidence.answers
        ],
        np.float64,
    )


def _taken(
    summary: Callable[[Floats], float],
) -> Callable[[Evidence, MeasureSpec], MeasureScores]:
    def compute(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
        values = _seconds(evidence)
        known = values[~np.isnan(values)]
        return MeasureScores(spec, values, float(summary(known)) if known.size else None)

    return compute


def _throughput(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    values = _seconds(evidence)
    known = values[~np.isnan(values)]
    total = float(known.sum())
    mean = evidence.concurrency * known.size / total if total > 0 else None
    return MeasureScores(spec, np.full_like(values, np.nan), mean)


def _percentile(percent: int) -> Described:
    def summary(seconds: Floats) -> float:
        return float(np.percentile(seconds, percent))

    return Described(
        name=f"seconds_p{percent}",
        question=f"Within how many seconds are {percent} of 100 questions answered?",
        formula=f"percentile {percent} of the seconds of the answered queries, between two of "
        "them by linear interpolation",
        function=_taken(summary),
        summary=summary,
        range=(0.0, None),
        better="lower",
        cuts=False,
    )


SECONDS_MEAN = Described(
    name="seconds_mean",
    question="How many seconds does an answer take?",
    formula="mean of the seconds of the answered queries",
    function=_taken(lambda seconds: float(seconds.mean())),
    range=(0.0, None),
    better="lower",
    cuts=False,
)
SECONDS_P50, SECONDS_P95, SECONDS_P99 = map(_percentile, (50, 95, 99))
THROUGHPUT = Described(
    name="throughput",
    question="How many questions are answered in a second?",
    formula="concurrency * answered queries / sum of their seconds (Little's law)",
    function=_throughput,
    range=(0.0, None),
    cuts=False,
)
