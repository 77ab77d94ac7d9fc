"""R-precision, RBP, ERR, bpref and hits: what the tools of information retrieval also have.

Gold is credited once, as everywhere: a rank counts by the gold that it matches first. Where one
document matches one gold item these are the definitions of trec_eval (R-precision, bpref), of
ir_measures (RBP), of gdeval (ERR) and of ranx (hits).
"""

import numpy as np

from kragx.data.lists import Floats, Ints
from kragx.ground.errors import DataError
from kragx.ground.printing import message
from kragx.metrics.match_table import RowPlace, TableView, order_within, ratio
from kragx.metrics.ranking_metrics import LISTS, REL
from kragx.metrics.spec import WHERE, Metric, MetricSpec, Option, above_0, number, shown

_below_1 = number("a number below 1", lambda value: value < 1)

PERSISTENCE = {
    "p": Option(0.8, read=lambda text: above_0(text) and _below_1(text)),
    "rel": REL,
    **LISTS,
}
"""How likely a reader goes on to the next rank."""

GREATEST = Option(4.0, read=above_0)
"""The greatest grade of the scale: a document of that grade satisfies all but surely."""


def _r_precision(view: TableView, _spec: MetricSpec) -> Floats:
    queries, ranks, _ = view.found_items
    within = queries[ranks <= view.n_gold[queries]]
    n_found = np.bincount(within, minlength=view.table.n_queries).astype(np.float64)
    return view.at_every_cut(ratio(n_found, view.n_gold.astype(np.float64)))


R_PRECISION = Metric(
    name="r_precision",
    question="How much of the gold is in as many documents as there is gold?",
    formula="gold found within m / m, m being all gold: recall at m",
    meaning=message(
        "The share of a question's gold in its first m documents, m being how much there is."
    ),
    from_matches=_r_precision,
    options={"rel": REL, **LISTS},
    cuts=False,
    rises_with_matches=True,
)


def _chances(ranks: Ints, p: float) -> Floats:
    """How likely a reader of persistence p stops at each rank: (1 - p) p^(rank - 1)."""
    stops: Floats = (1 - p) * np.power(p, ranks - 1.0, dtype=np.float64)
    return stops


def _rbp(view: TableView, spec: MetricSpec) -> Floats:
    queries, ranks, _ = view.new_grades
    return view.sums(view.cells(queries, ranks), _chances(ranks, spec["p"]))


def _rbp_residual(view: TableView, spec: MetricSpec) -> Floats:
    table = view.table
    # What has any grade is known; all else, beyond the cut too, might have been worth a find.
    docs = np.flatnonzero(table.docs_in(table.matched))
    queries = np.searchsorted(table.doc_start, docs, side="right") - 1
    ranks = docs - table.doc_start[queries] + 1
    judged = view.sums(view.cells(queries, ranks), _chances(ranks, spec["p"]))
    return np.maximum(1.0 - judged, 0.0)


# A match more can make a document redundant that found something, so neither of them only rises.
RBP = Metric(
    name="rbp",
    question="How much does somebody find who goes on to the next rank with probability p?",
    formula="(1 - p) * sum over the ranks within k that find gold first of p^(rank - 1)",
    meaning=message(
        "What a reader finds in {where} who may stop after each document.", where=WHERE
    ),
    from_matches=_rbp,
    options=PERSISTENCE,
    beside="rbp_residual",
)
RBP_RESIDUAL = Metric(
    name="rbp_residual",
    question="How much higher could RBP be, had everything been judged?",
    formula="1 - (1 - p) * sum over the documents within k that match gold of any grade of "
    "p^(rank - 1)",
    meaning=message(
        "By how much RBP would rise if all that nobody has judged, beyond {where} too, were "
        "relevant.",
        where=WHERE,
    ),
    from_matches=_rbp_residual,
    options=PERSISTENCE,
    better="neither",
)


def _err(view: TableView, spec: MetricSpec) -> Floats:
    queries, ranks, grades = view.new_grades
    greatest, all_grades = spec["max"], view.table.grade
    if (above := np.flatnonzero(all_grades > greatest)).size:
        grade = shown(float(all_grades.max()))
        raise DataError(
            "{spec}: a grade above the greatest of the scale, {greatest}",
            field=RowPlace(int(view.gold_query[above[0]])),
            remedy="name the scale's greatest grade, for example err@10(max={grade})",
            spec=spec,
            greatest=shown(greatest),
            grade=grade,
        )
    satisfies = np.exp2(grades - greatest) - np.exp2(-greatest)
    order = order_within(queries)
    goes_on, reaches = np.ones(view.table.n_queries), np.ones_like(satisfies)
    # By place within their lists: as many rounds as one list has finds, whatever their number.
    for place in range(1, int(order.max(initial=0)) + 1):
        at_place = np.flatnonzero(order == place)
        of_query = queries[at_place]
        reaches[at_place] = goes_on[of_query]
        goes_on[of_query] *= 1 - satisfies[at_place]
    return view.sums(view.cells(queries, ranks), reaches * satisfies / ranks)


ERR = Metric(
    name="err",
    question="How early is a reader satisfied who stops at a good enough document?",
    formula="sum over the ranks within k of R / rank * the product of (1 - R) before it, with "
    "R = (2^g - 1) / 2^max of the largest grade g that the rank finds first",
    meaning=message(
        "How early in {where} a reader is satisfied, the better graded the likelier.", where=WHERE
    ),
    from_matches=_err,
    options={"max": GREATEST, **LISTS},
)


def _bpref(view: TableView, _spec: MetricSpec) -> Floats:
    non_relevant, n_queries = view.judged_not_relevant, view.table.n_queries
    n_gold = view.n_gold.astype(np.float64)
    queries, ranks, _ = view.found_items
    # Query and rank as one rising number, so that one search counts what stands before each.
    beyond = view.table.longest + 1
    places = non_relevant.found_items[0] * beyond + non_relevant.found_items[1]
    before = np.searchsorted(places, queries * beyond + ranks)
    before -= np.searchsorted(places, queries * beyond)
    n_comparable = np.minimum(non_relevant.n_gold, n_gold)[queries]
    preferred = 1.0 - np.minimum(before, n_gold[queries]) / np.maximum(n_comparable, 1.0)
    sums = np.bincount(queries, preferred, minlength=n_queries).astype(np.float64)
    values = ratio(sums, n_gold)
    return view.at_every_cut(np.where(non_relevant.empty, np.nan, values))


BPREF = Metric(
    name="bpref",
    question="Does gold stand before what was judged not relevant?",
    formula="(1/m) * sum over the gold found of 1 - min(those before it judged not relevant, m) / "
    "min(all judged not relevant, m); undefined where nothing is judged not relevant",
    meaning=message(
        "How seldom something judged not relevant stands before gold; what nobody has judged does "
        "not count."
    ),
    from_matches=_bpref,
    options={"rel": REL, **LISTS},
    cuts=False,
    undefined_by_gold=True,
)
HITS = Metric(
    name="hits",
    question="How many gold items are found?",
    formula="gold found within k, a count",
    meaning=message("How many of a question's gold items stand in {where}.", where=WHERE),
    from_matches=lambda view, _: view.found,
    options={"rel": REL, **LISTS},
    range=(0.0, None),
    rises_with_matches=True,
    rises_with_gold=True,
)
