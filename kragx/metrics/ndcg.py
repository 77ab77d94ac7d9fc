"""nDCG: how close the order is to the best possible one, grades considered."""

import numpy as np

from kragx.data.lists import Floats, Ints
from kragx.ground.errors import DataError
from kragx.metrics.spec import MetricSpec
from kragx.metrics.table_view import TableView, count_within, order_within, ratio

_FEW = 32
"""Gains below this are counted where they are whole; from there on one sort is as fast."""


def ndcg(view: TableView, spec: MetricSpec) -> Floats:
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
    ideal_dcg = view.discounted(of_ideal, order_within(of_ideal), best)
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


def _gain(grades: Floats, gain: str) -> Floats:
    return np.exp2(grades) - 1.0 if gain == "exp2" else grades


def _gains(view: TableView, gain: str) -> Floats:
    """(g) the gain of each gold item, 0 of what is none."""
    grades = np.where(view.is_gold, view.table.grade, 0.0)
    # What overflows is infinite, and is told below with the query that has it.
    with np.errstate(over="ignore"):
        gains = _gain(grades, gain)
        sums = np.bincount(view.gold_query, gains, minlength=view.table.n_queries)
    if not np.isfinite(sums).all():
        query = int(np.flatnonzero(~np.isfinite(sums))[0])
        grade = grades[view.gold_query == query].max()
        raise DataError(
            "query number {value}: a grade of {grade:g} gives a gain ({gain}) that is "
            "not finite; use smaller grades or gain=linear",
            value=query + 1,
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
    layer = count_within(of_query, begins) - 1
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
    level, heights = _levels(view, queries, _gain(grades, gain))
    total = view.zeros()
    for layer, height in enumerate(heights):
        reach = level >= layer
        first = view.first_rank(golds[reach], ranks[reach])
        # A gold item counts once in a layer: where a grade that reaches it comes first.
        new = reach & (first[golds] == ranks)
        credited = np.maximum(ranks[new], order_within(queries[new]))
        total += height * view.discounted(queries[new], credited)
    return total, _gain(np.array([view.table.top]), gain) * _ones(view)


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
            "query number {value} has no gold, and K-RAG's nDCG of ROUGE scores "
            "does not exist for it; leave ndcg out, or use the profile 'kragx'",
            value=int(without[0]) + 1,
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
