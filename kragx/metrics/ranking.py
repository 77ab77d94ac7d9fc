"""Metrics that look at the order."""

from __future__ import annotations

import numpy as np

from kragx.metrics.definitions import Metric, ratio
from kragx.metrics.spec import MetricSpec
from kragx.metrics.table import Floats
from kragx.metrics.view import View


def _mrr(view: View, spec: MetricSpec) -> Floats:
    return view.reciprocal_rank


def _map(view: View, spec: MetricSpec) -> Floats:
    match spec.norm:
        case "hits":
            return ratio(view.precision_sum(spec.credit), view.hits(spec.credit))
        case "cut":
            # Over min(m, k), so no more than k hits may count.
            return ratio(view.precision_sum(spec.credit, at_most_k=True), view.cut_gold)
    return ratio(view.precision_sum(spec.credit), view.n_gold.astype(np.float64))


def _ndcg(view: View, spec: MetricSpec) -> Floats:
    match spec.ideal:
        case "ones":
            dcg = view.score_dcg if spec.gain == "score" else view.document_dcg
            return ratio(dcg, view.ideal_of_ones)
        case "retrieved":
            return ratio(view.score_dcg, view.ideal_of_scores)
    judged = spec.gain_from == "judge"
    dcg, ideal = view.judged_dcg(spec.gain) if judged else view.dcg(spec.gain)
    # Rounding can leave the two sums an ulp apart; no ranking is better than the ideal one.
    return np.minimum(ratio(dcg, ideal), 1.0)


MRR = Metric(
    name="mrr",
    question="How high is the first answer?",
    formula="1 / rank of the first relevant document within k, 0 if there is none",
    compute=_mrr,
)
MAP = Metric(
    name="map",
    question="How early is all of the gold found?",
    formula="(1/m) * sum over the gold found within k, in order of rank c, of i / max(c_i, i)",
    compute=_map,
    options=("norm", "rel"),
    fixed=("credit",),
)
NDCG = Metric(
    name="ndcg",
    question="How close is the order to the best possible one, grades considered?",
    formula="discounted gain of the gold found within k / the same with all gold found at once",
    compute=_ndcg,
    options=("gain", "gain_from"),
    fixed=("ideal",),
)
