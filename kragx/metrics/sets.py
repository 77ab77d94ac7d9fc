"""What is in the top k, whatever its order: precision, recall, F1."""

import numpy as np

from kragx.metrics.match_table import Floats
from kragx.metrics.micro import PooledCounts
from kragx.metrics.options import MACRO, OVER, REL
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.view import TableView, ratio


def _precision(view: TableView, spec: MetricSpec) -> Floats:
    return ratio(view.relevant, view.depth if spec["over"] == "retrieved" else view.limit)


def _recall(view: TableView, spec: MetricSpec) -> Floats:
    return ratio(view.found, view.n_gold.astype(np.float64))


def _f1(view: TableView, spec: MetricSpec) -> Floats:
    precision, recall = _precision(view, spec), _recall(view, spec)
    return ratio(2 * precision * recall, precision + recall)


PRECISION = Metric(
    name="precision",
    question="How much of the top k is useful?",
    formula="relevant documents in the top k / k (over=retrieved: / min(k, n))",
    meaning={
        "en": "The share of {} that is relevant.",
        "ko": "{} 가운데 관련 있는 문서의 비율입니다.",
    },
    from_matches=_precision,
    options={"over": OVER, "rel": REL},
    default=True,
    pooled=PooledCounts.precision,
    rises_with_matches=True,
    rises_with_gold=True,
    trec={"P_<k>": "", "set_P": ""},
)
RECALL = Metric(
    name="recall",
    question="How much of the gold is found?",
    formula="gold found within k / all gold",
    meaning={
        "en": "The share of a question's gold that stands in {}.",
        "ko": "질문의 정답 가운데 {} 안에 있는 비율입니다.",
    },
    from_matches=_recall,
    options={"rel": REL},
    default=True,
    pooled=PooledCounts.recall,
    rises_with_matches=True,
    trec={"recall_<k>": "", "set_recall": ""},
)
F1 = Metric(
    name="f1",
    question="How good is the balance of precision and recall?",
    formula="harmonic mean of the query's precision and recall; 0 when both are 0",
    meaning={
        "en": "Precision and recall of {} in one number.",
        "ko": "{}의 정밀도와 재현율을 하나로 합친 값입니다.",
    },
    from_matches=_f1,
    options={"over": OVER, "rel": REL, "macro": MACRO},
    default=True,
    pooled=PooledCounts.f1,
    rises_with_matches=lambda spec: spec["macro"] == "queries",
    trec={"set_F": "(over=retrieved)"},
)
