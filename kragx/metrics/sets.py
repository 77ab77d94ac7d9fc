"""Metrics that look at what is in the top k, not at its order."""

from __future__ import annotations

import numpy as np

from kragx.metrics.definitions import Metric, ratio
from kragx.metrics.spec import MetricSpec
from kragx.metrics.table import Floats
from kragx.metrics.view import View


def _hit_rate(view: View, spec: MetricSpec) -> Floats:
    needed = view.n_gold if spec.need == "all" else 1
    return ((view.found >= needed) & (view.found > 0)).astype(np.float64)


def _precision(view: View, spec: MetricSpec) -> Floats:
    return ratio(view.relevant, view.depth if spec.over == "retrieved" else view.limit)


def _recall(view: View, spec: MetricSpec) -> Floats:
    return ratio(view.found, view.n_gold.astype(np.float64))


def _f1(view: View, spec: MetricSpec) -> Floats:
    precision, recall = _precision(view, spec), _recall(view, spec)
    return ratio(2 * precision * recall, precision + recall)


def _redundancy(view: View, spec: MetricSpec) -> Floats:
    return ratio(view.redundant, view.relevant, empty=np.nan)


HIT_RATE = Metric(
    name="hit_rate",
    question="Is there anything useful in the top k?",
    formula="1 if some gold is found within k (need=all: if every gold is), else 0",
    compute=_hit_rate,
    options=("need", "rel"),
)
PRECISION = Metric(
    name="precision",
    question="How much of the top k is useful?",
    formula="relevant documents in the top k / k (over=retrieved: / min(k, n))",
    compute=_precision,
    options=("over", "rel"),
    pooled=True,
)
RECALL = Metric(
    name="recall",
    question="How much of the gold is found?",
    formula="gold found within k / all gold",
    compute=_recall,
    pooled=True,
)
F1 = Metric(
    name="f1",
    question="How good is the balance of precision and recall?",
    formula="harmonic mean of the query's precision and recall; 0 when both are 0",
    compute=_f1,
    options=("over", "rel"),
    fixed=("macro",),
    pooled=True,
)
REDUNDANCY = Metric(
    name="redundancy",
    question="How many of the relevant documents say nothing new?",
    formula="documents that match only gold found before / relevant documents; undefined without",
    compute=_redundancy,
    higher_is_better=False,
)
