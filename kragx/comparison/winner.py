"""The verdict: which retriever is best in the first metric, or that the data does not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kragx.comparison.comparison import Comparison, Recommendation
from kragx.comparison.estimate import Difference
from kragx.comparison.statistics import queries_needed
from kragx.comparison.view import Leader


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
    names, metric = [leader.best, *leader.tied], leader.metric
    if _all_equal(leader):
        return (
            f"{listed(names)} have the same value for every query in {metric}, {best} on average; "
            "the data does not say which is best."
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


def _all_equal(leader: Leader) -> bool:
    ties = _ties(leader)
    return bool(ties) and all(difference.never_differs for difference in ties)


def _queries_needed(comparison: Comparison, rival: Difference) -> int | None:
    """How many queries would decide between the leader and the one that comes next."""
    if rival.effect is None:
        return None
    n_tests = 1
    if comparison.statistics.correction != "none":
        # By how much the least p of the leaders' tests is multiplied.
        leaders = comparison.overall.leaders.values()
        tested = [each.p is not None for leader in leaders for each in leader.differences]
        n_tests = max(1, sum(tested))
    return queries_needed(rival.effect, 1 - comparison.statistics.alpha / n_tests)


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
