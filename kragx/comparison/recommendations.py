"""What follows from a comparison, and what does not: each with the numbers that it rests on.

A rule looks at a comparison and gives advice as often as it applies. So do the rules of what could
turn the verdict: what must not be found, texts of one template, failures, missing judgements, ids
that never meet, and an order that a small change of the threshold turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np

from kragx.comparison.advice import Caution, Recommendation
from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import definition_of
from kragx.comparison.gate_conditions import undecidable_differences
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.side_by_side import left_out
from kragx.comparison.statistics import TOLERANCE, difference_interval
from kragx.comparison.statistics.evidence import ids_at
from kragx.comparison.threshold_study import orders_warning
from kragx.comparison.verdict import by_depth, every, leak_of, verdict
from kragx.ground.printing import Name, joined, listed, message, number, plural
from kragx.matchers.gold_siblings import siblings_remarks
from kragx.matchers.ids import APART
from kragx.matchers.siblings import SIBLINGS
from kragx.metrics import METRICS

_NAMED = 10_000
"""So many queries are named at most."""

_SLOWER = 1.5
"""Who takes less than so many times as long is no slower."""

_LEAST_SECONDS = 0.001
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")
_GAP = 0.05


def recommend(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> tuple[Recommendation, ...]:
    """All that the numbers say about what to do, the most important first.

    Args:
        comparison: of the retrievers.
        scores: the same retrievers, for what single queries show.
    """
    answer = replace(verdict(comparison), cautions=tuple(cautions(comparison, scores)))
    if not comparison.retrievers:
        return (answer,)
    return (
        answer,
        *_cost(comparison, scores),
        *_routing(comparison),
        *_slices(comparison),
        *_unfound(comparison, scores),
        *_reranking(comparison),
    )


def _cost(comparison: Comparison, scores: Sequence[RetrieverScores]) -> Iterator[Recommendation]:
    """What the best takes longer than the fastest, or the fastest of those that tie with it."""
    leader, means, primary = comparison.leader, comparison.overall.means, comparison.primary
    if leader is None or "second" in definition_of(primary).unit:
        return
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    tied = [leader.best, *(name for name in leader.tied if means[name][primary].value)]
    fast = tied if leader.tied else comparison.retrievers
    if values := _slower(comparison, scores, leader.best, fast):
        seconds = {name: number(values[name]) for name in ("fastest_seconds", "best_seconds")}
        text = message(
            "Of those that cannot be told apart in {primary}, {fastest} is the fastest: "
            "{fastest_seconds} s against {best_seconds} s ({metric}) of {best}, {ratio:.1f} times "
            "less."
            if leader.tied
            else "{best} takes {ratio:.1f} times as long as {fastest}: {fastest_seconds} s against "
            "{best_seconds} s ({metric}). What that buys: in {primary} the {difference}.",
            **values | seconds,
            primary=primary,
            difference=leader.against(values["fastest"]).text,
        )
        yield Recommendation("cost", text, values={**values, "tied": bool(leader.tied)})


def _slower(
    comparison: Comparison, scores: Sequence[RetrieverScores], best: str, names: Sequence[str]
) -> dict[str, Any]:
    """How much longer the best takes than the fastest of some, by the first time among metrics.

    Nothing where that is noise: less than a millisecond, less than half as long again, or an
    interval with 0, corrected for all pairs of retrievers, with half of the level where times are
    tested, too.
    """
    metric = next((name for name in _TIMES if name in comparison.metrics), "")
    means, settings = comparison.overall.means, comparison.statistics
    # Who takes no time at all was not measured.
    times = {name: means[name][metric].value for name in (best, *names)} if metric else {}
    seconds = {name: value for name, value in times.items() if value}
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
    is_told = ends is not None and ends[0] > 0
    values = {"metric": metric, "best": best, "best_seconds": long, "fastest": fastest}
    return {**values, "fastest_seconds": short, "ratio": long / short} if is_told else {}


def _routing(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices in which another retriever is best."""
    metric, overall = comparison.primary, comparison.leader
    if overall is None or comparison.overall.found_nothing(metric):
        return
    for part in comparison.slices:
        leader = part.leaders.get(metric)
        if leader is not None and leader.decided and leader.best != overall.best:
            difference = leader.against(overall.best)
            values = {
                "field": part.field,
                "value": part.value,
                "best": leader.best,
                "metric": metric,
            }
            text = message(
                "For {field} = {value} ({n} queries) {best} is better than every other retriever "
                "in {metric}, unlike over all queries; to {overall} the {difference}. Consider "
                "choosing the retriever by {field}.",
                **values | {"value": part.label},
                n=difference.n,
                overall=overall.best,
                difference=difference.text,
            )
            yield Recommendation("routing", text, values=values)


