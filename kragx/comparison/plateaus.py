"""Plateaus: the thresholds around the chosen one at which retrievers keep their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.comparison.scores import direction
from kragx.evaluation.sweep import Sweep, around
from kragx.metrics import Bools
from kragx.printing import Line, Result, joined, number, phrase

_EQUAL = 1e-12  # means that rounding alone tells apart are equal
_NAMED = 4  # retrievers of an order that are named


@dataclass(frozen=True)
class Departure:
    """Where an order ends: the nearest threshold with another, and a pair that stands otherwise.

    Attributes:
        threshold: the first one beyond the plateau.
        ahead, behind: the pair as it stands there.
        equal: whether the two are equal there, and neither is ahead.
        n_more: how many other pairs stand otherwise.
    """

    threshold: float
    ahead: str
    behind: str
    equal: bool
    n_more: int

    @property
    def text(self) -> str:
        """The threshold, and how the pair stands there."""
        pair = phrase(
            "at {threshold:.4g} {ahead!r} and {behind!r} are equal"
            if self.equal
            else "at {threshold:.4g} {ahead!r} is ahead of {behind!r}",
            threshold=self.threshold,
            ahead=self.ahead,
            behind=self.behind,
        )
        more = phrase(
            "(and 1 more pair)" if self.n_more == 1 else "(and {n} more pairs)", n=self.n_more
        )
        return joined(" ", [pair, more if self.n_more else ""])

    def __str__(self) -> str:
        return str(self.text)


@dataclass(frozen=True)
class Plateau(Result):
    """The thresholds around the chosen one at which no two retrievers change their order.

    Two that are equal are in an order of their own: where everything matches all are equal, and
    that is no plateau of an order by which one was ahead.

    Attributes:
        metric: by which they are ordered.
        match: names the matcher.
        chosen: the threshold of the evaluations.
        low, high: its ends; both were looked at.
        order: the retrievers, the best first, those that are equal together.
        value: of all of them, where they are equal at the chosen threshold.
        below, above: where the order ends; None where no threshold beyond was looked at.

    Examples:
        >>> from kragx import evaluate, plateaus, sweep
        >>> gold, match = [["the old red door"]], {"method": "rouge1", "threshold": 0.8}
        >>> lists = {"one": [["the old red door"]], "other": [["an old red door"]]}
        >>> results = evaluate(gold, lists, match=match, metrics=["mrr@5"]).evaluations.values()
        >>> [plateau] = plateaus([sweep(result) for result in results])
        >>> plateau.order
        (('one',), ('other',))
    """

    metric: str
    match: str
    chosen: float
    low: float
    high: float
    order: tuple[tuple[str, ...], ...]
    value: float | None
    below: Departure | None
    above: Departure | None

    def describe(self) -> Iterator[Line]:
        """The order, from where to where it holds, and what ends it."""
        order = " > ".join(" = ".join(names) for names in self.order[:_NAMED])
        more = sum(map(len, self.order[_NAMED:]))
        names = phrase("{order} > {n} more", order=order, n=more) if more else order
        where = phrase(
            "at the chosen threshold {chosen:g} alone"
            if self.low == self.high
            else "from threshold {low:.4g} to {high:.4g}, around the chosen {chosen:g}",
            low=self.low,
            high=self.high,
            chosen=self.chosen,
        )
        held = phrase(
            "{metric}: plateau: the order {order} holds {where}"
            if self.value is None
            else "{metric}: no order: all are equal, {value}, {where}",
            metric=self.metric,
            order=names,
            value=number(self.value),
            where=where,
        )
        ends = (end.text for end in (self.below, self.above) if end is not None)
        yield Line(joined("; ", [held, *ends]))


def plateaus(sweeps: Sequence[Sweep]) -> tuple[Plateau, ...]:
    """The plateau of each metric that all sweeps have and that has a direction.

    Args:
        sweeps: of several retrievers under one matcher, at the same thresholds.

    Returns:
        None of one retriever, where the sweeps looked at different thresholds or their evaluations
        had different ones, or where the chosen one is none of those looked at.

    Examples:
        >>> from kragx import evaluate, plateaus, sweep
        >>> gold, match = [["the old red door"]], {"method": "rouge1", "threshold": 0.8}
        >>> lists = {"one": [["the old red door"]], "other": [["an old red door"]]}
        >>> results = evaluate(gold, lists, match=match, metrics=["mrr@5"]).evaluations.values()
        >>> [plateau] = plateaus([sweep(result) for result in results])
        >>> plateau.low, plateau.high
        (0.76, 1.0)
    """
    kinds = {(swept.thresholds, swept.chosen) for swept in sweeps}
    if len(sweeps) < 2 or len(kinds) > 1 or sweeps[0].chosen not in sweeps[0].thresholds:
        return ()
    shared = [name for name in sweeps[0].values if all(name in sweep.values for sweep in sweeps)]
    return tuple(_plateau(sweeps, name) for name in shared if direction(name) != "neither")


def _plateau(sweeps: Sequence[Sweep], metric: str) -> Plateau:
    first = sweeps[0]
    place = first.thresholds.index(first.chosen)
    rows = np.array([own.values[metric] for own in sweeps], np.float64)  # None becomes NaN
    sign = 1 if direction(metric) == "higher" else -1
    leads: Bools = sign * (rows[:, None] - rows) > _EQUAL  # (r, r, t) who is ahead of whom
    otherwise = (leads != leads[..., place, None]).any(axis=(0, 1))
    low, high = around(place, (~otherwise).tolist())
    names = [sweep.retriever for sweep in sweeps]
    ranks = leads[..., place].sum(axis=0)  # how many are ahead of each
    tiers = {rank: tuple(np.array(names)[ranks == rank].tolist()) for rank in sorted({*ranks})}

    def departure(position: int) -> Departure | None:
        if not 0 <= position < len(first.thresholds):
            return None
        now = leads[..., position]
        changed = now != leads[..., place]
        pairs = np.argwhere(np.triu(changed | changed.T)).tolist()
        one, other = pairs[0] if not now[tuple(reversed(pairs[0]))] else reversed(pairs[0])
        return Departure(
            first.thresholds[position],
            names[one],
            names[other],
            equal=not now[one, other],
            n_more=len(pairs) - 1,
        )

    value = first.values[metric][place] if len(tiers) == 1 else None
    return Plateau(
        metric=metric,
        match=first.match_name,
        chosen=first.chosen,
        low=first.thresholds[low],
        high=first.thresholds[high],
        order=tuple(tiers.values()),
        value=value,
        below=departure(low - 1),
        above=departure(high + 1),
    )
