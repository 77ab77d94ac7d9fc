"""Retrievers that search several times: what they cost, and how many documents they bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import comb, isfinite
from typing import Any

from kragx.comparison.comparison import Comparison
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.side_by_side import search_alike
from kragx.evaluation.runs import RUNS
from kragx.ground.printing import listed, phrase
from kragx.metrics import known_metric
from kragx.metrics.intervals import ratio_difference_interval
from kragx.metrics.registry import split
from kragx.metrics.tool_names import in_kragx_words

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
    definition = known_metric(metric)
    return definition is not None and definition.name in names


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
    definition = known_metric(metric)
    if definition is None or definition.better != "higher":
        return False
    if definition.name == "evidence_recall":
        return split(metric)[1] != 1  # of the first step others may bring as much
    return _of_all(metric) == (True, False)


def _is_at_equal(metric: str) -> bool:
    """Whether a metric looks at as many documents, or tokens, of all searches."""
    return _of_all(metric) == (True, True)


def _of_all(metric: str) -> tuple[bool, bool]:
    """Whether a metric is about the list of all searches, and whether it cuts that."""
    _, k, options = split(in_kragx_words(metric))
    return options.get("of") == "all", k is not None
