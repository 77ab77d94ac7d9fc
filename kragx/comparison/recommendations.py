"""What follows from a comparison, and what does not: each with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison, Recommendation
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import (
    TOLERANCE,
    deciding,
    difference_interval,
    queries_needed,
)
from kragx.comparison.view import FEW, Difference, Leader
from kragx.metrics import METRICS, Bools, known_metric
from kragx.printing import number

MANY = 10
"""Beyond so many times the sample nobody can say how many queries would decide."""

_GAP = 0.05
_RATIO = 1.5
_LEAST_SECONDS = 0.001
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
    if not comparison.retrievers:
        return (verdict(comparison),)
    return (
        verdict(comparison),
        *_cost(comparison, scores),
        *_routing(comparison),
        *_weak_slices(comparison),
        *_small_slices(comparison),
        *_saturated(comparison),
        *_what_is_found(comparison, scores),
        *_reranking(comparison),
    )


def _cost(comparison: Comparison, scores: Sequence[RetrieverScores]) -> Iterator[Recommendation]:
    """What the best takes longer than the fastest, or the fastest of those that tie with it.

    Only where that is no noise: a millisecond or more, and an interval without 0, corrected for how
    many retrievers there are to be faster.
    """
    leader, primary, means = comparison.leader, comparison.primary, comparison.overall.means
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if leader is None or metric is None or primary in _SPEED:
        return
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    tied = [leader.best, *(name for name in leader.tied if means[name][primary].value)]
    candidates = tied if leader.tied else comparison.retrievers
    seconds = {name: value for name in candidates if (value := means[name][metric].value)}
    if leader.best not in seconds:
        return
    fastest = min(seconds, key=seconds.__getitem__)
    slow, fast = seconds[leader.best], seconds[fastest]
    if slow - fast < _LEAST_SECONDS or slow / fast < _RATIO:
        return
    settings = comparison.statistics
    pairs = [
        own.table([metric], comparison.query_ids)
        for name in (leader.best, fastest)
        for own in scores
        if own.name == name
    ]
    ends = difference_interval(
        np.hstack(pairs),
        METRICS[metric].number,
        confidence=1 - settings.alpha / max(1, len(seconds) - 1),
        seed=settings.seed,
    )
    if ends is None or ends[0] <= 0:
        return
    ratio, times = slow / fast, f"{number(fast)} s against {number(slow)} s ({metric})"
    yield _advice(
        "cost",
        f"Of those that cannot be told apart in {primary}, {fastest} is the fastest: {times} "
        f"of {leader.best}, {ratio:.1f} times less."
        if leader.tied
        else f"{leader.best} takes {ratio:.1f} times as long as {fastest}: {times}. What that "
        f"buys: in {primary} the {leader.against(fastest).text}.",
        metric=metric,
        best=leader.best,
        best_seconds=slow,
        fastest=fastest,
        fastest_seconds=fast,
        ratio=ratio,
        tied=bool(leader.tied),
    )


def _routing(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices in which another retriever is best; that there is none, if so."""
    metric, overall, fields = comparison.primary, comparison.leader, comparison.fields
    if overall is None or not fields or comparison.overall.found_nothing(metric):
        return
    others = [
        (part, leader)
        for part in comparison.slices
        if (leader := part.leaders.get(metric)) and leader.decided and leader.best != overall.best
    ]
    for part, leader in others:
        yield _advice(
            "routing",
            f"For {part.field} = {part.label} ({part.n} queries) {leader.best} is better than "
            f"every other retriever in {metric}, unlike over all queries; to {overall.best} the "
            f"{leader.against(overall.best).text}. Consider choosing the retriever by "
            f"{part.field}.",
            field=part.field,
            value=part.value,
            best=leader.best,
            metric=metric,
        )
    if not others:
        yield _advice(
            "no_routing",
            f"The data does not support choosing a retriever by {', '.join(fields)}: in no slice "
            f"another one than {overall.best} is clearly best in {metric}.",
            supported=False,
            fields=list(fields),
            metric=metric,
        )


