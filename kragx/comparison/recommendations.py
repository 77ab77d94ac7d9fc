"""What follows from a comparison, and what does not: each with the numbers that it rests on."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison, Recommendation
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import TOLERANCE, queries_needed
from kragx.comparison.view import Difference, Leader
from kragx.metrics import METRICS, Bools, known_metric
from kragx.printing import number

FEW = 10
"""A slice of fewer queries says next to nothing."""

_GAP = 0.05
_RATIO = 1.5
_FULL = 0.99
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")
_SPEED = tuple(name for name, metric in METRICS.items() if "second" in metric.unit)


def recommend(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> tuple[Recommendation, ...]:
    """All that the numbers say about what to do, the most important first.

    Args:
        comparison: of the retrievers.
        scores: the same retrievers, for what single queries show.
    """
    advice = (
        verdict(comparison),
        _cost(comparison),
        *_routing(comparison),
        *_weak_slices(comparison),
        _small_slices(comparison),
        _saturated(comparison),
        *_what_is_found(comparison, scores),
        _reranking(comparison),
    )
    return tuple(each for each in advice if each is not None)


def _cost(comparison: Comparison) -> Recommendation | None:
    """What the best takes longer than the fastest, or the fastest of those that tie with it."""
    leader, primary, means = comparison.leader, comparison.primary, comparison.overall.means
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if leader is None or metric is None or primary in _SPEED:
        return None
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    tied = [leader.best, *(name for name in leader.tied if means[name][primary].value)]
    candidates = tied if leader.tied else comparison.retrievers
    seconds = {name: value for name in candidates if (value := means[name][metric].value)}
    if leader.best not in seconds:
        return None
    fastest = min(seconds, key=seconds.__getitem__)
    slow, fast = seconds[leader.best], seconds[fastest]
    if slow / fast < _RATIO:
        return None
    times = f"{number(fast)} s against {number(slow)} s ({metric})"
    if leader.tied:
        text = (
            f"Of those that cannot be told apart in {primary}, {fastest} is the fastest: {times} "
            f"of {leader.best}, {slow / fast:.1f} times less."
        )
    else:
        text = (
            f"{leader.best} takes {slow / fast:.1f} times as long as {fastest}: {times}. What that "
            f"buys: in {primary} the {leader.against(fastest).text}."
        )
    return Recommendation(
        "cost",
        text,
        values={
            "metric": metric,
            "best": leader.best,
            "best_seconds": slow,
            "fastest": fastest,
            "fastest_seconds": fast,
            "ratio": slow / fast,
            "tied": bool(leader.tied),
        },
    )


def _routing(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices in which another retriever is best; that there is none, if so."""
    metric, overall = comparison.primary, comparison.leader
    if overall is None or not comparison.slices:
        return
    others = [
        (part, leader)
        for part in comparison.slices
        if (leader := part.leaders.get(metric)) and leader.decided and leader.best != overall.best
    ]
    for part, leader in others:
        text = (
            f"For {part.field} = {part.label} ({part.n} queries) {leader.best} is better than "
            f"every other retriever in {metric}, unlike over all queries; to {overall.best} the "
            f"{leader.against(overall.best).text}. Consider choosing the retriever by {part.field}."
        )
        yield Recommendation(
            "routing",
            text,
            values={
                "field": part.field,
                "value": part.value,
                "best": leader.best,
                "metric": metric,
            },
        )
    if not others:
        text = (
            f"The data does not support choosing a retriever by {', '.join(comparison.fields)}: in "
            f"no slice another one than {overall.best} is clearly best in {metric}."
        )
        yield Recommendation(
            "no_routing",
            text,
            supported=False,
            values={"fields": list(comparison.fields), "metric": metric},
        )


