"""Flips: whether the order of retrievers depends on the threshold near the chosen one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.thresholds import NEIGHBOURHOOD, Nearby
from kragx.metrics import metric

_EQUAL = 1e-12  # means that rounding alone tells apart are equal


@dataclass(frozen=True)
class Flips:
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

    def warning(self) -> str | None:
        """One line for people; None if the order holds everywhere."""
        if not self.swapped:
            return None
        first = min(self.swapped, key=lambda each: abs(each[2] - self.chosen))
        better, worse, threshold = first
        more = len(self.swapped) - 1
        rest = f" (and {more} other pairs)" if more > 1 else " (and 1 other pair)" if more else ""
        return (
            f"the order depends on the threshold: at {self.chosen:g} {better!r} is ahead of "
            f"{worse!r} in {self.metric}, at {threshold:g} behind{rest}; see kragx threshold sweep"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "metric": self.metric,
            "chosen": self.chosen,
            "neighbourhood": self.neighbourhood,
            "thresholds": list(self.thresholds),
            "values": dict(zip(self.names, map(list, self.values))),
            "leader": self.leader,
            "led_by": dict(self.led_by),
            "swapped": [list(each) for each in self.swapped],
        }


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
    """
    found = all_flips([each.with_metrics([metric]) for each in evaluations], neighbourhood)
    return next(iter(found.values()), None)


def all_flips(
    evaluations: Sequence[Evaluation], neighbourhood: float = NEIGHBOURHOOD
) -> dict[str, Flips]:
    """`flips` of every metric that all evaluations have and that has a direction, in one pass."""
    matches = [each.settings["match"] for each in evaluations]
    if any(match != matches[0] for match in matches):
        return {}
    higher = {name: metric(name).higher_is_better for each in evaluations for name in each.mean}
    return flips_between(
        [each.name for each in evaluations],
        [each.around(neighbourhood) for each in evaluations],
        {name: way for name, way in higher.items() if way is not None},
    )


def flips_between(
    names: Sequence[str], nearby: Sequence[Nearby | None], higher: Mapping[str, bool]
) -> dict[str, Flips]:
    """`flips` of the values that evaluations under one matcher have near its threshold.

    Args:
        names: what the evaluations are called.
        nearby: of each its values; None where there is nothing to vary.
        higher: the metrics to look at, and whether more is better.
    """
    known = [each for each in nearby if each is not None]
    if len(known) < max(2, len(names)) or len({each.thresholds for each in known}) > 1:
        return {}
    return {
        metric: _flips_of(
            metric, tuple(names), known[0], [each.means[metric] for each in known], way
        )
        for metric, way in higher.items()
        if all(metric in each.means for each in known)
    }


def flips_warning(found: Iterable[Flips]) -> str | None:
    """One line about all metrics in which the order is reversed; None if it holds in each."""
    warned = [each for each in found if each]
    if not warned:
        return None
    first = warned[0].warning()
    others = ", ".join(each.metric for each in warned[1:])
    return f"{first} (also in {others})" if others else first


def _flips_of(
    metric: str,
    names: tuple[str, ...],
    nearby: Nearby,
    rows: Sequence[Sequence[float | None]],
    higher: bool,
) -> Flips:
    chosen, at = nearby.chosen, nearby.thresholds
    values = np.array([[np.nan if v is None else v for v in row] for row in rows], np.float64)
    signed = values if higher else -values
    here = at.index(chosen)
    nearest = sorted(range(len(at)), key=lambda place: abs(at[place] - chosen))
    best = np.flatnonzero(signed[:, here] == np.nanmax(signed[:, here], initial=-np.inf))
    swapped = []
    for one, other in combinations(range(len(names)), 2):
        lead = signed[one] - signed[other]
        if not abs(lead[here]) > _EQUAL:
            continue
        places = [place for place in nearest if lead[place] * np.sign(lead[here]) < -_EQUAL]
        if places:
            better, worse = (one, other) if lead[here] > 0 else (other, one)
            swapped.append((names[better], names[worse], at[places[0]]))
    led_by: dict[str, float] = {}
    if len(best) == 1:
        for place in nearest:
            column = signed[:, place]
            if np.isfinite(column).any() and np.nanmax(column) > column[best[0]] + _EQUAL:
                led_by.setdefault(names[int(np.nanargmax(column))], at[place])
    return Flips(
        metric=metric,
        chosen=chosen,
        neighbourhood=nearby.neighbourhood,
        names=names,
        thresholds=at,
        values=tuple(map(tuple, rows)),
        leader=names[int(best[0])] if len(best) == 1 else None,
        led_by=led_by,
        swapped=tuple(swapped),
    )