def _slices(comparison: Comparison) -> Iterator[Recommendation]:
    """Where the leading retriever is worse than elsewhere by more than chance."""
    metric, name = comparison.primary, comparison.best
    for part in comparison.slices:
        mean, p = part.means[name][metric], part.p_worse
        if p is None or p > comparison.statistics.alpha:
            continue
        values: dict[str, Any] = {"field": part.field, "value": part.value}
        values |= {"retriever": name, "metric": metric}
        text = message(
            "{retriever} is clearly worse for {field} = {value}: {metric} is {mean} on its {n} "
            "queries, against {whole} over all. Look there first.",
            **values | {"value": part.label},
            mean=mean.text,
            n=mean.n,
            whole=comparison.overall.means[name][metric].text,
        )
        values |= {"mean": mean.value, "n": mean.n, "p_adjusted": p}
        yield Recommendation("weak_slice", text, values=values)


def _unfound(comparison: Comparison, scores: Sequence[RetrieverScores]) -> Iterator[Recommendation]:
    """The queries for which nobody finds anything, by the deepest metric of what is found."""
    depths = by_depth(comparison, "recall", "hit_rate")
    if not depths or (metric := depths[-1][-1]) in comparison.run_level:
        return
    table = np.hstack([score.table([metric], comparison.query_ids) for score in scores])
    answerable = ~np.isnan(table).any(axis=1)
    nowhere = np.flatnonzero(answerable & ~(table > TOLERANCE).any(axis=1))
    if n := len(nowhere):
        ids = [Name(name, "question") for name in ids_at(comparison.query_ids, nowhere[:_NAMED])]
        values = {"metric": metric, "of": int(answerable.sum())}
        text = plural(
            n,
            "{n} of {of} queries has {metric} = 0 for {every} ({queries}): look at their gold and "
            "at the corpus before tuning a retriever.",
            "{n} of {of} queries have {metric} = 0 for {every} ({queries}): look at their gold "
            "and at the corpus before tuning a retriever.",
            **values,
            every=every(comparison) if len(scores) > 1 else message("the retriever"),
            queries=listed(ids, 5, n),
        )
        yield Recommendation("unfound", text, values={**values, "n": n, "query_ids": ids})


def _reranking(comparison: Comparison) -> Iterator[Recommendation]:
    """How much gold stands further down, which another order could bring up."""
    recalls = [metric for *_, metric in by_depth(comparison, "recall")]
    if len(recalls) < 2 or (comparison.leader is None and len(comparison.retrievers) > 1):
        return
    name, near, far = comparison.best, recalls[0], recalls[-1]
    low, high = (comparison.overall.means[name][metric].value for metric in (near, far))
    if low is not None and high is not None and high - low >= _GAP:
        values: dict[str, Any] = {"retriever": name, "near": near, "far": far}
        text = message(
            "{retriever} finds more gold further down: {far} is {far_value}, {near} is "
            "{near_value}. Reranking could raise {near} by {gain} at most.",
            **values,
            near_value=number(low),
            far_value=number(high),
            gain=number(high - low),
        )
        values |= {"near_value": low, "far_value": high}
        yield Recommendation("reranking", text, values=values)


_LEAKING = 3
"""Of so many retrievers it is said how often they leak, the best one first."""

_MANY_MISSING = 10
"""From a tenth of the questions on their absence may turn a verdict."""


