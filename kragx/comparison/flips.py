"""Flips: whether the order of retrievers depends on the threshold near the chosen one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.comparison.scores import RetrieverScores
from kragx.evaluation.evaluation import NEIGHBOURHOOD, Evaluation, Nearby
from kragx.printing import Line, Result, phrase

_EQUAL = 1e-12  # means that rounding alone tells apart are equal


@dataclass(frozen=True)
class Flips(Result):
    """Whether the order of several evaluations depends on the threshold near the chosen one.

    Attributes:
        metric: by which they are ordered.
        chosen: the threshold of the evaluations.
        neighbourhood: how far from it was looked.
        names: the evaluations, in their order.
        thresholds: (t) where it was looked, ascending.
        values: for each evaluation the metric at each threshold; None where it has none.
        leader: which is best at the chosen threshold; None if several are.
        led_by: what leads elsewhere, with the threshold nearest to the chosen one where it does.
        swapped: pairs (better, worse at the chosen threshold) whose order is reversed elsewhere,
            with the threshold nearest to the chosen one.
    """

    metric: str
    chosen: float
    neighbourhood: float
    names: tuple[str, ...]
    thresholds: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    leader: str | None
    led_by: dict[str, float]
    swapped: tuple[tuple[str, str, float], ...]

    def __bool__(self) -> bool:
        """Whether any order is reversed."""
        return bool(self.swapped)

    @property
    def involved(self) -> frozenset[str]:
        """Whose place is another near the threshold."""
        return frozenset(name for better, worse, _ in self.swapped for name in (better, worse))

    def warning(self) -> str | None:
        """One line for people; None if the order holds everywhere."""
        if not self.swapped:
            return None
        better, worse, threshold = min(self.swapped, key=lambda pair: abs(pair[2] - self.chosen))
        more = len(self.swapped) - 1
        return phrase(
            "the order depends on the threshold: at {chosen:g} {better!r} is ahead of {worse!r} in "
            "{metric}, at {threshold:g} behind; see kragx threshold sweep"
            if not more
            else "the order depends on the threshold: at {chosen:g} {better!r} is ahead of "
            "{worse!r} in {metric}, at {threshold:g} behind (and 1 other pair); see kragx "
            "threshold sweep"
            if more == 1
            else "the order depends on the threshold: at {chosen:g} {better!r} is ahead of "
            "{worse!r} in {metric}, at {threshold:g} behind (and {n} other pairs); see kragx "
            "threshold sweep",
            chosen=self.chosen,
            better=better,
            worse=worse,
            metric=self.metric,
            threshold=threshold,
            n=more,
        )

    def describe(self) -> Iterator[Line]:
        """Whether the order holds."""
        yield Line(
            self.warning()
            or phrase(
                "the order by {metric} holds near the threshold {chosen:g}",
                metric=self.metric,
                chosen=self.chosen,
            )
        )


def flips(
    evaluations: Sequence[Evaluation], metric: str, neighbourhood: float = NEIGHBOURHOOD
) -> Flips | None:
    """Whether another threshold within the neighbourhood orders the evaluations otherwise.

    Four thresholds on either side are tried, evenly spread. Only strict reversals count: what is
    equal at one threshold is no change of order. Of a judge the neighbours are the grades next to
    the chosen one.

    Args:
        evaluations: two or more under one matcher.
        metric: by which they are ordered.
        neighbourhood: how far below and above the chosen threshold to look.

    Returns:
        None where there is nothing to vary: fewer than two evaluations, a matcher that decides yes
        or no, different matchers, a pool, or a metric that is neither better high nor low.

    Examples:
        >>> from kragx import evaluate, flips
        >>> gold, match = [["the old red door"]], {"method": "rouge1", "threshold": 0.8}
        >>> lists = {"one": [["the old red door"]], "other": [["an old red door"]]}
        >>> results = evaluate(gold, lists, match=match, metrics=["mrr@5"]).evaluations.values()
        >>> bool(flips(list(results), "mrr@5"))
        False
    """
    measured = [evaluation.with_metrics([metric]) for evaluation in evaluations]
    return next(iter(all_flips(measured, neighbourhood).values()), None)


def all_flips(
    evaluations: Sequence[Evaluation], neighbourhood: float = NEIGHBOURHOOD
) -> dict[str, Flips]:
    """`flips` of every metric that all evaluations have and that has a direction, in one pass."""
    scores = [RetrieverScores.of(evaluation, neighbourhood) for evaluation in evaluations]
    return flips_between(scores, [metric for score in scores[:1] for metric in score.means])


def flips_between(scores: Sequence[RetrieverScores], metrics: Iterable[str]) -> dict[str, Flips]:
    """`flips` of these metrics, by what retrievers scored near their threshold."""
    nearby = [score.nearby for score in scores if score.nearby is not None]
    if (
        len(nearby) < max(2, len(scores))
        or len({around.thresholds for around in nearby}) > 1
        or any(own.settings["match"] != scores[0].settings["match"] for own in scores)
    ):
        return {}
    names, better = tuple(own.name for own in scores), scores[0].better
    return {
        metric: _flips_of(metric, names, nearby, sign=1 if better[metric] == "higher" else -1)
        for metric in metrics
        if better[metric] != "neither" and all(metric in around.means for around in nearby)
    }


def flips_warning(flips: Iterable[Flips]) -> str | None:
    """One line about all metrics in which the order is reversed; None if it holds in each."""
    turning = list(filter(None, flips))
    if not turning:
        return None
    if len(turning) == 1:
        return turning[0].warning()
    others = ", ".join(other.metric for other in turning[1:])
    first = turning[0].warning()
    return phrase("{warning} (also in {metrics})", warning=first, metrics=others)


def _flips_of(metric: str, names: tuple[str, ...], nearby: Sequence[Nearby], *, sign: int) -> Flips:
    chosen, thresholds = nearby[0].chosen, nearby[0].thresholds
    rows = tuple(around.means[metric] for around in nearby)
    # From here on the thresholds nearest to the chosen one come first, itself before all.
    order = sorted(range(len(thresholds)), key=lambda place: abs(thresholds[place] - chosen))
    values = sign * np.array(rows, np.float64)[:, order]  # None becomes NaN
    ahead = values[:, None] - values  # (r, r, t) by how much each retriever is ahead of each
    behind = ahead < -_EQUAL
    reversed_pairs = np.argwhere((ahead[..., 0] > _EQUAL) & behind.any(axis=2)).tolist()
    known = np.nan_to_num(values, nan=-np.inf)
    leaders = known.argmax(axis=0).tolist()
    best = leaders[0] if (values[:, 0] == known[:, 0].max()).sum() == 1 else None
    led_by: dict[str, float] = {}
    for column, leader in enumerate(leaders):
        if best is not None and known[leader, column] > values[best, column] + _EQUAL:
            led_by.setdefault(names[leader], thresholds[order[column]])
    return Flips(
        metric=metric,
        chosen=chosen,
        neighbourhood=nearby[0].neighbourhood,
        names=names,
        thresholds=thresholds,
        values=rows,
        leader=None if best is None else names[best],
        led_by=led_by,
        swapped=tuple(
            (names[better], names[worse], thresholds[order[behind[better, worse].argmax()]])
            for better, worse in sorted(reversed_pairs, key=sorted)
        ),
    )
