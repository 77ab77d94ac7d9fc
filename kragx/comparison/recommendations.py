"""What follows from a comparison, and what does not: each with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison
from kragx.comparison.estimate import Difference
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import TOLERANCE, queries_needed
from kragx.comparison.view import Leader
from kragx.metrics import METRICS, known_metric
from kragx.printing import Line, Result, number

FEW = 10
"""A slice of fewer queries says next to nothing."""

_GAP = 0.05
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")
_SPEED = tuple(name for name, metric in METRICS.items() if "second" in metric.unit)
_FOUND = ("recall", "hit_rate")


@dataclass(frozen=True)
class Recommendation(Result):
    """One sentence or two of advice.

    Attributes:
        kind: ``winner``, ``no_winner``, ``one_retriever``, ``cost``, ``routing``, ``no_routing``,
            ``weak_slice``, ``small_slices``, ``unfound``, ``combination``, ``reranking``,
            ``saturated``.
        text: as people read it.
        supported: whether the data carries it; False for what it does not say.
        values: the numbers and names in it.
    """

    kind: str
    text: str
    supported: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> Iterator[Line]:
        """Its text, with ``?`` before what the data does not carry."""
        yield Line(self.text, item="-" if self.supported else "?")


def recommend(
    comparison: Comparison, scored: Sequence[RetrieverScores]
) -> tuple[Recommendation, ...]:
    """All that the numbers say about what to do, the most important first.

    Args:
        comparison: of the retrievers.
        scored: the same retrievers, for what single queries show.
    """
    return tuple(
        each
        for rule in (_winner, _cost, _routing, _weak_slices, _small_slices, _saturated)
        for each in rule(comparison)
    ) + tuple(each for rule in (_unfound, _reranking) for each in rule(comparison, scored))


def verdict(comparison: Comparison) -> Recommendation:
    """Which retriever is best in the first metric, or that the data does not say."""
    return next(_winner(comparison))


def _winner(comparison: Comparison) -> Iterator[Recommendation]:
    metric = comparison.primary
    leader = comparison.overall.leaders.get(metric)
    if len(comparison.retrievers) == 1:
        text = "There is one retriever, and so nothing to choose between; add another to compare."
        yield Recommendation("one_retriever", text, supported=False)
        return
    if leader is None:
        text = f"{metric} has no direction or no value, so it does not say which retriever is best."
        yield Recommendation("no_winner", text, supported=False, values={"metric": metric})
        return
    best = comparison.overall.means[leader.best][metric]
    second = _nearest_rival(comparison, leader)
    values = {
        "metric": metric,
        "best": leader.best,
        "value": best.value,
        "low": best.low,
        "high": best.high,
        "n": best.n,
        "tied": list(leader.tied),
        "next": second.against,
        "difference": second.value,
        "difference_low": second.low,
        "difference_high": second.high,
        "p_adjusted": second.p_adjusted,
    }
    if leader.decided:
        text = (
            f"Use {leader.best}: in {metric} it is better than every other retriever, with "
            f"{best}. The next is {second.against}; the {second.text}."
        )
        yield Recommendation("winner", text, values=values)
        return
    needed = None
    if leader.tested and second.effect is not None:
        needed = queries_needed(
            second.effect, 1 - comparison.statistics.alpha / _n_tests(comparison)
        )
    values["queries_needed"] = needed
    tied = [each for each in leader.differences if each.against in leader.tied]
    if tied and all(difference.never_differs for difference in tied):
        text = (
            f"{_listed([leader.best, *leader.tied])} have the same value for every query in "
            f"{metric}, {best} on average; the data does not say which is best."
        )
        yield Recommendation("no_winner", text, supported=False, values=values)
        return
    if second.never_differs:
        rival = f"; {second.against} has the same value for every query"
    else:
        start = ": the" if len(leader.tied) == 1 else f"; to {second.against} the"
        rival = f"{start} {second.text}"
    text = (
        f"The data does not say which retriever is best in {metric}: {leader.best} has the best "
        f"value, {best}, but "
        + (
            f"cannot be told from {_listed(leader.tied)}{rival}."
            if leader.tested
            else "it is a run's own number, which is not tested."
        )
    )
    if needed is not None and needed > second.n:
        text += (
            f" If the difference is as large as it seems, about {needed:,} queries would show it "
            f"(there are {second.n:,})."
        )
    yield Recommendation("no_winner", text, supported=False, values=values)


def _n_tests(comparison: Comparison) -> int:
    """By how much the least p of the leaders' tests is multiplied."""
    if comparison.statistics.correction == "none":
        return 1
    leaders = comparison.overall.leaders.values()
    return max(1, sum(each.p is not None for leader in leaders for each in leader.differences))


