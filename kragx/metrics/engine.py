"""The engine: every metric at every cut-off from one match table, in one pass."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from kragx.data.searches import ListName, Order
from kragx.errors import UsageError
from kragx.metrics.evidence import Evidence, TextBudget
from kragx.metrics.match_table import Bools, Floats, Ints, MatchTable
from kragx.metrics.no_gold import with_no_gold
from kragx.metrics.profiles import KRAGX, Profile
from kragx.metrics.ranking_metrics import PRECISION, RECALL
from kragx.metrics.scores import MetricScores, Unknown, by_votes, extremes, number_of
from kragx.metrics.search_scores import search_scores
from kragx.metrics.spec import Metric, MetricSpec, Value
from kragx.metrics.table_view import PooledCounts, TableView, harmonic
from kragx.metrics.tool_names import BY_DOCUMENT
from kragx.metrics.weights import counting, weighted_mean
from kragx.printing import phrase
from kragx.warned import outside


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
    groups: dict[tuple[_List, TextBudget | None], list[MetricSpec]] = {}
    for spec in specs:
        if spec.needs_evidence and evidence is None:
            raise UsageError(
                f"metric {str(spec)!r} looks at documents, which a match table does not hold; "
                "use evaluate"
            )
        groups.setdefault((_list_of(spec, evidence), spec.budget), []).append(spec)
    scores: dict[MetricSpec, MetricScores] = {}
    for (named, budget), group in groups.items():
        on_list, seen = table, evidence
        if named is not None and evidence is not None:
            seen = evidence.of(*named)
            on_list = seen.table
        is_unknown = _is_unknown(named, evidence)
        if budget is None or seen is None:
            computed = _computed(on_list, group, profile, seen, is_unknown)
        else:
            uncut = [replace(spec, k=None) for spec in group]
            within = seen.within(budget)
            computed = _computed(within.table, uncut, profile, within, is_unknown)
        scores |= {spec: replace(score, spec=spec) for spec, score in zip(group, computed)}
    warn_above_1(scores.values())
    return tuple(scores[spec] for spec in specs)


_List = tuple[ListName, Order] | None
"""A list that a metric is about; None for the basis."""


def _list_of(spec: MetricSpec, evidence: Evidence | None) -> _List:
    """The list that a metric is about, if it is another one than the basis.

    What must not come is looked for in what any search brought.

    Raises:
        UsageError: nothing is known of searches.
    """
    if spec.metric.reads_forbidden and evidence is not None and evidence.searches is not None:
        return "all", "turns"
    named = spec["of"]
    if named is None:
        return None
    if evidence is None or evidence.searches is None:
        raise UsageError(
            f"metric {str(spec)!r} is about a list of searches, and none were looked at",
            remedy="name it when you call evaluate",
        )
    return None if named == evidence.searches.basis else (named, spec["order"] or "turns")


def _is_unknown(named: _List, evidence: Evidence | None) -> Bools:
    """(q) of which questions nobody knows the list; one False where all is known."""
    if evidence is None or evidence.searches is None:
        return np.zeros(1, bool)
    return ~evidence.searches.places(*(named or ())).is_there


def warn_above_1(scores: Iterable[MetricScores]) -> None:
    """Warn of metrics that are above 1 for some queries, as those of a profile may be."""
    for score in scores:
        above = int((score.values > 1.0 + 1e-12).sum())
        if above and score.spec.metric.from_matches is not None and score.spec.metric.is_share:
            warnings.warn(
                phrase(
                    "{metric} is above 1 for {n} queries: it credits every matching document, also "
                    "several that match the same gold (profile kragx credits each gold once)",
                    metric=str(score.spec),
                    n=above,
                ),
                MetricWarning,
                stacklevel=outside(),
            )


def _computed(
    table: MatchTable,
    specs: Sequence[MetricSpec],
    profile: Profile,
    evidence: Evidence | None,
    is_unknown: Bools,
) -> list[MetricScores]:
    """Compute each metric of lists that are cut at a rank, or not at all.

    `is_unknown` says of which questions nobody knows the list.
    """
    of_matches = [spec for spec in specs if spec.metric.from_matches is not None]
    left_out = probes_of(evidence) | is_unknown
    searches = None if evidence is None else evidence.searches
    n_came = table.n_docs if searches is None else searches.n_came
    scores = dict(zip(of_matches, _from_matches(table, of_matches, profile, left_out, n_came)))
    if evidence is not None:
        judged = [spec for spec in specs if spec.metric.from_relevance is not None]
        if judged:
            scores |= dict(zip(judged, _from_relevance(evidence, judged, profile, left_out)))
        of_searches = [spec for spec in specs if spec.metric.from_searches is not None]
        if of_searches:
            computed = search_scores(evidence, of_searches, profile, probes_of(evidence))
            scores |= dict(zip(of_searches, computed))
        remaining = (spec for spec in specs if spec not in scores)
        scores |= {spec: _from_evidence(evidence, spec, is_unknown) for spec in remaining}
    return [scores[spec] for spec in specs]


def _from_evidence(evidence: Evidence, spec: MetricSpec, is_unknown: Bools) -> MetricScores:
    metric = spec.metric
    weights = evidence.table.weights
    if metric.from_run is not None:
        nothing = np.full(evidence.table.n_queries, np.nan)
        return MetricScores(spec, nothing, metric.from_run(evidence), weights=weights)
    assert metric.from_evidence is not None  # one of the three is given
    concerned = metric.concerns(evidence.table.unanswerable)
    if not metric.reads_forbidden:
        concerned = concerned & ~probes_of(evidence)
        if not metric.of_answers:
            concerned = concerned & ~is_unknown

    def own(of_queries: Floats) -> Floats:
        return of_queries if concerned.all() else np.where(concerned, of_queries, np.nan)

    values = own(metric.from_evidence(evidence, spec))
    maxima = None if metric.maximum is None else own(metric.maximum(evidence, spec))
    if metric.extremes is None:
        number = number_of(metric, values, weights=weights)
        return MetricScores(spec, values, number, maxima=maxima, weights=weights)
    low, high = metric.extremes(evidence, spec)
    bounds = bounds_of(low, high, weights)
    number = number_of(metric, values, bounds, weights=weights)
    counts = {} if metric.counts is None else metric.counts(evidence, spec)
    ends = (low, high) if metric.reads_forbidden else None
    return MetricScores(
        spec,
        values,
        number,
        bounds=bounds,
        maxima=maxima,
        extremes=ends,
        counts=counts,
        weights=weights,
    )


def probes_of(evidence: Evidence | None) -> Bools:
    """(q) which queries only ask for what must not be found: no other metric is of them.

    Those without gold for which something could be found; whoever says that nothing answers one
    means it for other metrics as well. Without evidence one False, for all.
    """
    if evidence is None or evidence.forbidden is None:
        return np.zeros(1, bool)
    return evidence.forbidden.probes(evidence.table)


def bounds_of(
    low: Floats, high: Floats, weights: Floats | None = None
) -> tuple[float, float] | None:
    """Between which means values lie; None where all of them are known."""
    if np.array_equal(counting(low, weights)[0], counting(high, weights)[0]):
        return None
    lowest, greatest = weighted_mean(low, weights), weighted_mean(high, weights)
    return None if lowest is None or greatest is None else (lowest, greatest)


def _from_relevance(
    evidence: Evidence, specs: Sequence[MetricSpec], profile: Profile, left_out: Bools
) -> Iterator[MetricScores]:
    """Metrics of judged relevance, of the queries that were judged; of others there is no value.

    Raises:
        UsageError: nothing was judged, or not as far down as a metric looks.
    """
    judged = evidence.relevance
    for spec in specs:
        deep = judged is not None and judged.depth
        if judged is None or (deep and not (isinstance(spec.k, int) and spec.k <= deep)):
            reach = f"was judged for the first {deep} documents" if deep else "was not judged"
            raise UsageError(f"metric {str(spec)!r}: relevance {reach}; name it for evaluate")
    assert judged is not None
    # A query in which nothing is relevant has no gold there, and 0 of it is what was asked.
    rules = replace(profile, no_gold="zero", no_gold_hits=False, rel=judged.cut)
    extreme_scores = [
        spec.with_options(rel=judged.cut) if spec.options.get("rel", judged.cut) is None else spec
        for spec in specs
    ]
    left_out = np.broadcast_to(left_out, evidence.table.n_queries)[judged.rows]
    weights = evidence.table.weights
    table = replace(judged.table, weights=None if weights is None else weights[judged.rows])
    for spec, score in zip(
        specs, _from_matches(table, extreme_scores, rules, left_out, table.n_docs)
    ):
        values = np.full(evidence.table.n_queries, np.nan)
        values[judged.rows] = score.values
        yield replace(score, spec=spec, values=values, no_gold=None, weights=weights)


def _from_matches(
    table: MatchTable,
    specs: Sequence[MetricSpec],
    profile: Profile,
    left_out: Bools,
    n_came: Ints,
) -> Sequence[MetricScores]:
    """Compute metrics of the match table alone, with bounds where not all of it is known."""
    if not table.has_unknown:
        scores = _score_metrics(table, specs, profile, left_out, n_came)
    else:
        scores = _between(
            Unknown.of(table, profile), extremes(table), specs, profile, left_out, n_came
        )
    if table.votes is None:
        return scores
    open_ = Unknown.of_votes(table, table.votes)
    reach = _between(open_, by_votes(table, table.votes), specs, profile, left_out, n_came)
    return [
        replace(score, vote_bounds=wide.bounds) for score, wide in zip(scores, reach, strict=True)
    ]


def _between(
    unknown: Unknown,
    extreme: tuple[MatchTable, MatchTable],
    specs: Sequence[MetricSpec],
    profile: Profile,
    left_out: Bools,
    n_came: Ints,
) -> list[MetricScores]:
    """The estimate of each metric with its bounds, of a table with both its extremes."""
    lows, highs = (
        _score_metrics(extremes, specs, profile, left_out, n_came) for extremes in extreme
    )
    scores = [unknown.between(low, high) for low, high in zip(lows, highs, strict=True)]
    for low, score in zip(lows, scores):
        if score.bounds is None and low.mean is not None and low.spec.metric.limits is None:
            warnings.warn(
                phrase(
                    "{metric} has no mean: judgements are missing, and nothing bounds it; say what "
                    "does: @measure(range=(0, 1))",
                    metric=str(low.spec),
                ),
                MetricWarning,
                stacklevel=outside(),
            )
    return scores


def _score_metrics(
    table: MatchTable,
    specs: Sequence[MetricSpec],
    profile: Profile,
    left_out: Bools,
    n_came: Ints,
) -> list[MetricScores]:
    """Metrics of a table that is known whole, at every cut-off at once.

    What several metrics need is made once: a view and the pooled counts for each `rel`, which
    decides what is gold; a block, (c, q) values and (c) means, for each metric, as the same metric
    at another k is another row of it.
    """
    cuts = sorted({_cut(spec) for spec in specs})

    @cache
    def view(rel: float | None) -> TableView:
        return TableView(table, cuts, rel, count_repeats=profile.duplicates == "count")

    @cache
    def block(uncut: MetricSpec) -> tuple[Floats, list[float | None]]:
        from_view = uncut.metric.from_matches or uncut.metric.from_relevance
        assert from_view is not None  # only those come here
        uncut_view = view(uncut["rel"])
        values = from_view(uncut_view, uncut)
        values = with_no_gold(values, uncut_view.empty & ~left_out, table, n_came, uncut, profile)
        if left_out.any():
            values = np.where(left_out, np.nan, values)
        return values, means(values, table.weights)

    @cache
    def pooled(rel: float | None) -> list[PooledCounts]:
        return _pooled(view(rel), left_out, skip_no_gold=profile.leaves_out_no_gold)

    def score(spec: MetricSpec) -> MetricScores:
        metric, rel, row = spec.metric, spec["rel"], cuts.index(_cut(spec))
        uncut = replace(spec, k=None, label="")
        values, means = block(uncut)
        mean = means[row]
        if spec["macro"] == "means":  # as K-RAG's F1
            precision, recall = (
                block(replace(uncut, metric=part, options=_shared(part, spec)))[1][row]
                for part in (PRECISION, RECALL)
            )
            if precision is not None and recall is not None:
                mean = harmonic(precision, recall)
        no_gold = view(rel).empty & ~left_out
        scores = MetricScores(spec, values[row], mean, no_gold, weights=table.weights)
        if spec.label and spec.name not in BY_DOCUMENT:
            scores = replace(scores, not_one_to_one=int(view(rel).not_one_to_one.sum()))
        if metric.pooled is None:
            return scores
        counts = pooled(rel)[row]
        micro = None if mean is None else metric.pooled(counts)  # nothing over nothing is not 0
        return replace(scores, pooled=counts, micro=micro)

    return [score(spec) for spec in specs]


def _shared(metric: Metric, spec: MetricSpec) -> dict[str, Value]:
    """The options of a metric with the values that the spec of another one has."""
    return {name: spec[name] for name in metric.options}


def _pooled(view: TableView, left_out: Bools, *, skip_no_gold: bool) -> list[PooledCounts]:
    """The four counts at each cut-off, over the queries that are scored."""
    scored = ~left_out & (~view.empty if skip_no_gold else np.ones_like(view.empty))
    weights = view.table.weights
    asks = 1 if weights is None else weights[scored]
    gold = (view.n_gold[scored] * asks).sum().item()
    sums = (
        (block[:, scored] * asks).sum(axis=1).tolist()
        for block in (view.relevant, view.depth, view.found)
    )
    return [
        PooledCounts(relevant, depth - relevant, n_found, gold - n_found)
        for relevant, depth, n_found in zip(*sums, strict=True)
    ]


def _cut(spec: MetricSpec) -> float:
    """The cut-off as a rank; infinity for the whole list."""
    assert not isinstance(spec.k, TextBudget)  # lists are cut there before
    return np.inf if spec.k is None else float(spec.k)


def means(values: Floats, weights: Floats | None = None) -> list[float | None]:
    """The mean of each row of (c, q) values, of those that are defined; None without any."""
    if weights is None and values.shape[1] and not np.isnan(values).any():
        return [float(mean) for mean in values.mean(axis=1)]
    return [weighted_mean(row, weights) for row in values]
