"""How long the retriever took."""

from __future__ import annotations

import numpy as np

from kragx.metrics.evidence import Evidence
from kragx.metrics.spec import Metric, MetricSpec, defined
from kragx.metrics.table import Floats


def _seconds(evidence: Evidence, spec: MetricSpec | None = None) -> Floats:
    """(q) the time of each query that was answered; a failed one's says when it failed."""
    return np.array(
        [
            np.nan if ranked.seconds is None or ranked.status != "answered" else ranked.seconds
            for ranked in evidence.lists
        ],
        np.float64,
    )


def _throughput(evidence: Evidence) -> float | None:
    known = defined(_seconds(evidence))
    total = float(known.sum())
    return evidence.concurrency * known.size / total if total > 0 else None


def _percentile(percent: int) -> Metric:
    return Metric(
        name=f"seconds_p{percent}",
        question=f"Within how many seconds are {percent} of 100 questions answered?",
        formula=f"percentile {percent} of the seconds of the answered queries, between two of "
        "them by linear interpolation",
        from_evidence=_seconds,
        number=lambda seconds: float(np.percentile(seconds, percent)),
        range=(0.0, None),
        unit="seconds",
        better="lower",
        cuts=False,
        aliases=(f"p{percent}_seconds",),
    )


SECONDS_MEAN = Metric(
    name="seconds_mean",
    question="How many seconds does an answer take?",
    formula="mean of the seconds of the answered queries",
    from_evidence=_seconds,
    range=(0.0, None),
    unit="seconds",
    better="lower",
    cuts=False,
    aliases=("mean_seconds",),
)
SECONDS_P50, SECONDS_P95, SECONDS_P99 = map(_percentile, (50, 95, 99))
THROUGHPUT = Metric(
    name="throughput",
    question="How many questions are answered in a second?",
    formula="concurrency * answered queries / sum of their seconds (Little's law)",
    from_run=_throughput,
    range=(0.0, None),
    unit="queries a second",
    cuts=False,
)
