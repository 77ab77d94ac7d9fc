"""How much of what was retrieved a judge finds relevant to the question, with or without gold."""

from kragx.metrics.ranking_metrics import OVER, PRECISION, REL
from kragx.metrics.spec import Metric

PRECISION_JUDGED = Metric(
    name="precision_judged",
    question="How much of the top k does a judge find relevant to the question?",
    formula="documents in the top k that are judged relevant / k (over=retrieved: / min(k, n)); "
    "also without gold",
    meaning={
        "en": "The share of {} that a judge finds relevant to the question.",
        "ko": "{} 가운데 판정자가 질문과 관련 있다고 본 문서의 비율입니다.",
    },
    from_relevance=PRECISION.from_matches,
    options={"over": OVER, "rel": REL},
    pooled=PRECISION.pooled,
    rises_with_matches=True,
    rises_with_gold=True,
)