def _weak_slices(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices in which the leading retriever is worse than elsewhere by more than chance."""
    metric, name = comparison.primary, comparison.best
    whole = comparison.overall.means[name][metric]
    for part in comparison.slices:
        own, p = part.means[name][metric], part.p_worse
        if p is None or p > comparison.statistics.alpha:
            continue
        yield _advice(
            "weak_slice",
            f"{name} is clearly worse for {part.field} = {part.label}: {metric} is {own} on its "
            f"{part.n} queries, against {whole} over all. Look there first.",
            field=part.field,
            value=part.value,
            retriever=name,
            metric=metric,
            mean=own.value,
            n=part.n,
            p_adjusted=p,
        )


def _small_slices(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices of which nothing can be said."""
    if small := [part for part in comparison.slices if part.n < FEW]:
        names = listed([f"{part.field} = {part.label} ({part.n})" for part in small])
        yield _advice(
            "small_slices",
            f"Too few queries to say anything about {names}; add questions until each has {FEW} or "
            "more.",
            supported=False,
            slices=[[part.field, part.value, part.n] for part in small],
        )


def _saturated(comparison: Comparison) -> Iterator[Recommendation]:
    """The shares in which every retriever is as good as can be."""
    full = [
        metric
        for metric in comparison.metrics
        if (known := known_metric(metric)) is not None
        and known.is_share
        and known.of != "unanswerable"
        and all((means[metric].value or 0) >= _FULL for means in comparison.overall.means.values())
    ]
    if full and len(comparison.retrievers) > 1:
        yield _advice(
            "saturated",
            f"{_every(comparison, 'Every')} has nearly the highest value in {listed(full)}: harder "
            "questions or a smaller k would tell them apart.",
            metrics=full,
        )


def _what_is_found(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> Iterator[Recommendation]:
    """The queries for which nothing is found: by nobody, or by all but the best."""
    depths = _by_depth(comparison, "recall", "hit_rate")
    if not depths or (metric := depths[-1][-1]) in comparison.run_level:
        return
    table = np.hstack([own.table([metric], comparison.query_ids) for own in scores])
    hits, known = table > TOLERANCE, ~np.isnan(table).any(axis=1)
    n = int(known.sum())

    def ids(rows: Bools | np.bool) -> list[str]:
        return [comparison.query_ids[row] for row in np.flatnonzero(rows)]

    if nowhere := ids(known & ~hits.any(axis=1)):
        subject = "queries have" if len(nowhere) > 1 else "query has"
        every = _every(comparison, "every") if len(scores) > 1 else "the retriever"
        yield _advice(
            "unfound",
            f"{len(nowhere)} of {n} {subject} {metric} = 0 for {every} ({listed(nowhere, 5)}): "
            "look at their gold and at the corpus before tuning a retriever.",
            metric=metric,
            n=n,
            query_ids=nowhere,
        )
    missed = known & ~hits[:, comparison.retrievers.index(comparison.best)]
    n_missed, gained = int(missed.sum()), ids(missed & hits.any(axis=1))
    if gained and len(gained) >= n / 50 and comparison.leader is not None:
        missed_queries = f"{n_missed} {'query' if n_missed == 1 else 'queries'}"
        yield _advice(
            "combination",
            f"Of the {missed_queries} with {metric} = 0 for {comparison.best} another retriever "
            f"finds something for {len(gained)}; a combination could gain those at most.",
            metric=metric,
            best=comparison.best,
            query_ids=gained,
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


def _reranking(comparison: Comparison) -> Iterator[Recommendation]:
    """How much gold stands further down, which another order could bring up."""
    recalls = _by_depth(comparison, "recall")
    if len(recalls) < 2 or (comparison.leader is None and len(comparison.retrievers) > 1):
        return
    name, near, far = comparison.best, recalls[0][-1], recalls[-1][-1]
    low, high = (comparison.overall.means[name][metric].value for metric in (near, far))
    if low is not None and high is not None and high - low >= _GAP:
        yield _advice(
            "reranking",
            f"{name} finds more gold further down: {far} is {number(high)}, {near} is "
            f"{number(low)}. Reranking could raise {near} by {number(high - low)} at most.",
            retriever=name,
            near=near,
            far=far,
            near_value=low,
            far_value=high,
        )


def verdict(comparison: Comparison) -> Recommendation:
    """Which retriever is best in the first metric, or that the data does not say."""
    metric, leader = comparison.primary, comparison.leader
    lost = comparison.not_comparable
    if not comparison.retrievers:
        every = "Every retriever" if len(lost) > 1 else f"The retriever {lost[0]}"
        text = f"{every} failed, so there is nothing to compare."
        return _advice("no_winner", text, supported=False, metric=metric, failed=list(lost))
    if len(comparison.retrievers) == 1:
        text = (
            f"Only {comparison.best} can be compared, as {listed(lost)} failed."
            if lost
            else "There is one retriever, and so nothing to choose between; add another to compare."
        )
        return _advice("one_retriever", text, supported=False, failed=list(lost))
    if leader is None:
        return _advice(
            "no_winner",
            f"{metric} has no direction or no value, so it does not say which retriever is best.",
            supported=False,
            metric=metric,
        )
    if comparison.overall.found_nothing(metric):
        text = (
            f"None found anything: {metric} is 0 for {_every(comparison, 'every')}, and so none is "
            "better. Look at the gold and the matcher first."
        )
        return _advice("no_winner", text, supported=False, metric=metric, nothing_found=True)
    best, rival = comparison.overall.means[leader.best][metric], _nearest_rival(comparison, leader)
    values: dict[str, Any] = {
        "metric": metric,
        "best": leader.best,
        "shared": list(leader.shared),
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
            f"Use {leader.best}: in {metric} it is better than "
            f"{_every(comparison, 'every other')}, with {best}. The next is {rival.against}; "
            f"the {rival.text}."
        )
        return _advice("winner", text, **values)
    text = _undecided(leader, rival, str(best))
    if leader.tested:
        needed = _Needed.of(comparison, rival)
        text += needed.text
        values["queries_needed"] = needed.few
        values["queries_needed_at_most"] = needed.most
        values["many_more"] = needed.many_more
    return _advice("no_winner", text, supported=False, **values)


def _advice(kind: str, text: str, *, supported: bool = True, **values: Any) -> Recommendation:
    return Recommendation(kind, text, supported, values)


def _every(comparison: Comparison, every: str) -> str:
    """All retrievers but those that failed on more than is tolerated: nothing is said of them."""
    return f"{every} retriever{' that can be compared' if comparison.not_comparable else ''}"


def _undecided(leader: Leader, rival: Difference, best: str) -> str:
    metric = leader.metric
    if leader.ties and all(tie.never_differs for tie in leader.ties):
        return (
            f"{listed([leader.best, *leader.tied])} have the same value for every query in "
            f"{metric}, {best} on average; the data does not say which is best."
        )
    ties = tuple(name for name in leader.tied if name not in leader.shared)
    if not leader.tested:
        reason = "it is a run's own number, which is not tested"
    elif len(leader.shared) > 1 and not ties:
        reason = "cannot be told from each other"
    elif rival.never_differs:
        reason = (
            f"cannot be told from {listed(ties)}; {rival.against} has the same value for "
            "every query"
        )
    else:
        start = ": the" if len(leader.tied) == 1 else f"; to {rival.against} the"
        reason = f"cannot be told from {listed(ties)}{start} {rival.text}"
    have = "have" if len(leader.shared) > 1 else "has"
    return (
        f"The data does not say which retriever is best in {metric}: {listed(leader.shared)} "
        f"{have} the best value, {best}, but {reason}."
    )


@dataclass(frozen=True)
class _Needed:
    """How many queries would decide between the leader and the one that comes next.

    The difference itself is known no better than its standard error, so the ends are those of a
    difference larger and smaller by one, in two digits.

    Attributes:
        few: at the least; None where nothing differs, and where `few` would not help.
        most: at the most; None beyond `MANY` times the sample.
        many_more: whether that may be needed, or, without `few`, is.
        n: how many there are.
    """

    few: int | None
    most: int | None
    many_more: bool
    n: int

    @classmethod
    def of(cls, comparison: Comparison, rival: Difference) -> _Needed:
        effect, n, error = abs(rival.effect or 0.0), rival.n, 1 / sqrt(max(rival.n, 1))
        settings = comparison.statistics
        fewest = max(n + 1, deciding(settings.alpha, settings.resamples) or 0)
        least = (queries_needed(effect + by, comparison.least) for by in (error, 0.0, -error))
        few, likely, most = (
            None if needed is None or needed > MANY * n else _two_digits(max(needed, fewest))
            for needed in least
        )
        if not effect or likely is None:
            return cls(None, None, bool(effect), n)
        return cls(few, most, most is None, n)

    @property
    def text(self) -> str:
        there = f"(there are {self.n:,})"
        if self.few is None:
            return f" Many more queries would be needed to decide {there}." * self.many_more
        if self.most is None:
            few = f"about {self.few:,} queries at the least"
            return f" It would take {few}, perhaps many more {there}."
        return f" About {self.few:,} to {self.most:,} queries would decide {there}."


def _two_digits(n: int) -> int:
    """The least number of two digits and zeros that is not below."""
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return unit * -(-n // unit)


def _nearest_rival(comparison: Comparison, leader: Leader) -> Difference:
    """The leader against the one that comes next, tied ones first."""
    means, metric = comparison.overall.means, leader.metric
    top = min if comparison.better[metric] == "lower" else max
    # A leader is only compared with those that have a value.
    return top(
        leader.ties or leader.differences,
        key=lambda difference: means[difference.against][metric].value or 0.0,
    )


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names in a sentence: ``a, b and c``."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
