"""What follows from a comparison, and what does not: each with the numbers that it rests on.

A rule looks at a comparison and gives, as often as it applies, the kind of advice, its sentence and
the values in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from kragx.comparison.advice import Recommendation
from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import Leader, definition_of
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.slices import ids_at
from kragx.comparison.statistics import TOLERANCE, difference_interval
from kragx.comparison.verdict import by_depth, every, verdict
from kragx.ground.printing import Name, listed, number, phrase
from kragx.metrics import METRICS, Bools

_NAMED = 10_000
"""So many queries are named at most."""

_SLOWER = 1.5
"""Who takes less than so many times as long is no slower."""

_LEAST_SECONDS = 0.001
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")
_GAP = 0.05

Advice = Iterator[tuple[str, str, Mapping[str, Any]]]
"""Kinds, sentences, and the values that they rest on."""


@dataclass(frozen=True)
class _Case:
    """What rules look at.

    Attributes:
        comparison: of the retrievers.
        scores: the same retrievers, for what single queries show.
        primary: the first metric.
        leader: who is best in it; None where nobody is.
    """

    comparison: Comparison
    scores: Sequence[RetrieverScores]
    primary: str
    leader: Leader | None

    @cached_property
    def hits(self) -> tuple[str, Bools, Bools]:
        """The deepest metric of what is found, (q, r) who finds something, (q) what is known.

        Without a metric, nothing is.
        """
        depths = by_depth(self.comparison, "recall", "hit_rate")
        if not depths or (metric := depths[-1][-1]) in self.comparison.run_level:
            return "", np.zeros((0, 0), bool), np.zeros(0, bool)
        ids = self.comparison.query_ids
        table = np.hstack([score.table([metric], ids) for score in self.scores])
        return metric, table > TOLERANCE, np.asarray(~np.isnan(table).any(axis=1))

    def ids(self, rows: Bools) -> list[str]:
        """The first queries of some."""
        ids = ids_at(self.comparison.query_ids, np.flatnonzero(rows)[:_NAMED])
        return [Name(query_id, "question") for query_id in ids]


def recommend(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> tuple[Recommendation, ...]:
    """All that the numbers say about what to do, the most important first.

    Args:
        comparison: of the retrievers.
        scores: the same retrievers, for what single queries show.
    """
    answer = verdict(comparison)
    if not comparison.retrievers:
        return (answer,)
    case = _Case(comparison, scores, comparison.primary, comparison.leader)
    return (
        answer,
        *(
            Recommendation(kind, text, values=values)
            for rule in _RULES
            for kind, text, values in rule(case)
        ),
    )


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as a sentence has them."""
    return {
        name: number(value) if isinstance(value, float) else value for name, value in values.items()
    }


def _cost(case: _Case) -> Advice:
    """What the best takes longer than the fastest, or the fastest of those that tie with it."""
    leader, means = case.leader, case.comparison.overall.means
    if leader is None or "second" in definition_of(case.primary).unit:
        return
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    tied = [leader.best, *(name for name in leader.tied if means[name][case.primary].value)]
    fast = tied if leader.tied else case.comparison.retrievers
    if not (values := _slower(case.comparison, case.scores, leader.best, fast)):
        return
    text = phrase(
        "Of those that cannot be told apart in {primary}, {fastest} is the fastest: "
        "{fastest_seconds} s against {best_seconds} s ({metric}) of {best}, {ratio:.1f} times "
        "less."
        if leader.tied
        else "{best} takes {ratio:.1f} times as long as {fastest}: {fastest_seconds} s against "
        "{best_seconds} s ({metric}). What that buys: in {primary} the {difference}.",
        **{**_written(values), "ratio": values["ratio"]},
        primary=case.primary,
        difference=leader.against(values["fastest"]).text,
    )
    yield "cost", text, {**values, "tied": bool(leader.tied)}


def _slower(
    comparison: Comparison, scores: Sequence[RetrieverScores], best: str, names: Sequence[str]
) -> dict[str, Any]:
    """How much longer the best takes than the fastest of some, by the first time among metrics.

    Nothing where that is noise: less than a millisecond, less than half as long again, or an
    interval with 0, corrected for all pairs of retrievers, with half of the level where times are
    tested, too.
    """
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if metric is None:
        return {}
    means, settings = comparison.overall.means, comparison.statistics
    # Who takes no time at all was not measured.
    seconds = {name: value for name in (best, *names) if (value := means[name][metric].value)}
    fast = [name for name in names if name in seconds]
    if best not in seconds or not fast:
        return {}
    fastest = min(fast, key=seconds.__getitem__)
    long, short = seconds[best], seconds[fastest]
    # A ratio of tiny times is the clock's, and a small ratio is no reason to change anything.
    if long - short < _LEAST_SECONDS or long / short < _SLOWER:
        return {}
    columns = {score.name: score.table([metric], comparison.query_ids) for score in scores}
    # The slowest and the fastest are picked from all pairs, so the interval is as wide as for all
    # of them (Bonferroni).
    looked_at = comb(len(comparison.retrievers), 2) * (2 if comparison.n_tests_of_times else 1)
    ends = difference_interval(
        np.hstack([columns[best], columns[fastest]]),
        METRICS[metric].number,
        weights=comparison.weights,
        confidence=1 - settings.alpha / max(1, looked_at),
        seed=settings.seed,
    )
    if ends is None or ends[0] <= 0:
        return {}
    return {
        "metric": metric,
        "best": best,
        "best_seconds": long,
        "fastest": fastest,
        "fastest_seconds": short,
        "ratio": long / short,
    }


