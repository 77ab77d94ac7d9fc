"""Hit rate, MRR, precision, recall, F1, MAP, nDCG, redundancy: of the match table alone.

With the options that they share; how nDCG is computed stands in `kragx.metrics.ndcg`.
"""

from typing import get_args

import numpy as np

from kragx.data.lists import Floats
from kragx.data.searches import ListName, Order
from kragx.ground.printing import phrase
from kragx.metrics.ndcg import ndcg
from kragx.metrics.spec import WHERE, Metric, MetricSpec, Option, above_0
from kragx.metrics.table_view import PooledCounts, TableView, ratio

OVER = Option("k", ("k", "retrieved"), by_profile=True)
"""What precision divides by: k, or what was retrieved of it (min(k, n))."""

NORM = Option("m", ("m", "hits", "cut"), by_profile=True)
"""What MAP divides by: all gold (m), the found gold (hits), or min(m, k) (cut)."""

NEED = Option("any", ("any", "all"), by_profile=True)
"""How much gold a hit needs."""

GAIN = Option("linear", ("linear", "exp2"), by_profile=True)
"""From grade to gain: the grade, or 2^grade - 1. Profiles also set ``score``: 2^score - 1."""

GAIN_FROM = Option("gold", ("gold", "judge"), by_profile=True)
"""Whose grade is the gain: the gold item's, or the judge's best grade of it so far (`llm`)."""

REL = Option(None, read=above_0, by_profile=True)
"""The least grade that counts as gold; None for any grade above 0."""

LISTS = {
    "of": Option(None, get_args(ListName)),
    "order": Option("turns", get_args(Order)),
}
"""Which list of somebody who searches several times (None: that of the evaluation), and how all
searches make one."""

# These exist to reproduce other tools.

CREDIT = Option("gold", by_profile=True, settable=False)
"""What MAP credits: each ``gold`` item once, or every matching ``document``."""

IDEAL = Option("gold", by_profile=True, settable=False)
"""What nDCG divides by.

The best order of the ``gold``, each credited once; or, with every document credited, ``ones``, as
many gains of 1 as there is gold; or ``retrieved``, the best order of what was retrieved.
"""

MACRO = Option("queries", by_profile=True, settable=False)
"""What macro F1 is: the mean of the queries, or taken from the ``means`` of P and R."""


def _hit_rate(view: TableView, spec: MetricSpec) -> Floats:
    n_needed = view.n_gold if spec["need"] == "all" else 1
    # Without gold none of it would be all of it.
    return ((view.found >= n_needed) & (view.found > 0)).astype(np.float64)


HIT_RATE = Metric(
    name="hit_rate",
    question="Is there anything useful in the top k?",
    formula="1 if some gold is found within k (need=all: if every gold is), else 0",
    meaning=phrase("The share of questions with gold in {where}.", where=WHERE),
    from_matches=_hit_rate,
    options={"need": NEED, "rel": REL, **LISTS},
    rises_with_matches=True,
    rises_with_gold=lambda spec: spec["need"] == "any",
)
MRR = Metric(
    name="mrr",
    question="How high is the first answer?",
    formula="1 / rank of the first relevant document within k, 0 if there is none",
    meaning=phrase(
        "How early the first gold stands in {where}: 1 if it is always first, 0.5 if second.",
        where=WHERE,
    ),
    from_matches=lambda view, _: view.reciprocal_rank,
    options={"rel": REL, **LISTS},
    rises_with_matches=True,
    rises_with_gold=True,
)


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
    meaning=phrase("The share of {where} that is relevant.", where=WHERE),
    from_matches=_precision,
    options={"over": OVER, "rel": REL, **LISTS},
    pooled=PooledCounts.precision,
    rises_with_matches=True,
    rises_with_gold=True,
)
RECALL = Metric(
    name="recall",
    question="How much of the gold is found?",
    formula="gold found within k / all gold",
    meaning=phrase("The share of a question's gold that stands in {where}.", where=WHERE),
    from_matches=_recall,
    options={"rel": REL, **LISTS},
    pooled=PooledCounts.recall,
    rises_with_matches=True,
)
F1 = Metric(
    name="f1",
    question="How good is the balance of precision and recall?",
    formula="harmonic mean of the query's precision and recall; 0 when both are 0",
    meaning=phrase("Precision and recall of {where} in one number.", where=WHERE),
    from_matches=_f1,
    options={"over": OVER, "rel": REL, "macro": MACRO, **LISTS},
    pooled=PooledCounts.f1,
    rises_with_matches=lambda spec: spec["macro"] == "queries",
)


def _map(view: TableView, spec: MetricSpec) -> Floats:
    match spec["norm"]:
        case "hits":
            return ratio(view.precision_sum(spec["credit"]), view.hits(spec["credit"]))
        case "cut":
            # Over min(m, k), so no more than k hits may count.
            depths = np.minimum(view.cuts[:, None], view.n_gold)
            return ratio(view.precision_sum(spec["credit"], at_most_k=True), depths)
    return ratio(view.precision_sum(spec["credit"]), view.n_gold.astype(np.float64))


MAP = Metric(
    name="map",
    question="How early is all of the gold found?",
    formula="(1/m) * sum over the gold found within k, in order of rank c, of i / max(c_i, i)",
    meaning=phrase(
        "How early the gold stands in {where}: 1 if all of it is at the top.", where=WHERE
    ),
    from_matches=_map,
    options={"norm": NORM, "rel": REL, "credit": CREDIT, **LISTS},
    # Over its hits alone a late hit lowers the mean of them.
    rises_with_matches=lambda spec: spec["norm"] != "hits",
)
NDCG = Metric(
    name="ndcg",
    question="How close is the order to the best possible one, grades considered?",
    formula="discounted gain of the gold found within k / the same with all gold found at once",
    meaning=phrase(
        "How early the gold stands in {where}, the more of it and the better graded the higher: 1 "
        "is the best order.",
        where=WHERE,
    ),
    from_matches=ndcg,
    options={"gain": GAIN, "gain_from": GAIN_FROM, "ideal": IDEAL, **LISTS},
    # A score is a gain whether it matches or not, and an ideal of what came moves with it.
    rises_with_matches=lambda spec: spec["ideal"] != "retrieved" and spec["gain"] != "score",
)


REDUNDANCY = Metric(
    name="redundancy",
    question="How many of the relevant documents say nothing new?",
    formula="documents that match only gold found before / relevant documents; undefined without",
    meaning=phrase("The share of the relevant documents that say nothing new."),
    from_matches=lambda view, _: ratio(view.redundant, view.relevant, empty=np.nan),
    options={"rel": REL, **LISTS},
    better="lower",
    may_be_undefined=True,
)
