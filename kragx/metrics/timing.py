"""How long the retriever took."""

import numpy as np

from kragx.metrics.evidence import Evidence
from kragx.metrics.match_table import Floats
from kragx.metrics.spec import Metric, MetricSpec, defined


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


def _percentile(percent: int, en: str, ko: str) -> Metric:
    """A percentile; `en` and `ko` are the beginnings of the sentence that says its meaning."""
    return Metric(
        name=f"seconds_p{percent}",
        question=f"Within how many seconds are {percent} of 100 questions answered?",
        formula=f"percentile {percent} of the seconds of the answered queries, between two of "
        "them by linear interpolation",
        meaning={"en": f"{en} answered within this time.", "ko": f"{ko} 이 시간 안에 끝납니다."},
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
    meaning={
        "en": "The mean time that a question takes.",
        "ko": "질문 하나에 걸리는 평균 시간입니다.",
    },
    from_evidence=_seconds,
    range=(0.0, None),
    unit="seconds",
    better="lower",
    cuts=False,
    aliases=("mean_seconds",),
)
SECONDS_P50 = _percentile(50, "Half of the questions are", "질문의 절반이")
SECONDS_P95 = _percentile(95, "95 of 100 questions are", "질문 100개 중 95개가")
SECONDS_P99 = _percentile(99, "99 of 100 questions are", "질문 100개 중 99개가")
THROUGHPUT = Metric(
    name="throughput",
    question="How many questions are answered in a second?",
    formula="concurrency * answered queries / sum of their seconds (Little's law)",
    meaning={
        "en": "How many questions are answered in a second.",
        "ko": "1초에 답하는 질문 수입니다.",
    },
    from_run=_throughput,
    range=(0.0, None),
    unit="queries a second",
    cuts=False,
)
