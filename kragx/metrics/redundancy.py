"""How many of the relevant documents say nothing new."""

import numpy as np

from kragx.metrics.match_table import Floats
from kragx.metrics.options import REL
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.view import TableView, ratio


def _redundancy(view: TableView, spec: MetricSpec) -> Floats:
    return ratio(view.redundant, view.relevant, empty=np.nan)


REDUNDANCY = Metric(
    name="redundancy",
    question="How many of the relevant documents say nothing new?",
    formula="documents that match only gold found before / relevant documents; undefined without",
    meaning={
        "en": "The share of the relevant documents that say nothing new.",
        "ko": "관련 있는 문서 가운데 새로운 내용이 없는 것의 비율입니다.",
    },
    from_matches=_redundancy,
    options={"rel": REL},
    better="lower",
    may_be_undefined=True,
)
