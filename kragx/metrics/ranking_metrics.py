"""Hit rate, MRR, precision, recall, F1, MAP, nDCG, redundancy: of the match table alone.

With the options that they share.
"""

from typing import get_args

import numpy as np

from kragx.data.lists import Floats, Ints
from kragx.data.searches import ListName, Order
from kragx.ground.errors import DataError
from kragx.ground.printing import message
from kragx.metrics.match_table import PooledCounts, RowPlace, TableView, order_within, ratio
from kragx.metrics.spec import WHERE, Metric, MetricSpec, Option, above_0

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
    meaning=message("The share of questions with gold in {where}.", where=WHERE),
    from_matches=_hit_rate,
    options={"need": NEED, "rel": REL, **LISTS},
    rises_with_matches=True,
    rises_with_gold=lambda spec: spec["need"] == "any",
)


def _mrr(view: TableView, spec: MetricSpec) -> Floats:
    queries, ranks, _ = view.found_items
    first = np.flatnonzero(np.diff(queries, prepend=-1))
    return view.sums(view.found_cells[first], 1.0 / ranks[first])


MRR = Metric(
    name="mrr",
    question="How high is the first answer?",
    formula="1 / rank of the first relevant document within k, 0 if there is none",
    meaning=message(
        "How early the first gold stands in {where}: 1 if it is always first, 0.5 if second.",
        where=WHERE,
    ),
    from_matches=_mrr,
    options={"rel": REL, **LISTS},
    rises_with_matches=True,
    rises_with_gold=True,
)


def _precision(view: TableView, spec: MetricSpec) -> Floats:
    if spec["over"] == "retrieved":
        return ratio(view.relevant, view.depth)
    cuts = view.cuts[:, None]
    return ratio(view.relevant, np.where(np.isinf(cuts), view.table.n_docs, cuts))


def _recall(view: TableView, spec: MetricSpec) -> Floats:
    return ratio(view.found, view.n_gold.astype(np.float64))


def _f1(view: TableView, spec: MetricSpec) -> Floats:
    precision, recall = _precision(view, spec), _recall(view, spec)
    return ratio(2 * precision * recall, precision + recall)


PRECISION = Metric(
    name="precision",
    question="How much of the top k is useful?",
    formula="relevant documents in the top k / k (over=retrieved: / min(k, n))",
    meaning=message("The share of {where} that is relevant.", where=WHERE),
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
    meaning=message("The share of a question's gold that stands in {where}.", where=WHERE),
    from_matches=_recall,
    options={"rel": REL, **LISTS},
    pooled=PooledCounts.recall,
    rises_with_matches=True,
)
F1 = Metric(
    name="f1",
    question="How good is the balance of precision and recall?",
    formula="harmonic mean of the query's precision and recall; 0 when both are 0",
    meaning=message("Precision and recall of {where} in one number.", where=WHERE),
    from_matches=_f1,
    options={"over": OVER, "rel": REL, "macro": MACRO, **LISTS},
    pooled=PooledCounts.f1,
    rises_with_matches=lambda spec: spec["macro"] == "queries",
)


def _map(view: TableView, spec: MetricSpec) -> Floats:
    match spec["norm"]:
        case "hits":
            hits = view.found if spec["credit"] == "gold" else view.relevant
            return ratio(view.precision_sum(spec["credit"]), hits)
        case "cut":
            # Over min(m, k), so no more than k hits may count.
            depths = np.minimum(view.cuts[:, None], view.n_gold)
            return ratio(view.precision_sum(spec["credit"], at_most_k=True), depths)
    return ratio(view.precision_sum(spec["credit"]), view.n_gold.astype(np.float64))


MAP = Metric(
    name="map",
    question="How early is all of the gold found?",
    formula="(1/m) * sum over the gold found within k, in order of rank c, of i / max(c_i, i)",
    meaning=message(
        "How early the gold stands in {where}: 1 if all of it is at the top.", where=WHERE
    ),
    from_matches=_map,
    options={"norm": NORM, "rel": REL, "credit": CREDIT, **LISTS},
    # Over its hits alone a late hit lowers the mean of them.
    rises_with_matches=lambda spec: spec["norm"] != "hits",
)
_FEW = 32
"""Gains below this are counted where they are whole; from there on one sort is as fast."""