def _nearest_rival(comparison: Comparison, leader: Leader) -> Difference:
    """The leader against the one that comes next, tied ones first."""
    rivals = [each for each in leader.differences if each.against in leader.tied]
    means, sign = comparison.overall.means, -1 if comparison.better[leader.metric] == "lower" else 1

    def value(found: Difference) -> float:
        shown = means[found.against][leader.metric].value
        return -np.inf if shown is None else sign * shown

    return max(rivals or leader.differences, key=value)


def _cost(comparison: Comparison) -> Iterator[Recommendation]:
    leader = comparison.overall.leaders.get(comparison.primary)
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if leader is None or metric is None or comparison.primary in _SPEED:
        return
    seconds = {name: each[metric].value for name, each in comparison.overall.means.items()}
    means = comparison.overall.means
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    useful = [name for name in leader.tied if means[name][comparison.primary].value]
    candidates = [leader.best, *useful] if leader.tied else list(comparison.retrievers)
    known = {name: seconds[name] for name in candidates if seconds[name]}
    if leader.best not in known or len(known) < 2:
        return
    fastest = min(known, key=lambda name: known[name] or 0.0)
    ratio = (known[leader.best] or 0.0) / (known[fastest] or 1.0)
    if ratio < 1.5:
        return
    values = {
        "metric": metric,
        "best": leader.best,
        "best_seconds": known[leader.best],
        "fastest": fastest,
        "fastest_seconds": known[fastest],
        "ratio": ratio,
        "tied": bool(leader.tied),
    }
    times = f"{number(known[fastest])} s against {number(known[leader.best])} s ({metric})"
    if leader.tied:
        text = (
            f"Of those that cannot be told apart in {comparison.primary}, {fastest} is the "
            f"fastest: {times} of {leader.best}, {ratio:.1f} times less."
        )
    else:
        loss = next(each for each in leader.differences if each.against == fastest)
        text = (
            f"{leader.best} takes {ratio:.1f} times as long as {fastest}: {times}. What that buys: "
            f"in {comparison.primary} the {loss.text}."
        )
    yield Recommendation("cost", text, values=values)


def _routing(comparison: Comparison) -> Iterator[Recommendation]:
    metric = comparison.primary
    overall = comparison.overall.leaders.get(metric)
    if overall is None or not comparison.slices:
        return
    found = False
    for part in comparison.slices:
        leader = part.leaders.get(metric)
        if leader is None or not leader.decided or leader.best == overall.best:
            continue
        found = True
        beaten = next(each for each in leader.differences if each.against == overall.best)
        text = (
            f"For {part.field} = {part.label} ({part.n} queries) {leader.best} is better than "
            f"every other retriever in {metric}, unlike over all queries; to {overall.best} the "
            f"{beaten.text}. Consider choosing the retriever by {part.field}."
        )
        values = {"field": part.field, "value": part.value, "best": leader.best, "metric": metric}
        yield Recommendation("routing", text, values=values)
    if not found:
        fields = ", ".join(comparison.fields)
        text = (
            f"The data does not support choosing a retriever by {fields}: in no slice another one "
            f"than {overall.best} is clearly best in {metric}."
        )
        yield Recommendation(
            "no_routing",
            text,
            supported=False,
            values={"fields": list(comparison.fields), "metric": metric},
        )


def _weak_slices(comparison: Comparison) -> Iterator[Recommendation]:
    metric = comparison.primary
    leader = comparison.overall.leaders.get(metric)
    name = comparison.retrievers[0] if leader is None else leader.best
    whole = comparison.overall.means[name][metric]
    for part in comparison.slices:
        own = part.means[name][metric]
        pairs = [(own.high, whole.low), (whole.high, own.low)]
        if comparison.better[metric] == "lower":
            pairs.reverse()
        upper, lower = pairs[0]
        if part.n < FEW or upper is None or lower is None or upper >= lower:
            continue
        text = (
            f"{name} is clearly worse for {part.field} = {part.label}: {metric} is "
            f"{own} on its {part.n} queries, against {whole} over all. "
            "Look there first."
        )
        values = {
            "field": part.field,
            "value": part.value,
            "retriever": name,
            "metric": metric,
            "mean": own.value,
            "n": part.n,
        }
        yield Recommendation("weak_slice", text, values=values)


def _small_slices(comparison: Comparison) -> Iterator[Recommendation]:
    small = [each for each in comparison.slices if each.n < FEW]
    if small:
        listed = [f"{each.field} = {each.label} ({each.n})" for each in small]
        text = (
            f"Too few queries to say anything about {_listed(listed)}; "
            f"add questions until each has {FEW} or more."
        )
        yield Recommendation(
            "small_slices",
            text,
            supported=False,
            values={"slices": [[each.field, each.value, each.n] for each in small]},
        )