def _routing(case: _Case) -> Advice:
    """The slices in which another retriever is best."""
    comparison, metric, overall = case.comparison, case.primary, case.leader
    if overall is None or comparison.overall.found_nothing(metric):
        return
    for part in comparison.slices:
        leader = part.leaders.get(metric)
        if leader is not None and leader.decided and leader.best != overall.best:
            values = {"field": part.field, "value": part.value, "best": leader.best}
            difference = leader.against(overall.best)
            text = phrase(
                "For {field} = {value} ({n} queries) {best} is better than every other retriever "
                "in {metric}, unlike over all queries; to {overall} the {difference}. Consider "
                "choosing the retriever by {field}.",
                **values | {"value": part.label},
                metric=metric,
                n=difference.n,
                overall=overall.best,
                difference=difference.text,
            )
            yield "routing", text, {**values, "metric": metric}


def _slices(case: _Case) -> Advice:
    """Where the leading retriever is worse than elsewhere by more than chance."""
    comparison, metric, name = case.comparison, case.primary, case.comparison.best
    for part in comparison.slices:
        mean, p = part.means[name][metric], part.p_worse
        if p is None or p > comparison.statistics.alpha:
            continue
        values = {"field": part.field, "value": part.value, "retriever": name, "metric": metric}
        text = phrase(
            "{retriever} is clearly worse for {field} = {value}: {metric} is {mean} on its {n} "
            "queries, against {whole} over all. Look there first.",
            **values | {"value": part.label},
            mean=mean.text,
            n=mean.n,
            whole=comparison.overall.means[name][metric].text,
        )
        yield "weak_slice", text, {**values, "mean": mean.value, "n": mean.n, "p_adjusted": p}


def _unfound(case: _Case) -> Advice:
    """The queries for which nobody finds anything."""
    comparison, (metric, hits, answerable) = case.comparison, case.hits
    nowhere, n_answerable = answerable & ~hits.any(axis=1), int(answerable.sum())
    if n := int(nowhere.sum()):
        ids = case.ids(nowhere)
        text = phrase(
            "{n} of {of} queries has {metric} = 0 for {every} ({queries}): look at their gold and "
            "at the corpus before tuning a retriever."
            if n == 1
            else "{n} of {of} queries have {metric} = 0 for {every} ({queries}): look at their "
            "gold and at the corpus before tuning a retriever.",
            n=n,
            of=n_answerable,
            metric=metric,
            every=every(comparison) if len(case.scores) > 1 else phrase("the retriever"),
            queries=listed(ids, 5, n),
        )
        yield "unfound", text, {"metric": metric, "n": n, "of": n_answerable, "query_ids": ids}


def _combination(case: _Case) -> Advice:
    """The queries for which another retriever finds something, and the best does not."""
    comparison, (metric, hits, answerable) = case.comparison, case.hits
    if not metric or case.leader is None:
        return
    missed = answerable & ~hits[:, comparison.retrievers.index(comparison.best)]
    gained = missed & hits.any(axis=1)
    if (n_gained := int(gained.sum())) and n_gained >= int(answerable.sum()) / 50:
        text = phrase(
            "Of the 1 query with {metric} = 0 for {best} another retriever finds something for "
            "{n_gained}; a combination could gain those at most."
            if missed.sum() == 1
            else "Of the {n} queries with {metric} = 0 for {best} another retriever finds "
            "something for {n_gained}; a combination could gain those at most.",
            n=int(missed.sum()),
            metric=metric,
            best=comparison.best,
            n_gained=n_gained,
        )
        values = {"metric": metric, "best": comparison.best, "query_ids": case.ids(gained)}
        yield "combination", text, values


def _reranking(case: _Case) -> Advice:
    """How much gold stands further down, which another order could bring up."""
    comparison, recalls = case.comparison, by_depth(case.comparison, "recall")
    if len(recalls) < 2 or (case.leader is None and len(comparison.retrievers) > 1):
        return
    name, near, far = comparison.best, recalls[0][-1], recalls[-1][-1]
    low, high = (comparison.overall.means[name][metric].value for metric in (near, far))
    if low is not None and high is not None and high - low >= _GAP:
        values = {"retriever": name, "near": near, "far": far, "near_value": low, "far_value": high}
        text = phrase(
            "{retriever} finds more gold further down: {far} is {far_value}, {near} is "
            "{near_value}. Reranking could raise {near} by {gain} at most.",
            **_written(values),
            gain=number(high - low),
        )
        yield "reranking", text, values


_RULES = (_cost, _routing, _slices, _unfound, _combination, _reranking)
"""The most important first."""