def _ndcg(view: TableView, spec: MetricSpec) -> Floats:
    """(c, q) nDCG with a spec's gains and ideal; 0 where the ideal is.

    Raises:
        DataError: a gain, or a query's sum of gains, is not finite; or the ideal is what was
            ``retrieved``, and a query with documents has no gold.
    """
    match spec["ideal"]:
        case "ones":
            if spec["gain"] == "score":
                return ratio(_score_dcg(view), _ones(view))
            queries, ranks, _ = view.relevant_docs
            return ratio(view.discounted(queries, ranks), _ones(view))
        case "retrieved":
            return ratio(_score_dcg(view), _best_score_dcg(view))
    judged = spec["gain_from"] == "judge"
    dcg, ideal = _judged_dcg(view, spec["gain"]) if judged else _dcg(view, spec["gain"])
    # Rounding can leave the two sums an ulp apart; no ranking is better than the ideal one.
    return np.minimum(ratio(dcg, ideal), 1.0)


def _dcg(view: TableView, gain: str) -> tuple[Floats, Floats]:
    """(c, q) DCG and ideal DCG, at most t gold items credited within the first t ranks.

    DCG@k is the sum over t <= k of (T_t - T_(t-1)) / log2(1 + t), where T_t is the sum of the
    t largest gains among gold items with c_j <= t. That sum is taken in layers: between one
    gain and the next smaller one, T_t holds that difference min(t, F_t) times, F_t being the
    number of items that reach the layer with c_j <= t; so the i-th such item counts at rank
    max(c_i, i).

    Raises:
        DataError: a gain, or a query's sum of gains, is not finite.
    """
    gains = _gains(view, gain)
    queries, ranks, golds = view.found_items
    ideal = np.flatnonzero(view.is_gold)
    of_ideal = view.gold_query[ideal]
    # Where no item of a query has to wait for its rank, all layers of each are credited at c.
    best = _best_first(view, of_ideal, gains[ideal])
    dcg = view.sums(view.found_cells, gains[golds] * view.discount[ranks])
    order = order_within(of_ideal)
    ideal_dcg = view.sums(view.cells(of_ideal, order), best * view.discount[order])
    waits = np.zeros(view.table.n_queries, bool)
    waits[queries[order_within(queries) > ranks]] = True
    if waits.any():  # for these alone, as the two ways may differ in the last bit
        waiting, items = waits[queries], ideal[waits[of_ideal]]
        level, query_of_item = np.zeros(len(gains), np.int64), view.gold_query[items]
        level[items], heights = _levels(view, query_of_item, gains[items])
        layered = (
            _layered(view, queries[waiting], ranks[waiting], level[golds[waiting]], heights),
            _layered(view, query_of_item, np.ones_like(items), level[items], heights),
        )
        dcg[:, waits], ideal_dcg[:, waits] = (total[:, waits] for total in layered)
    return dcg, ideal_dcg


def _gains(view: TableView, gain: str) -> Floats:
    """(g) the gain of each gold item, 0 of what is none."""
    grades = np.where(view.is_gold, view.table.grade, 0.0)
    # What overflows is infinite, and is told below with the query that has it.
    with np.errstate(over="ignore"):
        gains = np.exp2(grades) - 1.0 if gain == "exp2" else grades
        sums = np.bincount(view.gold_query, gains, minlength=view.table.n_queries)
    if not np.isfinite(sums).all():
        query = int(np.flatnonzero(~np.isfinite(sums))[0])
        grade = grades[view.gold_query == query].max()
        raise DataError(
            "a grade of {grade:g} gives a gain ({gain}) that is not finite; use smaller grades or "
            "gain=linear",
            field=RowPlace(query),
            grade=grade,
            gain=gain,
        )
    return gains


def _best_first(view: TableView, queries: Ints, gains: Floats) -> Floats:
    """The gains of each query, descending; `queries` ascend."""
    top = int(min(gains.max(initial=0.0), _FEW))
    if top == _FEW or (gains != np.floor(gains)).any():
        return gains[np.lexsort((-gains, queries))]
    # A few whole numbers, the usual gains, are counted; nothing is sorted.
    n_queries = view.table.n_queries
    cells = queries * (top + 1) + (top - gains.astype(np.int64))
    counts = np.bincount(cells, minlength=n_queries * (top + 1))
    return np.repeat(np.tile(np.arange(top, -1.0, -1.0), n_queries), counts)


def _levels(view: TableView, queries: Ints, gains: Floats) -> tuple[Ints, Floats]:
    """(e) the layer that each gain reaches, and (l, q) each layer's height by query."""
    order = np.lexsort((gains, queries))
    of_query, values = queries[order], gains[order]
    # No query is -1, so that the first item begins one.
    same_query = np.diff(of_query, prepend=-1) == 0
    below = np.where(same_query, np.concatenate(([0.0], values[:-1])), 0.0)
    # Where a gain is greater than the one before, or is the query's first, a layer begins.
    begins = ~same_query | (values > below)
    count = np.cumsum(begins)
    layer = count - np.maximum.accumulate(np.where(same_query, 0, count))
    level = np.zeros(len(gains), np.int64)
    level[order] = layer
    heights = np.zeros((int(layer.max(initial=-1)) + 1, view.table.n_queries))
    heights[layer[begins], of_query[begins]] = (values - below)[begins]
    return level, heights


