"""What follows from a comparison, and what does not: each with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb, inf, nan, sqrt
from typing import Any

import numpy as np

from kragx.comparison.columns import taken
from kragx.comparison.comparison import Comparison, Recommendation
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import (
    TOLERANCE,
    deciding,
    difference_interval,
    queries_needed,
)
from kragx.comparison.view import FEW, Difference, Leader
from kragx.metrics import METRICS, Bools, Floats, known_metric
from kragx.printing import joined, listed, number, phrase

MANY = 10
"""Beyond so many times the sample nobody can say how many queries would decide."""

TELLING = 20
"""Fewer queries than this do not say how many would decide: their effect may be any."""

_NAMED = 10_000
"""So many queries are named at most."""

_GAP = 0.05
_RATIO = 1.5
_LEAST_SECONDS = 0.001
_FULL = 0.99
_MEAN = "seconds_mean"
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
    told = verdict(comparison)
    if not comparison.retrievers:
        return (told,)
    equal = _equal_groups(comparison, scores)
    return (
        told,
        *_equal(comparison, scores, equal),
        *_cost(comparison, scores, equal),
        *_routing(comparison),
        *_weak_slices(comparison),
        *_small_slices(comparison),
        *_saturated(comparison),
        *_what_is_found(comparison, scores),
        *(() if told.values.get("found_in") else _reranking(comparison)),
    )


def _equal_groups(comparison: Comparison, scores: Sequence[RetrieverScores]) -> list[list[str]]:
    """The retrievers that find the same, as vector stores do over the same vectors, or by mistake.

    All values of theirs are equal but times, and not the same for every query, as where all is
    found; nor are there so few that chance makes them equal.
    """
    if comparison.overall.n < FEW:
        return []
    metrics = [metric for metric in comparison.metrics if metric not in _SPEED]
    groups: list[list[RetrieverScores]] = []
    for own in scores:
        group = next((of for of in groups if _find_the_same(of[0], own, comparison, metrics)), None)
        if group is None:
            groups.append([own])
        else:
            group.append(own)
    return [[own.name for own in group] for group in groups if len(group) > 1]


def _equal(
    comparison: Comparison, scores: Sequence[RetrieverScores], groups: Sequence[Sequence[str]]
) -> Iterator[Recommendation]:
    """The groups of equal retrievers, and where one takes longer than another all the same."""
    if not groups:
        return
    slower = [own for names in groups if (own := _Slower.of(comparison, scores, names, names))]
    told = (
        phrase(
            "{slow} takes {ratio:.1f} times as long as {fast}: {slow_s} s against {fast_s} s "
            "({metric}).",
            slow=own.slow,
            ratio=own.ratio,
            fast=own.fast,
            slow_s=number(own.slow_seconds),
            fast_s=number(own.fast_seconds),
            metric=own.metric,
        )
        for own in slower
    )
    said = phrase(
        "The same for every query in all metrics but times: {groups}. Whichever is used, as much "
        "is found; if they were meant to differ, look at their settings.",
        groups=joined("; ", map(listed, groups)),
    )
    yield _advice(
        "equal",
        joined(" ", [said, *told]),
        groups=list(map(list, groups)),
        slower=[vars(own) for own in slower],
    )


@dataclass(frozen=True)
class _Slower:
    """One retriever that takes longer than another, by more than noise.

    Attributes:
        metric: of which time.
        slow, fast: the two.
        slow_seconds, fast_seconds: theirs.
        ratio: how many times as long.
    """

    metric: str
    slow: str
    fast: str
    slow_seconds: float
    fast_seconds: float
    ratio: float

    @classmethod
    def of(
        cls,
        comparison: Comparison,
        scores: Sequence[RetrieverScores],
        slow: Sequence[str],
        fast: Sequence[str],
    ) -> _Slower | None:
        """The slowest of some against the fastest of others, which are looked at together.

        None where that is noise: less than a millisecond, or an interval with 0, corrected for all
        pairs of retrievers, with half of the level where times are tested, too; or where no metric
        is a time, unless retrievers are set against themselves (`slow` is `fast`), who differ in
        nothing else: then it is by the seconds that their answers took.
        """
        metric = next((name for name in _TIMES if name in comparison.metrics), None)
        if metric is None and slow is not fast:
            return None
        tables = {
            score.name: score.seconds_of(comparison.query_ids)
            if metric is None
            else score.table([metric], comparison.query_ids)[:, 0]
            for score in scores
            if score.name in (*slow, *fast)
        }
        means = comparison.overall.means
        seconds = {
            name: value
            for name, values in tables.items()
            if (value := _mean(values) if metric is None else means[name][metric].value)
        }
        slow, fast = (list(filter(seconds.__contains__, names)) for names in (slow, fast))
        if not slow or not fast:
            return None
        slowest, fastest = max(slow, key=seconds.__getitem__), min(fast, key=seconds.__getitem__)
        long, short = seconds[slowest], seconds[fastest]
        if long - short < _LEAST_SECONDS or long / short < _RATIO:
            return None
        metric = metric or _MEAN
        settings, n = comparison.statistics, len(comparison.retrievers)
        looked_at = comb(n, 2) * (2 if comparison.n_tests_of_times else 1)
        ends = difference_interval(
            np.stack([tables[slowest], tables[fastest]], axis=1),
            METRICS[metric].number,
            confidence=1 - settings.alpha / max(1, looked_at),
            seed=settings.seed,
        )
        is_noise = ends is None or ends[0] <= 0
        return None if is_noise else cls(metric, slowest, fastest, long, short, long / short)


def _mean(seconds: Floats) -> float | None:
    """The mean of those that are known."""
    known = seconds[~np.isnan(seconds)]
    return float(known.mean()) if known.size else None


def _find_the_same(
    one: RetrieverScores, other: RetrieverScores, comparison: Comparison, metrics: Sequence[str]
) -> bool:
    """Whether two retrievers have the same numbers in some metrics, of which one varies."""
    varies = False
    for metric in metrics:
        values, others = (
            np.append(own.table([metric], comparison.query_ids), np.float64(own.means[metric]))
            for own in (one, other)
        )
        if not np.allclose(values, others, rtol=0, atol=TOLERANCE, equal_nan=True):
            return False
        known = values[:-1][~np.isnan(values[:-1])]
        varies = varies or bool(known.size and np.ptp(known) > TOLERANCE)
    return varies


def _cost(
    comparison: Comparison, scores: Sequence[RetrieverScores], equal: Sequence[Sequence[str]]
) -> Iterator[Recommendation]:
    """What the best takes longer than the fastest, or the fastest of those that tie with it.

    But for what is said of equal ones.
    """
    leader, primary, means = comparison.leader, comparison.primary, comparison.overall.means
    if leader is None or primary in _SPEED:
        return
    # Whoever finds nothing is soon done; with few questions that, too, may be a tie.
    tied = [leader.best, *(name for name in leader.tied if means[name][primary].value)]
    candidates = tied if leader.tied else comparison.retrievers
    slower = _Slower.of(comparison, scores, [leader.best], candidates)
    if slower is None or any({slower.slow, slower.fast} <= set(names) for names in equal):
        return
    metric, fastest, ratio = slower.metric, slower.fast, slower.ratio
    slow, fast = slower.slow_seconds, slower.fast_seconds
    yield _advice(
        "cost",
        phrase(
            "Of those that cannot be told apart in {primary}, {fastest} is the fastest: {fast} s "
            "against {slow} s ({metric}) of {best}, {ratio:.1f} times less.",
            primary=primary,
            fastest=fastest,
            fast=number(fast),
            slow=number(slow),
            metric=metric,
            best=leader.best,
            ratio=ratio,
        )
        if leader.tied
        else phrase(
            "{best} takes {ratio:.1f} times as long as {fastest}: {fast} s against {slow} s "
            "({metric}). What that buys: in {primary} the {difference}.",
            best=leader.best,
            ratio=ratio,
            fastest=fastest,
            fast=number(fast),
            slow=number(slow),
            metric=metric,
            primary=primary,
            difference=leader.against(fastest).text,
        ),
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
    metric, overall, fields = comparison.primary, comparison.leader, comparison.fields_told
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
            phrase(
                "For {field} = {value} ({n} queries) {best} is better than every other retriever "
                "in {metric}, unlike over all queries; to {overall} the {difference}. Consider "
                "choosing the retriever by {field}.",
                field=part.field,
                value=part.label,
                n=leader.against(overall.best).n,
                best=leader.best,
                metric=metric,
                overall=overall.best,
                difference=leader.against(overall.best).text,
            ),
            field=part.field,
            value=part.value,
            best=leader.best,
            metric=metric,
        )
    if not others:
        yield _advice(
            "no_routing",
            phrase(
                "The data does not support choosing a retriever by {fields}: in no slice another "
                "one than {best} is clearly best in {metric}.",
                fields=", ".join(fields),
                best=overall.best,
                metric=metric,
            ),
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
            phrase(
                "{name} is clearly worse for {field} = {value}: {metric} is {mean} on its {n} "
                "queries, against {whole} over all. Look there first.",
                name=name,
                field=part.field,
                value=part.label,
                metric=metric,
                mean=own.text,
                n=own.n,
                whole=whole.text,
            ),
            field=part.field,
            value=part.value,
            retriever=name,
            metric=metric,
            mean=own.value,
            n=own.n,
            p_adjusted=p,
        )


def _small_slices(comparison: Comparison) -> Iterator[Recommendation]:
    """The slices of which nothing can be said; one without any gold is not too small."""
    sizes = [(part, part.scored(comparison.primary)) for part in comparison.slices]
    if small := [(part, n) for part, n in sizes if 0 < n < FEW]:
        names = listed([f"{part.field} = {part.label} ({n})" for part, n in small])
        yield _advice(
            "small_slices",
            phrase(
                "Too few queries to say anything about {slices}; add questions until each has "
                "{few} or more.",
                slices=names,
                few=FEW,
            ),
            supported=False,
            slices=[[part.field, part.value, n] for part, n in small],
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
            phrase(
                "Every retriever that can be compared has nearly the highest value in {metrics}: "
                "harder questions or a smaller k would tell them apart."
                if comparison.not_comparable
                else "Every retriever has nearly the highest value in {metrics}: harder questions "
                "or a smaller k would tell them apart.",
                metrics=listed(full),
            ),
            metrics=full,
        )


def _what_is_found(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> Iterator[Recommendation]:
    """The queries for which nothing is found: by nobody, or by all but the best."""
    depths = _by_depth(comparison, "recall", "hit_rate")
    if not depths or (metric := depths[-1][-1]) in comparison.run_level:
        return
    table = np.hstack([score.table([metric], comparison.query_ids) for score in scores])
    hits, known = table > TOLERANCE, np.asarray(~np.isnan(table).any(axis=1))
    n = int(known.sum())

    def ids(rows: Bools) -> list[str]:
        return list(taken(comparison.query_ids, np.flatnonzero(rows)[:_NAMED]))

    found = np.asarray(hits.any(axis=1))
    nowhere = known & ~found
    if n_nowhere := int(nowhere.sum()):
        yield _advice(
            "unfound",
            phrase(
                "{n} of {of} queries has {metric} = 0 for {every} ({queries}): look at their gold "
                "and at the corpus before tuning a retriever."
                if n_nowhere == 1
                else "{n} of {of} queries have {metric} = 0 for {every} ({queries}): look at their "
                "gold and at the corpus before tuning a retriever.",
                n=n_nowhere,
                of=n,
                metric=metric,
                every=_every(comparison) if len(scores) > 1 else phrase("the retriever"),
                queries=listed(ids(nowhere), 5, n_nowhere),
            ),
            metric=metric,
            n=n,
            query_ids=ids(nowhere),
        )
    missed = known & ~hits[:, comparison.retrievers.index(comparison.best)]
    gained = missed & found
    n_missed, n_gained = int(missed.sum()), int(gained.sum())
    if n_gained and n_gained >= n / 50 and comparison.leader is not None:
        yield _advice(
            "combination",
            phrase(
                "Of the 1 query with {metric} = 0 for {best} another retriever finds something for "
                "{n_gained}; a combination could gain those at most."
                if n_missed == 1
                else "Of the {n} queries with {metric} = 0 for {best} another retriever finds "
                "something for {n_gained}; a combination could gain those at most.",
                n=n_missed,
                metric=metric,
                best=comparison.best,
                n_gained=n_gained,
            ),
            metric=metric,
            best=comparison.best,
            query_ids=ids(gained),
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
            phrase(
                "{name} finds more gold further down: {far} is {high}, {near} is {low}. Reranking "
                "could raise {near} by {gain} at most.",
                name=name,
                far=far,
                high=number(high),
                near=near,
                low=number(low),
                gain=number(high - low),
            ),
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
    text: str
    if not comparison.retrievers:
        text = phrase(
            "Every retriever failed or returned nothing, so there is nothing to compare."
            if any(failure.nothing for failure in comparison.failures)
            else "Every retriever failed, so there is nothing to compare."
            if len(lost) > 1
            else "The retriever {name} failed, so there is nothing to compare.",
            name=lost[0],
        )
        return _advice("no_winner", text, supported=False, metric=metric, failed=list(lost))
    if len(comparison.retrievers) == 1:
        text = (
            phrase(
                "Only {best} can be compared, as {lost} failed or returned nothing."
                if any(own.nothing for own in comparison.failures)
                else "Only {best} can be compared, as {lost} failed.",
                best=comparison.best,
                lost=listed(lost),
            )
            if lost
            else phrase(
                "There is one retriever, and so nothing to choose between; add another, or "
                "earlier results (--earlier), to compare."
            )
        )
        return _advice("one_retriever", text, supported=False, failed=list(lost))
    if leader is None:
        return _advice(
            "no_winner",
            phrase(
                "{metric} has no direction or no value, so it does not say which retriever is "
                "best.",
                metric=metric,
            ),
            supported=False,
            metric=metric,
        )
    if comparison.overall.found_nothing(metric):
        text = phrase(
            "None found anything: {metric} is 0 for {every}, and so none is better. Look at the "
            "gold and the matcher first.",
            metric=metric,
            every=_every(comparison),
        )
        nothing = _advice("no_winner", text, supported=False, metric=metric, nothing_found=True)
        return _found_elsewhere(comparison) or nothing
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
        text = phrase(
            "Use {best}: in {metric} it is better than every other retriever that can be compared, "
            "with {value}. The next is {next}; the {difference}."
            if comparison.not_comparable
            else "Use {best}: in {metric} it is better than every other retriever, with {value}. "
            "The next is {next}; the {difference}.",
            best=leader.best,
            metric=metric,
            value=best.text,
            next=rival.against,
            difference=rival.text,
        )
        opposite = list(_opposite(comparison, leader))
        values["opposite"] = [
            {
                "metrics": metrics,
                "retriever": other.retriever,
                "difference": other.value,
                "low": other.low,
                "high": other.high,
                "p_adjusted": other.p_adjusted,
            }
            for metrics, other in opposite
        ]
        text = joined(" ", [text, *(_opposed(metrics, other) for metrics, other in opposite)])
        return _advice("winner", text, **values)
    text = _undecided(leader, rival, best.text)
    if leader.tested:
        needed = _Needed.of(comparison, rival)
        text = joined(" ", [text, needed.text])
        values["queries_needed"] = needed.few
        values["queries_needed_at_most"] = needed.most
        values["many_more"] = needed.many_more
    return _advice("no_winner", text, supported=False, **values)


def _found_elsewhere(comparison: Comparison) -> Recommendation | None:
    """Where the first metric is 0 for all, what another one says is found; None if none does."""
    metric, means = comparison.primary, comparison.overall.means
    by_any = {other for name in means for other in comparison.overall.finds(name)}
    seen = [other for other in comparison.metrics if other in by_any]
    if not seen:
        return None
    deepest = [other for *_, other in _by_depth(comparison, "recall", "hit_rate") if other in seen]
    far = deepest[-1] if deepest else seen[0]
    name = max(means, key=lambda name: means[name][far].value or 0)
    deeper = _depth(far) > _depth(metric)
    text = phrase(
        "{metric} is 0 for {every}, and so none is better in it; but gold stands further down: "
        "{far} is {value} for {name}. Reranking could bring it up."
        if deeper
        else "{metric} is 0 for {every}, and so none is better in it; but gold is found: {far} is "
        "{value} for {name}. Put a metric first that sees it.",
        metric=metric,
        every=_every(comparison),
        far=far,
        value=number(means[name][far].value),
        name=name,
    )
    return _advice(
        "no_winner",
        text,
        supported=False,
        metric=metric,
        found_in=far,
        found_by=name,
        found=means[name][far].value,
        deeper=deeper,
    )


def _depth(metric: str) -> float:
    """The rank at which a metric cuts; infinite for the whole list, NaN for a budget."""
    k = metric.partition("@")[2].partition("(")[0]
    return float(k) if k.isdigit() else nan if k else inf


def _opposite(comparison: Comparison, leader: Leader) -> Iterator[tuple[list[str], Difference]]:
    """Who is better than the leader in another metric, for sure: in which, and the first of them.

    Times and what is made of them are another matter.
    """
    found: dict[str, list[Difference]] = {}
    for metric, other in comparison.overall.leaders.items():
        if metric == leader.metric or "second" in _unit(metric) or other.best == leader.best:
            continue
        for difference in other.differences:
            if difference.against == leader.best and difference.decided:
                found.setdefault(other.best, []).append(difference)
    for differences in found.values():
        yield [own.metric for own in differences], differences[0]


def _unit(metric: str) -> str:
    known = known_metric(metric)
    return "" if known is None else known.unit


def _opposed(metrics: Sequence[str], difference: Difference) -> str:
    return phrase(
        "But {retriever} is better than it in {metric}: the {difference}."
        if len(metrics) == 1
        else "But {retriever} is better than it in {metrics}: in {metric} the {difference}.",
        retriever=difference.retriever,
        metric=difference.metric,
        metrics=listed(metrics),
        difference=difference.text,
    )


def beside_earlier(comparison: Comparison) -> Comparison:
    """The same where earlier results are at hand: one retriever is set against those."""
    verdict, *others = comparison.recommendations
    if verdict.kind != "one_retriever" or comparison.not_comparable:
        return comparison
    text = phrase(
        "There is one retriever: what became of it since the earlier results stands below."
    )
    told = _advice("one_retriever", text, supported=False, failed=[], earlier=True)
    told = replace(told, cautions=verdict.cautions)
    return replace(comparison, recommendations=(told, *others))


def beside_setting(
    comparison: Comparison, said: str, take: str | None, *, sure: bool
) -> Comparison:
    """The same where a grid says which setting to take: that is the only verdict.

    Context and time are part of that choice, so what the best one costs is no advice beside it.

    Args:
        comparison: of the settings, over all questions.
        said: which to take, as the grid says it.
        take: the setting; None where nothing can be said.
        sure: whether the data carries it.
    """
    verdict, *others = comparison.recommendations
    metric, best = comparison.primary, comparison.best
    setting = _advice("setting", said, supported=sure, metric=metric, take=take)
    told = [replace(setting, cautions=verdict.cautions)]
    if verdict.values.get("nothing_found") or verdict.values.get("found_in"):
        told.append(replace(verdict, supported=True, cautions=()))
    elif comparison.leader is not None and take != best:
        text = phrase(
            "Over all questions, those that chose among them, {best} has the best {metric}. What "
            "else is said here, and the marks of tables, is about that and chooses no setting.",
            best=best,
            metric=metric,
        )
        told.append(_advice("over_all", text, metric=metric, best=best, take=take))
    kept = (own for own in others if own.kind != "cost")
    return replace(comparison, recommendations=(*told, *kept))


def _advice(kind: str, text: str, *, supported: bool = True, **values: Any) -> Recommendation:
    return Recommendation(kind, text, supported, values)


def _every(comparison: Comparison) -> str:
    """All retrievers but those that failed on more than is tolerated: nothing is said of them."""
    return phrase(
        "every retriever that can be compared" if comparison.not_comparable else "every retriever"
    )


def _undecided(leader: Leader, rival: Difference, best: str) -> str:
    metric = leader.metric
    if leader.ties and all(tie.never_differs for tie in leader.ties):
        return phrase(
            "{names} have the same value for every query in {metric}, {value} on average; the data "
            "does not say which is best.",
            names=listed([leader.best, *leader.tied]),
            metric=metric,
            value=best,
        )
    ties = tuple(name for name in leader.tied if name not in leader.shared)
    if not leader.tested:
        reason = phrase("it is a run's own number, which is not tested")
    elif len(leader.shared) > 1 and not ties:
        reason = phrase("cannot be told from each other")
    else:
        reason = phrase(
            "cannot be told from {ties}: the {difference}"
            if ties == (rival.against,)
            else "cannot be told from {ties}; to {rival} the {difference}",
            ties=listed(ties),
            rival=rival.against,
            difference=rival.text,
        )
    return phrase(
        "The data does not say which retriever is best in {metric}: {names} have the best value, "
        "{value}, but {reason}."
        if len(leader.shared) > 1
        else "The data does not say which retriever is best in {metric}: {names} has the best "
        "value, {value}, but {reason}.",
        metric=metric,
        names=listed(leader.shared),
        value=best,
        reason=reason,
    )


@dataclass(frozen=True)
class _Needed:
    """How many queries would decide between the leader and the one that comes next.

    The difference itself is known no better than its standard error, so the ends are those of a
    difference larger and smaller by one, in two digits.

    Attributes:
        few: at the least; None where nothing differs, beyond `MANY` times the sample, and of fewer
            than `TELLING` queries, as one more would seem to do.
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
        n, error = rival.n, 1 / sqrt(max(rival.n, 1))
        if n < TELLING or rival.effect is None:
            return cls(None, None, n < TELLING and not rival.never_differs, n)
        settings = comparison.statistics
        fewest = max(n + 1, deciding(settings.alpha, settings.resamples) or 0)
        effects = (abs(rival.effect) + error, abs(rival.effect) - error)
        few, most = (
            None if needed is None or needed > MANY * n else _two_digits(max(needed, fewest))
            for needed in (queries_needed(effect, comparison.least) for effect in effects)
        )
        return cls(few, most, most is None, n)

    @property
    def text(self) -> str:
        if self.few is None and not self.many_more:
            return ""
        return phrase(
            "So few queries ({n}) do not say how many would decide; some fifty are a start."
            if self.n < TELLING
            else "Many more queries would be needed to decide (there are {n:,})."
            if self.few is None
            else "It would take about {few:,} queries at the least, perhaps many more (there are "
            "{n:,})."
            if self.most is None
            else "About {few:,} queries would decide (there are {n:,})."
            if self.few == self.most
            else "About {few:,} to {most:,} queries would decide (there are {n:,}).",
            few=self.few,
            most=self.most,
            n=self.n,
        )


def _two_digits(n: int) -> int:
    """The least number of two digits and zeros that is not below."""
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return unit * -(-n // unit)


def _nearest_rival(comparison: Comparison, leader: Leader) -> Difference:
    """The leader against the one that comes next: tied ones first, but for those that are equal."""
    means, metric = comparison.overall.means, leader.metric
    top = min if comparison.better[metric] == "lower" else max
    others = [tie for tie in leader.ties if not tie.never_differs]
    # A leader is only compared with those that have a value.
    return top(
        others or leader.ties or leader.differences,
        key=lambda difference: means[difference.against][metric].value or 0.0,
    )
