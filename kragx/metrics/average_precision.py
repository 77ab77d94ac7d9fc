"""How early all of the gold is found."""

import numpy as np

from kragx.metrics.match_table import Floats
from kragx.metrics.options import CREDIT, NORM, REL
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.view import TableView, ratio


def _map(view: TableView, spec: MetricSpec) -> Floats:
    match spec["norm"]:
        case "hits":
            return ratio(view.precision_sum(spec["credit"]), view.hits(spec["credit"]))
        case "cut":
            # Over min(m, k), so no more than k hits may count.
            return ratio(view.precision_sum(spec["credit"], at_most_k=True), view.cut_gold)
    return ratio(view.precision_sum(spec["credit"]), view.n_gold.astype(np.float64))


MAP = Metric(
    name="map",
    question="How early is all of the gold found?",
    formula="(1/m) * sum over the gold found within k, in order of rank c, of i / max(c_i, i)",
    meaning={
        "en": "How early the gold stands in {}: 1 if all of it is at the top.",
        "ko": "{} 안에서 정답이 얼마나 앞에 있는지를 나타냅니다. 모두 맨 앞이면 1입니다.",
    },
    from_matches=_map,
    options={"norm": NORM, "rel": REL, "credit": CREDIT},
    default=True,
    rises_with_matches=lambda spec: spec["norm"] != "hits",
    trec={"map": "", "map_cut_<k>": ""},
)
