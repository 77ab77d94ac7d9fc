"""The engine: every metric at every cut-off from one match table, in one pass."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from kragx.data.lists import Bools, Floats, Ints
from kragx.data.searches import ListName, Order
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import UsageError
from kragx.ground.printing import message
from kragx.metrics.evidence import Evidence, TextBudget
from kragx.metrics.match_table import MatchTable, PooledCounts, TableView, harmonic
from kragx.metrics.profiles import KRAGX, LEFT_OUT, Profile
from kragx.metrics.ranking_metrics import PRECISION, RECALL
from kragx.metrics.scores import (
    MetricScores,
    Unknown,
    bounds_of,
    number_of,
    with_bounds,
    with_no_gold,
)
from kragx.metrics.search_scores import search_scores
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.tool_names import BY_DOCUMENT
from kragx.metrics.weights import weighted_mean


class MetricWarning(UserWarning):
    """A number is not what it seems, because the profile reproduces another tool."""


def compute(
    table: MatchTable,
    specs: Sequence[MetricSpec],
    profile: Profile = KRAGX,
    evidence: Evidence | None = None,
) -> tuple[MetricScores, ...]:
    """Compute each metric for every query.

    Args:
        table: the matches of q queries.
        specs: the metrics.
        profile: says what becomes of queries without gold and of repeated documents; what the
            metrics mean is in the specs.
        evidence: of the same matches; None if no metric needs it.

    Raises:
        UsageError: a metric needs evidence, and there is none.
        DataError: a query has no gold and the profile refuses it; or a gain is not finite.
    """
    # Metrics of one list that are computed in one way are computed together, so that what they
    # share, views and pooled counts, is made once.
    groups: dict[tuple[str, _List, TextBudget | None], list[int]] = {}
    for place, spec in enumerate(specs):
        budget, way, named = spec.budget, spec.metric.way, None
        if evidence is None and (budget is not None or way != "from_matches"):
            raise UsageError(
                "metric {spec!r} looks at documents, which a match table does not hold; "
                "use evaluate",
                spec=str(spec),
            )
        if spec["of"] is not None or spec.metric.reads_forbidden:
            named = _list_of(spec, evidence)
        groups.setdefault((way, named, budget), []).append(place)
    scores: dict[int, MetricScores] = {}
    for (way, named, budget), places in groups.items():
        group = [*map(specs.__getitem__, places)]
        if evidence is None:
            # One False stands for all questions wherever arrays meet, however many there are.
            nothing = np.zeros(1, bool)
            questions = _Questions(profile, nothing, table.n_docs)
            computed: Iterable[MetricScores] = _from_matches(table, group, questions)
        else:
            computed = _on_list(table, way, group, profile, evidence, named, budget)
        scores.update(zip(places, computed))
    if profile.credit != KRAGX.credit:
        warn_above_1(scores.values())
    return tuple(map(scores.__getitem__, range(len(specs))))


_List = tuple[ListName, Order] | None
"""A list that a metric is about; None for the basis."""


class _Questions(NamedTuple):
    """Which questions have values, and what becomes of those without gold.

    Attributes:
        profile: says what becomes of those, and of repeated documents.
        left_out: (q) which have none, as nobody knows their list, or they only ask for what must
            not be found; one False where all have some.
        n_came: (q) how many documents came in the end.
    """

    profile: Profile
    left_out: Bools
    n_came: Ints


def _list_of(spec: MetricSpec, evidence: Evidence | None) -> _List:
    """The list that a metric is about, if it is another one than the basis.

    What must not come is looked for in what any search brought.

    Raises:
        UsageError: nothing is known of searches.
    """
    searches = None if evidence is None else evidence.searches
    if spec.metric.reads_forbidden and searches is not None:
        return "all", "turns"
    named = spec["of"]
    if named is not None and searches is None:
        raise UsageError(
            "metric {spec!r} is about a list of searches, and none were looked at",
            remedy="name it when you call evaluate",
            spec=str(spec),
        )
    is_basis = searches is None or named == searches.basis
    return None if is_basis else (named, spec["order"] or "turns")


def _on_list(
    table: MatchTable,
    way: str,
    specs: Sequence[MetricSpec],
    profile: Profile,
    evidence: Evidence,
    named: _List,
    budget: TextBudget | None,
) -> Iterable[MetricScores]:
    """Metrics that are computed in one way, of a list cut at a rank, at a budget or not at all."""
    subject, uncut = evidence if named is None else evidence.of(*named), specs
    if budget is not None:
        subject, uncut = subject.within(budget), [replace(spec, k=None) for spec in specs]
    if subject is not evidence:
        table = subject.table
    searches, probes = evidence.searches, probes_of(subject)
    is_unknown = np.zeros(1, bool)  # where nobody searches everybody's list is known
    if searches is not None:
        is_unknown = ~searches.places(*(named or ())).is_there
    n_came = table.n_docs if subject.searches is None else subject.searches.n_came
    questions = _Questions(profile, probes | is_unknown, n_came)
    computed: Iterable[MetricScores]
    match way:
        case "from_matches":
            computed = _from_matches(table, uncut, questions)
        case "from_relevance":
            computed = _from_relevance(subject, uncut, questions)
        case "from_searches":
            computed = search_scores(subject, uncut, profile, probes)
        case _:
            computed = (_from_evidence(subject, spec, probes, is_unknown) for spec in uncut)
    # Under the metrics as they were asked for: of those that a budget cut no k is left.
    return (replace(score, spec=spec) for spec, score in zip(specs, computed))


def warn_above_1(scores: Iterable[MetricScores]) -> None:
    """Warn of metrics that are above 1 for some queries, as those of a profile may be."""
    for score in scores:
        # Sums of fractions may pass 1 in the last bit, which says nothing of a profile.
        above = int((score.values > 1.0 + 1e-12).sum())
        if above and score.spec.metric.from_matches is not None and score.spec.metric.is_share:
            warnings.warn(
                message(
                    "{metric} is above 1 for {n} queries: it credits every matching document, also "
                    "several that match the same gold (profile kragx credits each gold once)",
                    metric=str(score.spec),
                    n=above,
                ),
                MetricWarning,
                stacklevel=outside(),
            )


def _from_evidence(
    evidence: Evidence, spec: MetricSpec, probes: Bools, is_unknown: Bools
) -> MetricScores:
    metric, table = spec.metric, evidence.table
    weights = table.weights
    if metric.from_run is not None:
        nothing = np.full(table.n_queries, np.nan)
        return MetricScores(spec, nothing, metric.from_run(evidence), weights=weights)
    assert metric.from_evidence is not None  # one of the ways is given
    concerned = metric.concerns(table.unanswerable)
    if not metric.reads_forbidden:
        concerned = concerned & ~probes & (metric.of_answers | ~is_unknown)
    values = np.where(concerned, metric.from_evidence(evidence, spec), np.nan)
    maxima = None if metric.maximum is None else metric.maximum(evidence, spec)
    ends = None if metric.extremes is None else metric.extremes(evidence, spec)
    bounds = None if ends is None else bounds_of(*ends, weights)
    return MetricScores(
        spec,
        values,
        number_of(metric, values, bounds, weights=weights),
        bounds=bounds,
        maxima=None if maxima is None else np.where(concerned, maxima, np.nan),
        extremes=ends if metric.reads_forbidden else None,
        counts={} if metric.counts is None else metric.counts(evidence, spec),
        weights=weights,
    )


def probes_of(evidence: Evidence) -> Bools:
    """(q) which queries only ask for what must not be found: no other metric is of them.

    Those without gold for which something could be found; whoever says that nothing answers one
    means it for other metrics as well. One False, for all, where nothing is forbidden.
    """
    if evidence.forbidden is None:
        return np.zeros(1, bool)
    return evidence.forbidden.probes(evidence.table)


def _from_relevance(
    evidence: Evidence, specs: Sequence[MetricSpec], questions: _Questions
) -> Iterator[MetricScores]:
    """Metrics of judged relevance, of the queries that were judged; of others there is no value.

    Raises:
        UsageError: nothing was judged, or not as far down as a metric looks.
    """
    judged, n_queries = evidence.relevance, evidence.table.n_queries
    for spec in specs:
        deep = judged is not None and judged.depth
        if judged is None or (deep and (spec.rank is None or spec.rank > deep)):
            raise UsageError(
                "metric {spec!r}: relevance was judged for the first {n} documents; name it for "
                "evaluate"
                if deep
                else "metric {spec!r}: relevance was not judged; name it for evaluate",
                spec=str(spec),
                n=deep,
            )
    assert judged is not None
    # A query in which nothing is relevant has no gold there, and 0 of it is what was asked.
    rules = replace(questions.profile, no_gold="zero", no_gold_hits=False, rel=judged.cut)
    at_cut = [
        spec.with_options(rel=judged.cut) if spec.options.get("rel", judged.cut) is None else spec
        for spec in specs
    ]
    # It may be the one False that stands for all, which has no rows to pick.
    left_out = np.broadcast_to(questions.left_out, n_queries)[judged.rows]
    weights = evidence.table.weights
    table = replace(judged.table, weights=None if weights is None else weights[judged.rows])
    for score in _from_matches(table, at_cut, _Questions(rules, left_out, table.n_docs)):
        values = np.full(n_queries, np.nan)
        values[judged.rows] = score.values
        yield replace(score, values=values, no_gold=None, weights=weights)


def _from_matches(
    table: MatchTable, specs: Sequence[MetricSpec], questions: _Questions
) -> list[MetricScores]:
    """Compute metrics of the match table alone, with bounds where not all of it is known."""
    if not table.has_unknown and table.votes is None:
        return _score_metrics(table, specs, questions)
    scored = partial(_score_metrics, specs=specs, questions=questions)
    return with_bounds(table, questions.profile, scored, _between)


def _between(unknown: Unknown, low: MetricScores, high: MetricScores) -> MetricScores:
    """The estimate of a metric with its bounds, from its scores at both extremes."""
    score = unknown.between(low, high)
    if score.bounds is None and low.mean is not None and low.spec.metric.limits is None:
        warnings.warn(
            message(
                "{metric} has no mean: judgements are missing, and nothing bounds it; say what "
                "does: @measure(range=(0, 1))",
                metric=str(low.spec),
            ),
            MetricWarning,
            stacklevel=outside(),
        )
    return score


def _score_metrics(
    table: MatchTable, specs: Sequence[MetricSpec], questions: _Questions
) -> list[MetricScores]:
    """Metrics of a table that is known whole, at every cut-off at once.

    What several metrics need is made once: a view and the pooled counts for each `rel`, which
    decides what is gold; a block of (c, q) values for each metric, as the same metric at another k
    is another row of it.
    """
    # Lists are cut at budgets before; infinity stands for the whole list.
    cut_of = np.array([*map(attrgetter("k"), specs)], np.float64)  # None becomes NaN
    cuts, rows = np.unique(np.where(np.isnan(cut_of), np.inf, cut_of), return_inverse=True)
    weights = table.weights
    repeats = questions.profile.duplicates == "count"
    views: dict[float | None, TableView] = {}
    pooled: dict[float | None, list[PooledCounts]] = {}
    blocks: dict[str, Floats] = {}
    scores = []
    for spec, row in zip(specs, rows.tolist()):
        metric, rel = spec.metric, spec["rel"]
        if rel not in views:
            views[rel] = TableView(table, cuts, rel, count_repeats=repeats)
        view, uncut = views[rel], replace(spec, k=None, label="")
        if (name := str(uncut)) not in blocks:
            blocks[name] = _block(view, uncut, questions)
        values = blocks[name][row]
        mean = metric.number(values, weights)
        if spec["macro"] == "means" and mean is not None:  # as K-RAG's F1
            shared = (_shared(part, uncut) for part in (PRECISION, RECALL))
            parts = (_block(view, part, questions)[row] for part in shared)
            mean = harmonic(*(weighted_mean(of_part, weights) or 0.0 for of_part in parts))
        counts = micro = None
        if metric.pooled is not None:
            if rel not in pooled:
                pooled[rel] = _pooled(view, questions)
            counts = pooled[rel][row]
            micro = None if mean is None else metric.pooled(counts)  # nothing over nothing is not 0
        is_others = spec.label and spec.name not in BY_DOCUMENT
        score = MetricScores(
            spec,
            values,
            mean,
            view.empty & ~questions.left_out,
            counts,
            micro,
            not_one_to_one=int(view.not_one_to_one.sum()) if is_others else 0,
            weights=weights,
        )
        scores.append(score)
    return scores


def _block(view: TableView, spec: MetricSpec, questions: _Questions) -> Floats:
    """(c, q) the values of a metric; NaN where a query has none."""
    from_view, left_out = spec.metric.from_matches or spec.metric.from_relevance, questions.left_out
    assert from_view is not None  # only those come here
    empty = view.empty & ~left_out
    values = from_view(view, spec)
    if empty.any():
        n_came, profile = questions.n_came, questions.profile
        values = with_no_gold(values, empty, view.table, n_came, spec, profile)
    return np.where(left_out, np.nan, values) if left_out.any() else values


def _shared(metric: Metric, spec: MetricSpec) -> MetricSpec:
    """A metric with the options that the spec of another one has."""
    return replace(spec, metric=metric, options={name: spec[name] for name in metric.options})


def _pooled(view: TableView, questions: _Questions) -> list[PooledCounts]:
    """The four counts at each cut-off, over the queries that are scored."""
    scored = ~questions.left_out & np.ones_like(view.empty)
    if questions.profile.no_gold in LEFT_OUT:
        scored &= ~view.empty
    weights = view.table.weights
    query_weights = 1 if weights is None else weights[scored]
    gold = (view.n_gold[scored] * query_weights).sum().item()
    relevant = (view.relevant[:, scored] * query_weights).sum(axis=1)
    other = (view.depth[:, scored] * query_weights).sum(axis=1) - relevant
    found = (view.found[:, scored] * query_weights).sum(axis=1)
    columns = relevant.tolist(), other.tolist(), found.tolist(), (gold - found).tolist()
    return [*map(PooledCounts, *columns)]
