"""What retrievers cost: how long they take, what each found gold item costs, what they bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb, isfinite
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import definition_of
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.side_by_side import search_alike
from kragx.comparison.statistics import TOLERANCE, difference_interval
from kragx.comparison.view import FEW
from kragx.evaluation.runs import RUNS
from kragx.ground.printing import listed, phrase
from kragx.metrics import METRICS, Floats
from kragx.metrics.intervals import ratio_difference_interval
from kragx.metrics.registry import split
from kragx.metrics.tool_names import in_kragx_words
from kragx.metrics.weights import weighted_mean

_SLOWER = 1.5
"""Who takes less than so many times as long is no slower."""

_LEAST_SECONDS = 0.001
_MEAN = "seconds_mean"
_TIMES = tuple(name for name, metric in METRICS.items() if metric.unit == "seconds")

SPEED = tuple(name for name, metric in METRICS.items() if "second" in metric.unit)
"""The metrics of how long it takes, and what is made of them."""


def slower(
    comparison: Comparison,
    scores: Sequence[RetrieverScores],
    slow: Sequence[str],
    fast: Sequence[str],
) -> dict[str, Any]:
    """The slowest of some against the fastest of others, which are looked at together.

    Nothing where that is noise: less than a millisecond, or an interval with 0, corrected for all
    pairs of retrievers, with half of the level where times are tested, too; or where no metric
    is a time, unless retrievers are set against themselves (`slow` is `fast`), who differ in
    nothing else: then it is by the seconds that their answers took.
    """
    metric = next((name for name in _TIMES if name in comparison.metrics), None)
    if metric is None and slow is not fast:
        return {}
    ids, means, weights = comparison.query_ids, comparison.overall.means, comparison.weights
    tables = {
        score.name: score.seconds_of(ids) if metric is None else score.table([metric], ids)[:, 0]
        for score in scores
        if score.name in (*slow, *fast)
    }
    # By a metric, or else the mean, what each takes, where it takes any time at all.
    of_all = {
        name: weighted_mean(values, weights) if metric is None else means[name][metric].value
        for name, values in tables.items()
    }
    seconds = {name: value for name, value in of_all.items() if value}
    slow, fast = (list(filter(seconds.__contains__, names)) for names in (slow, fast))
    if not slow or not fast:
        return {}
    slowest, fastest = max(slow, key=seconds.__getitem__), min(fast, key=seconds.__getitem__)
    long, short = seconds[slowest], seconds[fastest]
    metric = metric or _MEAN
    pair = np.stack([tables[slowest], tables[fastest]], axis=1)
    # A ratio of tiny times is the clock's, and a small ratio is no reason to change anything.
    if long - short < _LEAST_SECONDS or long / short < _SLOWER:
        return {}
    if not _is_slower(comparison, pair, metric):
        return {}
    return {
        "metric": metric,
        "slow": slowest,
        "fast": fastest,
        "slow_seconds": long,
        "fast_seconds": short,
        "ratio": long / short,
    }


def _is_slower(comparison: Comparison, pair: Floats, metric: str) -> bool:
    """Whether the first of (q, 2) times is the longer one by more than noise."""
    settings, n = comparison.statistics, len(comparison.retrievers)
    # The slowest and the fastest are picked from all pairs, so the interval is as wide as for all
    # of them (Bonferroni).
    looked_at = comb(n, 2) * (2 if comparison.n_tests_of_times else 1)
    ends = difference_interval(
        pair,
        METRICS[metric].number,  # type: ignore[arg-type]  # of some values there is one
        weights=comparison.weights,
        confidence=1 - settings.alpha / max(1, looked_at),
        seed=settings.seed,
    )
    return ends is not None and ends[0] > 0


def equal_groups(comparison: Comparison, scores: Sequence[RetrieverScores]) -> list[list[str]]:
    """The retrievers that find the same, as vector stores do over the same vectors, or by mistake.

    All values of theirs are equal but times, and not the same for every query, as where all is
    found; nor are there so few that chance makes them equal.
    """
    if comparison.overall.n < FEW:
        return []
    metrics = [metric for metric in comparison.metrics if metric not in SPEED]
    groups: list[list[RetrieverScores]] = []
    for score in scores:
        for group in groups:
            if _find_the_same(group[0], score, comparison, metrics):
                group.append(score)
                break
        else:
            groups.append([score])
    return [[member.name for member in group] for group in groups if len(group) > 1]


def _find_the_same(
    first: RetrieverScores, second: RetrieverScores, comparison: Comparison, metrics: Sequence[str]
) -> bool:
    """Whether two retrievers have the same numbers in some metrics, of which one varies."""
    varies = False
    for metric in metrics:
        values, right_values = (
            np.append(score.table([metric], comparison.query_ids), np.float64(score.means[metric]))
            for score in (first, second)
        )
        if not np.allclose(values, right_values, rtol=0, atol=TOLERANCE, equal_nan=True):
            return False
        measured = values[:-1][~np.isnan(values[:-1])]
        varies = varies or bool(measured.size and np.ptp(measured) > TOLERANCE)
    return varies


COSTS = ("tokens_per_gold", "seconds_per_gold", "searches_per_gold")
"""What a found gold item costs; the first that is known of all is told."""

AT_EQUAL = ("recall@10(of=all)", "recall@2000tokens(of=all)")
"""Metrics of all searches in which nobody has more documents, or more tokens, than another."""

_RATIO = 1.1
"""Who costs, or brings, less than so many times as much is no dearer, and brings no more."""


def _cost_metric(comparison: Comparison, best: str, rivals: Sequence[str]) -> str | None:
    """The cost that is told: of those compared the first that is known of the best and its rivals.

    Of a rival that found nothing the cost is infinite, which is known, too; of the best, and of one
    rival at least, it has to be a number. None without such a cost.
    """
    costs_of = (one for name in COSTS for one in comparison.metrics if _is_cost(one, [name]))
    for metric in costs_of:
        costs = {name: comparison.overall.means[name][metric].value for name in (best, *rivals)}
        finite = [name for name, cost in costs.items() if cost is not None and isfinite(cost)]
        if None not in costs.values() and best in finite and len(finite) > 1:
            return metric
    return None


def price(comparison: Comparison, scores: Sequence[RetrieverScores]) -> dict[str, Any]:
    """What the best costs beside the cheapest other, or of those that tie the cheapest.

    Nothing where that is noise: an interval of the difference that is not without 0, corrected for
    all pairs of retrievers; nor where the first metric is a cost, or searches are not looked at
    alike.

    Returns:
        The best, the other, what each costs by which metric, whether they tie, and the ratio.
    """
    leader = comparison.leader
    if leader is None or _is_cost(comparison.primary):
        return {}
    best = leader.best
    rivals = leader.tied or tuple(name for name in comparison.retrievers if name != best)
    metric = _cost_metric(comparison, best, rivals)
    if metric is None or not search_alike([score.settings for score in scores]):
        return {}
    means = comparison.overall.means
    costs = {name: means[name][metric].value or 0.0 for name in (best, *rivals)}
    cheapest = min(rivals, key=costs.__getitem__)  # what is infinite is never that
    low, high = sorted((costs[best], costs[cheapest]))
    dear, cheap = (best, cheapest) if costs[best] == high else (cheapest, best)
    # Of those that tie, it is of interest who is cheaper, not that the best is.
    is_expected = bool(leader.tied) and cheap == best and len(rivals) > 1
    if low <= 0 or high / low < _RATIO or is_expected:
        return {}
    if not _is_dearer(comparison, scores, metric, dear, cheap):
        return {}
    return {
        "metric": metric,
        "best": best,
        "best_cost": costs[best],
        "other": cheapest,
        "other_cost": costs[cheapest],
        "ratio": high / low,
        "dearer": dear == best,
        "tied": bool(leader.tied),
    }


def _is_cost(metric: str, names: Sequence[str] = COSTS) -> bool:
    return definition_of(metric).name in names


def _is_dearer(
    comparison: Comparison, scores: Sequence[RetrieverScores], metric: str, dear: str, cheap: str
) -> bool:
    """Whether one costs more than another by more than noise, of the compared questions."""
    ratios = {score.name: score.ratio_of(metric, comparison.query_ids) for score in scores}
    more, less = ratios.get(dear), ratios.get(cheap)
    if more is None or less is None:
        return False
    settings = comparison.statistics
    confidence = 1 - settings.alpha / max(1, comb(len(comparison.retrievers), 2))
    ends = ratio_difference_interval(more, less, confidence, settings.resamples, settings.seed)
    return ends is not None and ends[0] > 0


# -- as many documents ----------------------------------------------------------------------------


def unequal_documents(
    comparison: Comparison, scores: Sequence[RetrieverScores]
) -> tuple[str, dict[str, float]]:
    """That one brings more documents than another, and a metric counts all of them.

    More documents find more, whoever brings them. Nothing is said of metrics that look at as many
    of each, nor of those in which neither the leader nor one that ties with it brings more than
    another; nothing where that is the first metric, or it is not known how many there are.

    Returns:
        A sentence, empty without one, and how many documents a question each brings.
    """
    counts = {score.name: _documents(score) for score in scores}
    known = {name: n for name, n in counts.items() if n is not None}
    if len(known) < len(counts) or len(known) < 2:
        return "", {}
    # Against the least of all, not the next: whoever brings least has least to find with.
    least = min(known, key=known.__getitem__)
    most_of = {
        metric: max(_ahead(comparison, metric, counts), key=known.__getitem__)
        for metric in comparison.metrics
        if counts_all(metric)
    }
    unequal = [
        metric
        for metric, name in most_of.items()
        if known[name] >= _RATIO * max(known[least], 1e-9)
    ]
    if not unequal or (comparison.primary in most_of and comparison.primary not in unequal):
        return "", {}
    most = most_of[unequal[0]]
    return _more_documents(comparison, known, most, least, unequal), known


def _more_documents(
    comparison: Comparison, known: Mapping[str, float], most: str, least: str, unequal: list[str]
) -> str:
    """The sentence: who brings most and least, what gains from it, and what does not."""
    compared = [metric for metric in comparison.metrics if _is_at_equal(metric)]
    return phrase(
        "{most} brings {n:.1f} documents a question and {least} {n_least:.1f}, and more documents "
        "find more in {metrics}; with as many of each: {equal}"
        if compared
        else "{most} brings {n:.1f} documents a question and {least} {n_least:.1f}, and more "
        "documents find more in {metrics}; ask for {equal}, which look at as many of each",
        most=most,
        n=known[most],
        least=least,
        n_least=known[least],
        metrics=listed(unequal),
        equal=listed(compared or AT_EQUAL),
    )


def _ahead(comparison: Comparison, metric: str, names: Iterable[str]) -> tuple[str, ...]:
    """The leader in a metric and those that tie with it; all where nobody is known to lead."""
    leader = comparison.overall.leaders.get(metric)
    return tuple(names) if leader is None else (leader.best, *leader.tied)


def _documents(score: RetrieverScores) -> float | None:
    """How many documents it brings a question that it answered; None where that is not known."""
    n_questions, runs = int(score.counts.get("n_queries", 0)), score.counts.get(RUNS, {})
    if "n_documents" in runs:  # a question may fail in some runs alone
        n_runs = int(runs["n"])
        n_answers = n_runs * n_questions - int(runs["n_failed"])
    else:
        n_runs, n_answers = 1, n_questions - score.n_failed
    if score.n_documents is None or n_answers <= 0:
        return None
    return score.n_documents * n_runs / n_answers


def looks_at_as_many(comparison: Comparison) -> bool:
    """Whether some metric compares as many documents of all searches."""
    return any(map(_is_at_equal, comparison.metrics))


def counts_all(metric: str) -> bool:
    """Whether a metric gains from each document that any search brings."""
    definition = definition_of(metric)
    if definition.name == "evidence_recall":
        return split(metric)[1] != 1  # of the first step others may bring as much
    return definition.better == "higher" and _of_all(metric) == (True, False)


def _is_at_equal(metric: str) -> bool:
    """Whether a metric looks at as many documents, or tokens, of all searches."""
    return _of_all(metric) == (True, True)


def _of_all(metric: str) -> tuple[bool, bool]:
    """Whether a metric is about the list of all searches, and whether it cuts that."""
    _, k, options = split(in_kragx_words(metric))
    return options.get("of") == "all", k is not None