def _saturated(comparison: Comparison) -> Iterator[Recommendation]:
    full = [
        metric
        for metric in comparison.metrics
        if len(comparison.retrievers) > 1
        and (known := known_metric(metric)) is not None
        and known.is_share
        and all((each[metric].value or 0) >= 0.99 for each in comparison.overall.means.values())
    ]
    if full:
        text = (
            f"Every retriever has nearly the highest value in {_listed(full)}: harder questions or "
            "a smaller k would tell them apart."
        )
        yield Recommendation("saturated", text, values={"metrics": full})


def _unfound(comparison: Comparison, scored: Sequence[RetrieverScores]) -> Iterator[Recommendation]:
    metric = _deepest(comparison)
    if metric is None or metric in comparison.run_level:
        return
    values = _rows(comparison, scored, metric)
    found = values > TOLERANCE
    scoreable = ~np.isnan(values).any(axis=0)
    nowhere = np.flatnonzero(scoreable & ~found.any(axis=0))
    n = int(scoreable.sum())
    if nowhere.size:
        ids = [comparison.query_ids[row] for row in nowhere]
        subject = "queries have" if len(ids) > 1 else "query has"
        every = "every retriever" if len(scored) > 1 else "the retriever"
        text = (
            f"{len(ids)} of {n} {subject} {metric} = 0 for {every} ({_listed(ids, 5)}): look at "
            "their gold and at the corpus before tuning a retriever."
        )
        yield Recommendation("unfound", text, values={"metric": metric, "n": n, "query_ids": ids})
    leader = comparison.overall.leaders.get(comparison.primary)
    if leader is None:
        return
    own = [each.name for each in scored].index(leader.best)
    others = np.delete(found, own, axis=0).any(axis=0)
    gained = np.flatnonzero(scoreable & ~found[own] & others)
    if gained.size and gained.size >= n / 50:
        ids = [comparison.query_ids[row] for row in gained]
        text = (
            f"Of the {int((scoreable & ~found[own]).sum())} queries with {metric} = 0 for "
            f"{leader.best} another retriever finds something for {len(ids)}; a combination could "
            "gain those at most."
        )
        yield Recommendation(
            "combination", text, values={"metric": metric, "best": leader.best, "query_ids": ids}
        )


def _deepest(comparison: Comparison) -> str | None:
    """The metric that says at the greatest depth whether anything was found."""
    deepest: tuple[float, int, str] | None = None
    for metric in comparison.metrics:
        name, k = _cut(metric)
        if name in _FOUND and k is not None:
            deepest = max(deepest or (0, 0, ""), (k, -_FOUND.index(name), metric))
    return None if deepest is None else deepest[2]


def _cut(metric: str) -> tuple[str, float | None]:
    """A metric's name and its k, infinite for the whole list; None with options or a budget."""
    name, _, rest = metric.partition("@")
    if "(" in metric or not (rest.isdigit() or not rest):
        return name, None
    return name, float(rest) if rest else np.inf


def _reranking(
    comparison: Comparison, scored: Sequence[RetrieverScores]
) -> Iterator[Recommendation]:
    cuts = ((*_cut(metric), metric) for metric in comparison.metrics)
    recalls = sorted((k, metric) for name, k, metric in cuts if name == "recall" and k is not None)
    leader = comparison.overall.leaders.get(comparison.primary)
    if len(recalls) < 2 or (leader is None and len(scored) > 1):
        return
    name = scored[0].name if leader is None else leader.best
    (_, near), (_, far) = recalls[0], recalls[-1]
    means = comparison.overall.means[name]
    low, high = means[near].value, means[far].value
    if low is None or high is None or high - low < _GAP:
        return
    text = (
        f"{name} finds more gold further down: {far} is {high:.4f}, {near} is {low:.4f}. Reranking "
        f"could raise {near} by {high - low:.4f} at most."
    )
    values = {"retriever": name, "near": near, "far": far, "near_value": low, "far_value": high}
    yield Recommendation("reranking", text, values=values)


def _rows(comparison: Comparison, scored: Sequence[RetrieverScores], metric: str) -> Any:
    """(retrievers, queries) values in the order of the comparison's queries."""
    rows = []
    for each in scored:
        at = {query_id: row for row, query_id in enumerate(each.query_ids)}
        rows.append(each.values[metric][[at[query_id] for query_id in comparison.query_ids]])
    return np.stack(rows)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = list(names[:most])
    rest = len(names) - len(shown)
    if rest:
        return ", ".join(shown) + f" and {rest} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" and {shown[-1]}"