def _layered(view: TableView, queries: Ints, ranks: Ints, level: Ints, heights: Floats) -> Floats:
    """(c, q) the sum over layers of their heights, discounted where their items are credited."""
    total = view.zeros()
    for layer, height in enumerate(heights):
        reach = level >= layer
        of_query = queries[reach]
        credited = np.maximum(ranks[reach], order_within(of_query))
        total += view.discounted(of_query, credited, height[of_query])
    return total


def _judged_dcg(view: TableView, gain: str) -> tuple[Floats, Floats]:
    """(c, q) DCG and ideal DCG where a gold item's gain is the judge's best grade of it so far.

    As `_dcg`, with one layer for each grade that the query has: an item reaches it at the first
    rank at which it is matched with that grade. In the ideal every item has the highest grade at
    once.
    """
    _, golds, ranks = view.pairs
    queries = view.gold_query[golds]
    grades = view.table.pair_score[view.table.matched & view.countable]
    greatest = view.table.top
    if gain == "exp2":
        grades, greatest = np.exp2(grades) - 1.0, np.exp2(greatest) - 1.0
    level, heights = _levels(view, queries, grades)
    total = view.zeros()
    for layer, height in enumerate(heights):
        reach = np.flatnonzero(level >= layer)
        # A gold item counts once in a layer: where a grade that reaches it comes first.
        new = np.sort(reach[np.unique(golds[reach], return_index=True)[1]])
        credited = np.maximum(ranks[new], order_within(queries[new]))
        total += height * view.discounted(queries[new], credited)
    return total, greatest * _ones(view)


def _ones(view: TableView) -> Floats:
    """(c, q) the sum of 1 / log2(1 + i) for i = 1 to min(m, k)."""
    queries = view.gold_query[view.is_gold]
    return view.discounted(queries, order_within(queries))


def _score_gains(view: TableView) -> tuple[Ints, Ints, Floats]:
    """Every document: its query, its rank, and 2^s - 1, s its best score (matched or not)."""
    table, countable = view.table, view.countable
    best = np.zeros(len(table.repeated))
    np.maximum.at(best, table.pair_doc[countable], table.pair_score[countable])
    queries = table.doc_query
    return queries, order_within(queries), np.exp2(best) - 1.0


def _score_dcg(view: TableView) -> Floats:
    """(c, q) DCG of 2^s - 1, s a document's best score (matched or not)."""
    return view.discounted(*_score_gains(view))


def _best_score_dcg(view: TableView) -> Floats:
    """(c, q) the same documents within k in their best order; each cut-off has its own.

    Raises:
        DataError: a query has documents and no gold (K-RAG itself fails there).
    """
    without = np.flatnonzero(view.empty & (view.table.n_docs > 0))
    if without.size:
        raise DataError(
            "no gold, and without K-RAG's nDCG of ROUGE scores does not exist; leave ndcg out, or "
            "use the profile 'kragx'",
            field=RowPlace(int(without[0])),
        )
    queries, ranks, gains = _score_gains(view)
    ideal = view.zeros()
    for row, cut in enumerate(view.cuts):
        within = ranks <= cut
        of_query, of_cut = queries[within], gains[within]
        order = np.lexsort((-of_cut, of_query))  # queries stay in place, gains descend
        discounted = of_cut[order] * view.discount[ranks[within]]
        ideal[row] = np.bincount(of_query, discounted, minlength=view.table.n_queries)
    return ideal


NDCG = Metric(
    name="ndcg",
    question="How close is the order to the best possible one, grades considered?",
    formula="discounted gain of the gold found within k / the same with all gold found at once",
    meaning=message(
        "How early the gold stands in {where}, the more of it and the better graded the higher: 1 "
        "is the best order.",
        where=WHERE,
    ),
    from_matches=_ndcg,
    options={"gain": GAIN, "gain_from": GAIN_FROM, "ideal": IDEAL, **LISTS},
    # A score is a gain whether it matches or not, and an ideal of what came moves with it.
    rises_with_matches=lambda spec: spec["ideal"] != "retrieved" and spec["gain"] != "score",
)


REDUNDANCY = Metric(
    name="redundancy",
    question="How many of the relevant documents say nothing new?",
    formula="documents that match only gold found before / relevant documents; undefined without",
    meaning=message("The share of the relevant documents that say nothing new."),
    from_matches=lambda view, _: ratio(view.redundant, view.relevant, empty=np.nan),
    options={"rel": REL, **LISTS},
    better="lower",
    may_be_undefined=True,
)