def cautions(comparison: Comparison, scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """What could turn the verdict of a comparison, the worst first.

    Args:
        comparison: of the retrievers, before there is a verdict.
        scores: those that are compared.
    """
    yield from _leaks(comparison)
    yield from _siblings(scores)
    yield from _failed(comparison)
    yield from _missing_questions(scores)
    yield from _missing_judgements(comparison.primary, scores)
    yield from _ids_apart(scores)
    yield from _threshold(comparison)


def _siblings(scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """Texts of one template: the gold set and the matcher are everybody's, misread texts differ."""
    for score in scores:
        for text in siblings_remarks(score.counts, score.match):
            yield Caution("siblings", text, score.counts[SIBLINGS])
            return


def _ids_apart(scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """Whose ids are nowhere those of gold."""
    if apart := {score.name: n for score in scores if (n := score.counts.get(APART))}:
        text = message(
            "none of the ids that {names} retrieved is any gold id, so nothing can match by id",
            names=listed(list(apart)),
        )
        yield Caution("ids_apart", text, apart)


def _leaks(comparison: Comparison) -> Iterator[Caution]:
    """Who finds what must not be found, the best one first."""
    # False sorts first, and sorting is stable: the best, then the others as they were named.
    names = sorted(comparison.retrievers, key=lambda name: name != comparison.best)
    if leaks := {name: leak for name in names if (leak := leak_of(comparison, name))}:
        means = {name: comparison.overall.means[name][leak] for name, leak in leaks.items()}
        texts = [
            message("{name} leaks, {metric} is {value}", name=name, metric=leak, value=mean.text)
            for (name, leak), mean in zip(leaks.items(), means.values())
        ]
        if len(texts) > _LEAKING:
            texts[_LEAKING:] = [message("and {n} more", n=len(texts) - _LEAKING)]
        values = {name: mean.value for name, mean in means.items()}
        yield Caution("leaks", joined("; ", texts), values)


def _failed(comparison: Comparison) -> Iterator[Caution]:
    """Who failed, unless the verdict is about that."""
    is_told = len(comparison.retrievers) < 2
    if failures := [failure for failure in comparison.failures if failure.tolerated or not is_told]:
        texts = [
            message(
                "{retriever} {failed}, which score as empty lists"
                if failure.tolerated
                else "{retriever} {failed}, so it is not comparable",
                retriever=failure.retriever,
                failed=failure.text,
            )
            for failure in failures
        ]
        values = {failure.retriever: failure.n_failed for failure in failures}
        yield Caution("failed", joined("; ", texts), values)


def _missing_questions(scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """Whose results lack many questions."""
    lacking = {
        score.name: (n_missing, score.counts["n_queries"])
        for score in scores
        if score.settings["profile"]["missing"] == "empty"
        and (n_missing := score.counts.get("n_missing", 0))
        and n_missing * _MANY_MISSING >= score.counts.get("n_queries", 0)
    }
    texts = [
        message(
            "{retriever} has no results for {n} of {of} questions, which score as empty lists",
            retriever=name,
            n=n_missing,
            of=n,
        )
        for name, (n_missing, n) in lacking.items()
    ]
    if texts:
        values = {name: n_missing for name, (n_missing, _) in lacking.items()}
        yield Caution("missing_questions", joined("; ", texts), values)


def _missing_judgements(metric: str, scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """Between what values may become once all judgements are there, where that is not one value."""
    bounds = {
        score.name: [*score.bounds[metric]]
        for score in scores
        if metric in score.bounds and len({*score.bounds[metric]}) > 1
    }
    if bounds and not definition_of(metric).reads_forbidden:
        ranges = [
            message("{low} to {high} ({name})", low=number(low), high=number(high), name=name)
            for name, (low, high) in bounds.items()
        ]
        text = message(
            "judgements are missing, and once they are known {metric} may be {ranges}",
            metric=metric,
            ranges=listed(ranges),
        )
        yield Caution("missing_judgements", text, bounds)


def _threshold(comparison: Comparison) -> Iterator[Caution]:
    """That the best is not the best at a threshold nearby."""
    for order in comparison.orders if comparison.leader is not None else ():
        is_turned = any(comparison.best in pair for pair in order.swapped)
        if order.metric == comparison.primary and is_turned:
            yield Caution("threshold", order.warning() or "", {"metric": order.metric})


def warnings_of(
    comparison: Comparison, scores: Sequence[RetrieverScores], *, every_metric: bool
) -> Iterator[str]:
    """Of several what is not compared though some have it, and what makes the rest less sure."""
    metrics = dict.fromkeys(metric for score in scores for metric in score.means)
    not_compared = [metric for metric in metrics if metric not in comparison.metrics]
    if every_metric and not_compared:
        yield message(
            "not compared, as not all have it: {metrics}", metrics=", ".join(not_compared)
        )
    # What differs between gold sets is told by itself, and is nobody's gap.
    out = left_out(comparison.gold)
    sizes = (
        len(score.query_ids) - (len(out.intersection(score.query_ids)) if out else 0)
        for score in scores
    )
    if n_queries := max(sizes) - comparison.n_queries:
        yield message("queries that not all have, left out of the comparison: {n}", n=n_queries)
    tested = (
        difference.n for difference in comparison.overall.differences if difference.p is not None
    )
    # The metric with the most questions is looked at.
    too_few = undecidable_differences(max(tested, default=0), comparison.statistics)
    yield from filter(None, (too_few, orders_warning(comparison.orders)))
