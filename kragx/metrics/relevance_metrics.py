"""How much of what was retrieved a judge finds relevant to the question, with or without gold."""

from kragx.ground.printing import phrase
from kragx.metrics.ranking_metrics import OVER, PRECISION, REL
from kragx.metrics.spec import WHERE, Metric

PRECISION_JUDGED = Metric(
    name="precision_judged",
    question="How much of the top k does a judge find relevant to the question?",
    formula="documents in the top k that are judged relevant / k (over=retrieved: / min(k, n)); "
    "also without gold",
    meaning=phrase(
        "The share of {where} that a judge finds relevant to the question.", where=WHERE
    ),
    from_relevance=PRECISION.from_matches,
    options={"over": OVER, "rel": REL},
    pooled=PRECISION.pooled,
    rises_with_matches=True,
    rises_with_gold=True,
)
