"""What follows from a comparison, and what does not: each with the numbers that it rests on.

A rule looks at a comparison and gives, as often as it applies, the kind of advice, its sentence and
the values in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kragx.comparison.advice import Recommendation
from kragx.comparison.comparison import Comparison
from kragx.comparison.costs import SPEED, equal_groups, price, slower
from kragx.comparison.estimates import Leader, definition_of
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.slices import ids_at
from kragx.comparison.statistics import TOLERANCE
from kragx.comparison.verdict import by_depth, every, verdict
from kragx.comparison.view import FEW
from kragx.ground.printing import Name, joined, listed, number, phrase
from kragx.metrics import Bools

_NAMED = 10_000
"""So many queries are named at most."""

_MANY_TIMES = 100
"""From here on a ratio is told in whole numbers."""

_GAP = 0.05
_FULL = 0.99

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
    def equal(self) -> list[list[str]]:
        """The retrievers that find the same (`equal_groups`)."""
        return equal_groups(self.comparison, self.scores)

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

    def slower(self, slow: Sequence[str], fast: Sequence[str]) -> dict[str, Any]:
        """The slowest of some against the fastest of others."""
        return slower(self.comparison, self.scores, slow, fast)

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
    answer = verdict(comparison, scores)
    if not comparison.retrievers:
        return (answer,)
    case = _Case(comparison, scores, comparison.primary, comparison.leader)
    return (
        answer,
        *(
            Recommendation(kind, text, kind not in _UNSUPPORTED, values)
            for rule in _RULES
            # The verdict itself says then that gold stands further down.
            if rule is not _reranking or not answer.values.get("found_in")
            for kind, text, values in rule(case)
        ),
    )


def _written(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as a sentence has them."""
    return {
        name: number(value) if isinstance(value, float) else value for name, value in values.items()
    }


def _equal(case: _Case) -> Advice:
    """The groups of equal retrievers, and where one takes longer than another all the same."""
    if len(case.scores) < 2 or not case.equal:
        return
    times = [slower for names in case.equal if (slower := case.slower(names, names))]
    notes = (
        phrase(
            "{slow} takes {ratio:.1f} times as long as {fast}: {slow_seconds} s against "
            "{fast_seconds} s ({metric}).",
            **{**_written(values), "ratio": values["ratio"]},
        )
        for values in times
    )
    text = phrase(
        "The same for every query in all metrics but times: {groups}. Whichever is used, as much "
        "is found; if they were meant to differ, look at their settings.",
        groups=joined("; ", map(listed, case.equal)),
    )
    yield "equal", joined(" ", [text, *notes]), {"groups": case.equal, "slower": times}


def _cost(case: _Case) -> Advice:
    """What the best takes longer than the fastest, or the fastest of those that tie with it.

    But for what is said of equal ones.
    """
    leader, means = case.leader, case.comparison.overall.means
    if leader is None or case.primary in SPEED:
        return
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    tied = [leader.best, *(name for name in leader.tied if means[name][case.primary].value)]
    times = case.slower([leader.best], tied if leader.tied else case.comparison.retrievers)
    if not times or any({times["slow"], times["fast"]} <= set(names) for names in case.equal):
        return
    values = {
        "metric": times["metric"],
        "best": leader.best,
        "best_seconds": times["slow_seconds"],
        "fastest": times["fast"],
        "fastest_seconds": times["fast_seconds"],
        "ratio": times["ratio"],
        "tied": bool(leader.tied),
    }
    text = phrase(
        "Of those that cannot be told apart in {primary}, {fastest} is the fastest: "
        "{fastest_seconds} s against {best_seconds} s ({metric}) of {best}, {ratio:.1f} times "
        "less."
        if leader.tied
        else "{best} takes {ratio:.1f} times as long as {fastest}: {fastest_seconds} s against "
        "{best_seconds} s ({metric}). What that buys: in {primary} the {difference}.",
        **{**_written(values), "ratio": values["ratio"]},
        primary=case.primary,
        difference=leader.against(times["fast"]).text,
    )
    yield "cost", text, values


