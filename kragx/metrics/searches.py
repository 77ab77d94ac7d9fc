"""Of somebody who searches several times: what came, in which step, in vain or not, at what cost.

A step is what ran side by side; a search without documents counts as one, and where nothing is
known of a question's searches it has no value. Who failed found nothing.
"""

from collections.abc import Callable, Mapping
from math import isinf

import numpy as np

from kragx.data.lists import Bools, Floats
from kragx.ground.printing import message
from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import ratio
from kragx.metrics.ranking_metrics import NEED, REL
from kragx.metrics.search_table import NEVER, Cost, SearchView
from kragx.metrics.spec import Metric, MetricSpec, Option, number, of_sums
from kragx.metrics.weights import counting

SEARCH_K = Option(None, read=number("a whole number above 0", lambda value: value > 0, int))
"""How many documents of each search count; None for all."""


def _unmeasured(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
    """Of how many questions with gold nothing is known of what their searches brought."""
    is_known = view.is_known(spec.rank)
    return {"n_unmeasured": int((~is_known & (view.n_gold > 0)).sum())}


def _evidence_recall(view: SearchView, spec: MetricSpec) -> Floats:
    n = spec.rank
    is_within = view.is_found if n is None else view.gold_step <= n
    n_found = view.of_queries(view.gold_query[is_within])
    return np.where(view.is_known(n), ratio(n_found, view.n_gold, empty=np.nan), np.nan)


def _first_search(view: SearchView, spec: MetricSpec) -> Floats:
    step = view.first_step(spec["need"])
    values = np.where(step == NEVER, 0.0, 1.0 / step)
    return np.where((view.n_gold > 0) & view.is_known(), values, np.nan)


def _median_step(values: Floats, weights: Floats | None, counts: Mapping[str, int]) -> str:
    """The step by which half of the asks have what they need."""
    with np.errstate(divide="ignore"):  # what never comes has a step beyond all others
        step = percentile(50)(1 / values, weights)
    if step is None:
        return ""
    return message("median: never") if isinf(step) else message("median: step {n:.3g}", n=step)


EVIDENCE_RECALL = Metric(
    name="evidence_recall",
    question="How much of the gold came within the first n searches?",
    formula="gold that a document of the first n steps matches / all gold (k=x: of the first x "
    "documents of each search); undefined where it is not known what any of these brought",
    meaning=message(
        "The share of a question's gold that its searches brought together; with @n those up to "
        "step n."
    ),
    from_searches=_evidence_recall,
    counts=_unmeasured,
    options={"k": SEARCH_K, "rel": REL},
    rises_with_matches=True,
)
FIRST_SEARCH = Metric(
    name="first_search",
    question="Which search is the first that brings gold?",
    formula="1 / step of the first search that brings gold (need=all: that completes it), 0 if "
    "none does",
    meaning=message(
        "How early a search brings gold: 1 if the first always does, 0.5 if the second does."
    ),
    from_searches=_first_search,
    counts=_unmeasured,
    aside=_median_step,
    options={"need": NEED, "rel": REL},
    cuts=False,
    rises_with_matches=True,
    rises_with_gold=lambda spec: spec["need"] == "any",
)


def _in_vain(values: Floats, weights: Floats | None, counts: Mapping[str, int]) -> str:
    return message("in vain: {n}", n=n) if (n := counts.get("n_in_vain", 0)) else ""


def _rescue(view: SearchView, spec: MetricSpec) -> Floats:
    is_rescuable = (view.n_gold > 0) & view.is_known(1) & (view.first_step() > 1)
    return np.where(is_rescuable, view.n_found > 0, np.nan)


def _rescue_counts(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
    has_gold, is_first = view.n_gold > 0, view.first_step() == 1
    is_open = has_gold & ~is_first & ~view.is_known(1)
    return {"n_at_once": int((has_gold & is_first).sum()), "n_unmeasured": int(is_open.sum())}


def _waste(view: SearchView, spec: MetricSpec) -> Floats:
    wasted = ratio(view.n_steps - view.last_new, view.n_steps)
    return np.where(view.n_found > 0, wasted, np.nan)


def _waste_counts(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
    in_vain = (view.n_gold > 0) & (view.n_found == 0) & view.is_known()
    return {"n_in_vain": int(in_vain.sum()), **_unmeasured(view, spec)}


def _repeated(view: SearchView, spec: MetricSpec) -> Floats:
    places, n_again = view.repeats
    return ratio(n_again, places, empty=np.nan)


def _repeated_counts(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
    places, _ = view.repeats
    return {"n_without_later": int((places == 0).sum())}


RESCUE = Metric(
    name="rescue",
    question="How often does a later search find gold where the first finds none?",
    formula="of questions whose first step brings no gold: 1 if a later one does, else 0; "
    "undefined for others",
    meaning=message(
        "Where the first search brings no gold: how often a later one does. Few may need it."
    ),
    from_searches=_rescue,
    counts=_rescue_counts,
    options={"rel": REL},
    better="neither",
    cuts=False,
    undefined_by_gold=True,
)
WASTE = Metric(
    name="waste",
    question="How many of the searches come after the last that brings something new?",
    formula="steps after the last that brings new gold / all steps; undefined where none does (in "
    "vain)",
    meaning=message(
        "The share of the steps that come after all gold that was found. Searches in vain are not "
        "in it."
    ),
    from_searches=_waste,
    counts=_waste_counts,
    aside=_in_vain,
    options={"rel": REL},
    better="lower",
    cuts=False,
)
REPEATED = Metric(
    name="repeated",
    question="How much of what later searches bring has come before?",
    formula="places in steps after the first that hold a document of an earlier step / all places "
    "there; undefined without any",
    meaning=message("The share of what later searches bring that an earlier step had brought."),
    from_searches=_repeated,
    counts=_repeated_counts,
    better="lower",
    cuts=False,
    rises_with_matches=True,
    rises_with_gold=True,
)


# Tokens and seconds that nobody says are not known, nor is then what the question cost. What was
# not found is censored: it took longer than anything, and never cheap. So there are percentiles
# alone of what it took, and of costs a sum over a sum.


def _measured(view: SearchView) -> Bools:
    return (view.n_gold > 0) & view.is_known()


def _uncounted(view: SearchView, spec: MetricSpec, costs: Floats) -> Mapping[str, int]:
    """Of how many questions nobody says what they cost (q), or what their searches brought."""
    n_uncounted = int((_measured(view) & np.isnan(costs)).sum())
    return {"n_uncounted": n_uncounted, **_unmeasured(view, spec)}


def percentile(percent: int) -> Callable[[Floats, Floats | None], float | None]:
    """The least value that so many of 100 asks do not exceed; infinity where they are too few."""

    def number(values: Floats, weights: Floats | None = None) -> float | None:
        values, weights = counting(values, weights)
        if not values.size:
            return None
        # Infinity comes last: what was never found is dearer than all that was.
        order = np.argsort(values, kind="stable")
        asks_so_far = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
        return float(values[order][np.searchsorted(asks_so_far, percent / 100 * asks_so_far[-1])])

    return number


def _to_evidence(cost: Cost, percent: int, meaning: str) -> Metric:
    def values(view: SearchView, spec: MetricSpec) -> Floats:
        last = view.first_step(spec["need"])
        costs = np.where(last == NEVER, np.inf, view.until(cost, last))
        # Were those alone left out whose last steps say nothing, more would seem found.
        is_counted = ~np.isnan(view.until(cost)) | ~view.searches.table.answered
        return np.where(_measured(view) & is_counted, costs, np.nan)

    def counts(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
        costs = values(view, spec)
        n_never = int(np.isinf(costs).sum())
        return {"n_never": n_never, **_uncounted(view, spec, costs)}

    return Metric(
        name=f"{cost}_to_evidence" + ("" if percent == 50 else f"_p{percent}"),
        question=f"Within how many {cost} do {percent} of 100 questions have evidence?",
        formula=f"percentile {percent} of the {cost} up to and including the step that brings the "
        "first gold (need=all: that completes it); never where fewer find it",
        meaning=meaning,
        from_searches=values,
        counts=counts,
        number=percentile(percent),
        options={"need": NEED, "rel": REL},
        range=(0.0, None),
        unit=cost,
        better="lower",
        cuts=False,
        reads_tokens=cost == "tokens",
    )


TOKENS_TO_EVIDENCE = _to_evidence(
    "tokens",
    50,
    message("Half of the questions have gold within this many tokens; never: fewer do."),
)
TOKENS_TO_EVIDENCE_P90 = _to_evidence(
    "tokens", 90, message("90 of 100 questions have gold within this many tokens; never: fewer do.")
)
SECONDS_TO_EVIDENCE = _to_evidence(
    "seconds", 50, message("Half of the questions have gold within this time; never: fewer do.")
)
SECONDS_TO_EVIDENCE_P90 = _to_evidence(
    "seconds", 90, message("90 of 100 questions have gold within this time; never: fewer do.")
)


def _per_gold(cost: Cost, meaning: str) -> Metric:
    def ratio(view: SearchView, spec: MetricSpec) -> Ratio:
        return Ratio(view.until(cost), view.n_found.astype(np.float64)).of(_measured(view))

    return Metric(
        name=f"{cost}_per_gold",
        question=f"How many {cost} does a found gold item cost?",
        formula=f"{cost} of all questions / gold items found in them, all over all",
        meaning=meaning,
        from_searches=ratio,
        counts=lambda view, spec: _uncounted(view, spec, view.until(cost)),
        number=of_sums,
        apart=False,
        options={"rel": REL},
        range=(0.0, None),
        unit=cost,
        better="lower",
        cuts=False,
        reads_tokens=cost == "tokens",
    )


TOKENS_PER_GOLD = _per_gold(
    "tokens",
    meaning=message("All tokens of all searches, per gold item found."),
)
SECONDS_PER_GOLD = _per_gold(
    "seconds",
    meaning=message("All seconds of all searches, per gold item found."),
)
SEARCHES_PER_GOLD = _per_gold(
    "searches",
    meaning=message("All searches, per gold item found; one tried again counts once."),
)