def _weak_slices(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices whose interval lies on the worse side of that over all queries."""
    metric, name = comparison.primary, comparison.best
    whole = comparison.overall.means[name][metric]
    for part in comparison.slices:
        own = part.means[name][metric]
        less, more = (whole, own) if comparison.better[metric] == "lower" else (own, whole)
        if part.n < FEW or less.high is None or more.low is None or less.high >= more.low:
            continue
        text = (
            f"{name} is clearly worse for {part.field} = {part.label}: {metric} is {own} on its "
            f"{part.n} queries, against {whole} over all. Look there first."
        )
        yield Recommendation(
            "weak_slice",
            text,
            values={
                "field": part.field,
                "value": part.value,
                "retriever": name,
                "metric": metric,
                "mean": own.value,
                "n": part.n,
            },
        )


def _small_slices(comparison: Comparison) -> Recommendation | None:
    if not (small := [part for part in comparison.slices if part.n < FEW]):
        return None
    names = listed([f"{part.field} = {part.label} ({part.n})" for part in small])
    text = (
        f"Too few queries to say anything about {names}; add questions until each has {FEW} or "
        "more."
    )
    slices = [[part.field, part.value, part.n] for part in small]
    return Recommendation("small_slices", text, supported=False, values={"slices": slices})


def _saturated(comparison: Comparison) -> Recommendation | None:
    """The shares in which every retriever is as good as can be."""
    full = [
        metric
        for metric in comparison.metrics
        if (known := known_metric(metric)) is not None
        and known.is_share
        and all((means[metric].value or 0) >= _FULL for means in comparison.overall.means.values())
    ]
    if not full or len(comparison.retrievers) == 1:
        return None
    text = (
        f"Every retriever has nearly the highest value in {listed(full)}: harder questions or a "
        "smaller k would tell them apart."
    )
    return Recommendation("saturated", text, values={"metrics": full})


def _what_is_found(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> Iterator[Recommendation]:
    """The queries for which nothing is found: by nobody, or by all but the best."""
    depths = _by_depth(comparison, "recall", "hit_rate")
    if not depths or (metric := depths[-1][-1]) in comparison.run_level:
        return
    table = np.hstack([own.table([metric], comparison.query_ids) for own in scores])
    found, known = table > TOLERANCE, ~np.isnan(table).any(axis=1)
    n = int(known.sum())

    def ids(rows: Bools | np.bool) -> list[str]:
        return [comparison.query_ids[row] for row in np.flatnonzero(rows)]

    nowhere = ids(known & ~found.any(axis=1))
    if nowhere:
        subject = "queries have" if len(nowhere) > 1 else "query has"
        every = "every retriever" if len(scores) > 1 else "the retriever"
        text = (
            f"{len(nowhere)} of {n} {subject} {metric} = 0 for {every} ({listed(nowhere, 5)}): "
            "look at their gold and at the corpus before tuning a retriever."
        )
        yield Recommendation(
            "unfound", text, values={"metric": metric, "n": n, "query_ids": nowhere}
        )
    missed = known & ~found[:, comparison.retrievers.index(comparison.best)]
    gained = ids(missed & found.any(axis=1))
    if gained and len(gained) >= n / 50 and comparison.leader is not None:
        text = (
            f"Of the {int(missed.sum())} queries with {metric} = 0 for {comparison.best} another "
            f"retriever finds something for {len(gained)}; a combination could gain those at most."
        )
        yield Recommendation(
            "combination",
            text,
            values={"metric": metric, "best": comparison.best, "query_ids": gained},
        )


def _by_depth(comparison: Comparison, *names: str) -> list[tuple[float, bool, str]]:
    """The metrics of these names by their k, infinite for the whole list, recall after others.

    Those with options or a budget are none of them.
    """
    return sorted(
        (float(k or "inf"), name == "recall", metric)
        for metric in comparison.metrics
        for name, _, k in [metric.partition("@")]
        if name in names and (k.isdigit() or not k)
    )


def _reranking(comparison: Comparison) -> Recommendation | None:
    """How much gold stands further down, which another order could bring up."""
    recalls = _by_depth(comparison, "recall")
    if len(recalls) < 2 or (comparison.leader is None and len(comparison.retrievers) > 1):
        return None
    name, near, far = comparison.best, recalls[0][-1], recalls[-1][-1]
    means = comparison.overall.means[name]
    low, high = means[near].value, means[far].value
    if low is None or high is None or high - low < _GAP:
        return None
    text = (
        f"{name} finds more gold further down: {far} is {number(high)}, {near} is {number(low)}. "
        f"Reranking could raise {near} by {number(high - low)} at most."
    )
    values = {"retriever": name, "near": near, "far": far, "near_value": low, "far_value": high}
    return Recommendation("reranking", text, values=values)


def verdict(comparison: Comparison) -> Recommendation:
    """Which retriever is best in the first metric, or that the data does not say."""
    metric, leader = comparison.primary, comparison.leader
    if len(comparison.retrievers) == 1:
        text = "There is one retriever, and so nothing to choose between; add another to compare."
        return Recommendation("one_retriever", text, supported=False)
    if leader is None:
        text = f"{metric} has no direction or no value, so it does not say which retriever is best."
        return Recommendation("no_winner", text, supported=False, values={"metric": metric})
    best, rival = comparison.overall.means[leader.best][metric], _nearest_rival(comparison, leader)
    values: dict[str, Any] = {
        "metric": metric,
        "best": leader.best,
        "value": best.value,
        "low": best.low,
        "high": best.high,
        "n": best.n,
        "tied": list(leader.tied),
        "next": rival.against,
        "difference": rival.value,
        "difference_low": rival.low,
        "difference_high": rival.high,
        "p_adjusted": rival.p_adjusted,
    }
    if leader.decided:
        text = (
            f"Use {leader.best}: in {metric} it is better than every other retriever, with {best}. "
            f"The next is {rival.against}; the {rival.text}."
        )
        return Recommendation("winner", text, values=values)
    needed = _queries_needed(comparison, rival) if leader.tested else None
    text = _undecided(leader, rival, str(best))
    if needed is not None and needed > rival.n:
        text += (
            f" If the difference is as large as it seems, about {needed:,} queries would show it "
            f"(there are {rival.n:,})."
        )
    values["queries_needed"] = needed
    return Recommendation("no_winner", text, supported=False, values=values)


def _undecided(leader: Leader, rival: Difference, best: str) -> str:
    metric, ties = leader.metric, _ties(leader)
    if ties and all(tie.never_differs for tie in ties):
        return (
            f"{listed([leader.best, *leader.tied])} have the same value for every query in "
            f"{metric}, {best} on average; the data does not say which is best."
        )
    text = (
        f"The data does not say which retriever is best in {metric}: {leader.best} has the best "
        f"value, {best}, but "
    )
    if not leader.tested:
        return f"{text}it is a run's own number, which is not tested."
    if rival.never_differs:
        distance = f"; {rival.against} has the same value for every query"
    else:
        start = ": the" if len(leader.tied) == 1 else f"; to {rival.against} the"
        distance = f"{start} {rival.text}"
    return f"{text}cannot be told from {listed(leader.tied)}{distance}."


def _ties(leader: Leader) -> list[Difference]:
    return [difference for difference in leader.differences if difference.against in leader.tied]


def _queries_needed(comparison: Comparison, rival: Difference) -> int | None:
    """How many queries would decide between the leader and the one that comes next."""
    if rival.effect is None:
        return None
    # By how much the least p of the leaders' tests is multiplied.
    n_tests = sum(
        each.p is not None
        for leader in comparison.overall.leaders.values()
        for each in leader.differences
    )
    if comparison.statistics.correction == "none":
        n_tests = 1
    return queries_needed(rival.effect, 1 - comparison.statistics.alpha / max(1, n_tests))


def _nearest_rival(comparison: Comparison, leader: Leader) -> Difference:
    """The leader against the one that comes next, tied ones first."""
    means, sign = comparison.overall.means, -1 if comparison.better[leader.metric] == "lower" else 1

    def value(difference: Difference) -> float:
        mean = means[difference.against][leader.metric].value
        return -np.inf if mean is None else sign * mean

    return max(_ties(leader) or leader.differences, key=value)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a sentence: ``a, b and c``."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