def _price(case: _Case) -> Advice:
    """What a found gold item costs the best beside the cheapest other, for sure (`price`)."""
    if case.leader is None or not (values := price(case.comparison, case.scores)):
        return
    ratio = values["ratio"]
    text = phrase(
        "Of those that cannot be told apart in {primary}, {other} costs less for each gold item "
        "found: {metric} is {other_cost} against {best_cost} of {best}, {ratio} times less."
        if values["tied"] and values["dearer"]
        else "Of those that cannot be told apart in {primary}, {best} costs less for each gold "
        "item found: {metric} is {best_cost} against {other_cost} of {other}, {ratio} "
        "times less."
        if values["tied"]
        else "{best} costs {ratio} times as much as {other} for each gold item found: {metric} "
        "is {best_cost} against {other_cost}. What that buys: in {primary} the {difference}."
        if values["dearer"]
        else "{best} costs less for each gold item found, too: {metric} is {best_cost} against "
        "{other_cost} of {other}, the next.",
        **_written(values) | {"ratio": f"{ratio:.1f}" if ratio < _MANY_TIMES else f"{ratio:,.0f}"},
        primary=case.primary,
        difference=case.leader.against(values["other"]).text,
    )
    yield "price", text, values


def _routing(case: _Case) -> Advice:
    """The slices in which another retriever is best; or that there is no such slice."""
    comparison, metric, overall = case.comparison, case.primary, case.leader
    if overall is None or comparison.overall.found_nothing(metric):
        return
    n_routed = 0
    for part in comparison.slices:
        leader = part.leaders.get(metric)
        if leader is not None and leader.decided and leader.best != overall.best:
            values = {"field": part.field, "value": part.value, "best": leader.best}
            difference, n_routed = leader.against(overall.best), n_routed + 1
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
    if (fields := comparison.fields_told) and not n_routed:
        text = phrase(
            "The data does not support choosing a retriever by {fields}: in no slice another one "
            "than {best} is clearly best in {metric}.",
            fields=", ".join(fields),
            best=overall.best,
            metric=metric,
        )
        yield "no_routing", text, {"fields": list(fields), "metric": metric}


def _slices(case: _Case) -> Advice:
    """Where the leading retriever is worse than elsewhere by more than chance; too small slices."""
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
    # One without any gold is not too small.
    sizes = [(part, part.scored(metric)) for part in comparison.slices]
    if small := [(part, n) for part, n in sizes if 0 < n < FEW]:
        text = phrase(
            "Too few queries to say anything about {slices}; add questions until each has {few} or "
            "more.",
            slices=listed([f"{part.field} = {part.label} ({n})" for part, n in small]),
            few=FEW,
        )
        too_small = [[part.field, part.value, n] for part, n in small]
        yield "small_slices", text, {"slices": too_small}


def _saturated(case: _Case) -> Advice:
    """The shares in which every retriever is as good as can be."""
    comparison = case.comparison
    full = [
        metric
        for metric in comparison.metrics
        if definition_of(metric).is_share
        and definition_of(metric).of != "unanswerable"
        and all((means[metric].value or 0) >= _FULL for means in comparison.overall.means.values())
    ]
    if full and len(comparison.retrievers) > 1:
        text = phrase(
            "Every retriever that can be compared has nearly the highest value in {metrics}: "
            "harder questions or a smaller k would tell them apart."
            if comparison.not_comparable
            else "Every retriever has nearly the highest value in {metrics}: harder questions or a "
            "smaller k would tell them apart.",
            metrics=listed(full),
        )
        yield "saturated", text, {"metrics": full}


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


_RULES = (
    *(_equal, _cost, _price, _routing, _slices, _saturated),
    *(_unfound, _combination, _reranking),
)
"""The most important first."""

_UNSUPPORTED = ("no_routing", "small_slices")
"""What these say is that the data carries nothing."""


def beside_earlier(comparison: Comparison) -> Comparison:
    """The same where earlier results are at hand: one retriever is set against those."""
    before, *rest = comparison.recommendations
    if before.kind != "one_retriever" or comparison.not_comparable:
        return comparison
    text = phrase(
        "There is one retriever: what became of it since the earlier results stands below."
    )
    values = {"failed": [], "earlier": True}
    advice = Recommendation("one_retriever", text, False, values, before.cautions)
    return replace(comparison, recommendations=(advice, *rest))
