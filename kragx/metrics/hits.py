"""Whether anything is found, and how high the first of it stands."""

import numpy as np

from kragx.metrics.match_table import Floats
from kragx.metrics.options import NEED, REL
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.view import TableView


def _hit_rate(view: TableView, spec: MetricSpec) -> Floats:
    needed = view.n_gold if spec["need"] == "all" else 1
    return ((view.found >= needed) & (view.found > 0)).astype(np.float64)


def _mrr(view: TableView, spec: MetricSpec) -> Floats:
    return view.reciprocal_rank


HIT_RATE = Metric(
    name="hit_rate",
    question="Is there anything useful in the top k?",
    formula="1 if some gold is found within k (need=all: if every gold is), else 0",
    meaning={
        "en": "The share of questions with gold in {}.",
        "ko": "{} 안에 정답이 있는 질문의 비율입니다.",
    },
    from_matches=_hit_rate,
    options={"need": NEED, "rel": REL},
    default=True,
    rises_with_matches=True,
    rises_with_gold=lambda spec: spec["need"] == "any",
    trec={"success_<k>": ""},
)
MRR = Metric(
    name="mrr",
    question="How high is the first answer?",
    formula="1 / rank of the first relevant document within k, 0 if there is none",
    meaning={
        "en": "How early the first gold stands in {}: 1 if it is always first, 0.5 if second.",
        "ko": "{} 안에서 첫 정답이 얼마나 앞에 있는지를 나타냅니다. 항상 1위면 1, 2위면 0.5입니다.",
    },
    from_matches=_mrr,
    options={"rel": REL},
    default=True,
    rises_with_matches=True,
    rises_with_gold=True,
    trec={"recip_rank": ""},
)
