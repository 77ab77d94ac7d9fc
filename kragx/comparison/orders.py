"""The order of retrievers along thresholds: where it holds, and which pairs are reversed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.comparison.estimates import Direction
from kragx.comparison.scores import RetrieverScores
from kragx.ground.printing import Line, Result, message
from kragx.metrics import Bools, Floats

Values = Mapping[str, Sequence[float | None]]
"""Of one retriever, for each metric its mean at each threshold."""

_EQUAL = 1e-12  # means that rounding alone tells apart are equal


@dataclass(frozen=True)
class Order(Result):
    """The order of several retrievers in a metric, and whether another threshold has another.

    Its plateau is the thresholds around the chosen one at which no two of them change their order.
    Two that are equal are in an order of their own: where everything matches all are equal, and
    that is no plateau of an order by which one was ahead.

    Attributes:
        metric: by which they are ordered.
        chosen: the threshold of the evaluations.
        low, high: the ends of the plateau; both were looked at.
        tiers: the retrievers with a value, the best first, those that are equal together.
        swapped: pairs (better, worse at the chosen threshold) whose order is reversed elsewhere,
            with the threshold nearest to the chosen one. What becomes equal is not reversed.
    """

    metric: str
    chosen: float
    low: float
    high: float
    tiers: tuple[tuple[str, ...], ...]
    swapped: tuple[tuple[str, str, float], ...]

    def warning(self) -> str | None:
        """One line for people about what is reversed; None if nothing is."""
        if not self.swapped:
            return None
        better, worse, threshold = min(self.swapped, key=lambda pair: abs(pair[2] - self.chosen))
        return message(
            "the order depends on the threshold: at {chosen:g} {better!r} is ahead of {worse!r} in "
            "{metric}, at {threshold:g} behind; see kragx threshold sweep",
            chosen=self.chosen,
            better=better,
            worse=worse,
            metric=self.metric,
            threshold=threshold,
        )

    def describe(self) -> Iterator[Line]:
        """The order, from where to where it holds, and what ends it."""
        order = " > ".join(" = ".join(names) for names in self.tiers)
        range_text = message(
            "at the chosen threshold {chosen:g} alone"
            if self.low == self.high
            else "from threshold {low:.4g} to {high:.4g}, around the chosen {chosen:g}",
            low=self.low,
            high=self.high,
            chosen=self.chosen,
        )
        yield Line(
            message(
                "{metric}: plateau: the order {order} holds {where}"
                if len(self.tiers) > 1
                else "{metric}: no order: all are equal {where}",
                metric=self.metric,
                order=order,
                where=range_text,
            )
        )


def orders_warning(orders: Iterable[Order]) -> str | None:
    """One line about the first metric in which an order is reversed; None if it holds in each."""
    return next((order.warning() for order in orders if order.swapped), None)


def orders_of(
    values: Mapping[str, Values],
    better: Mapping[str, Direction],
    thresholds: Sequence[float],
    threshold: float | None,
) -> dict[str, Order]:
    """The order of several retrievers in each metric that all have and that has a direction.

    Nothing of a metric of which fewer than two have a value at `threshold`.

    Args:
        values: of each retriever.
        better: the metrics' directions.
        thresholds: (t) where the values are, ascending.
        threshold: that of the evaluations; nothing follows where it is none of these, or None.
    """
    if len(values) < 2 or threshold is None or threshold not in thresholds:
        return {}
    place = thresholds.index(threshold)
    return {
        metric: _order(metric, list(values), rows, way == "higher", thresholds, threshold)
        for metric, way in better.items()
        if way != "neither" and all(metric in means for means in values.values())
        for rows in [np.array([means[metric] for means in values.values()], np.float64)]
        if (~np.isnan(rows[:, place])).sum() > 1
    }


def orders_near(scores: Sequence[RetrieverScores], metrics: Iterable[str]) -> dict[str, Order]:
    """The orders at thresholds near the retrievers' own, by what they scored there.

    None where there is nothing to vary: one retriever, a matcher that decides yes or no, different
    matchers, or a pool.
    """
    first, nearby = scores[0], [score.nearby for score in scores if score.nearby is not None]
    # Other thresholds, or a retriever without any, leave no common row to order them by.
    if (
        len(nearby) < len(scores)
        or len({near.thresholds for near in nearby}) > 1
        or any(score.settings["match"] != first.settings["match"] for score in scores)
    ):
        return {}
    values = {score.name: near.means for score, near in zip(scores, nearby)}
    better = {name: first.better[name] for name in metrics}
    return orders_of(values, better, nearby[0].thresholds, nearby[0].chosen)


def leads_of(rows: Floats, *, is_higher: bool) -> Bools:
    """(r, r, t) who is ahead of whom, of (r, t) means, NaN for none: that is ahead of nobody."""
    # A margin instead of >: sums of the same terms in another order are no lead.
    scores = rows if is_higher else -rows
    with np.errstate(invalid="ignore"):  # never is as good as never
        leads: Bools = scores[:, None] - scores > _EQUAL
    return leads


def tiers_of(names: Sequence[str], means: Floats, leads: Bools) -> tuple[tuple[str, ...], ...]:
    """The retrievers with a mean, the best first, those that are equal together; `leads` (r, r)."""
    # Who has no mean is behind nobody, and yet not the best.
    measured = np.flatnonzero(~np.isnan(means)).tolist()
    n_ahead = leads[np.ix_(measured, measured)].sum(axis=0).tolist()  # how many are ahead of each
    return tuple(
        tuple(names[row] for row, n in zip(measured, n_ahead) if n == rank)
        for rank in sorted({*n_ahead})
    )


def _order(
    metric: str,
    names: Sequence[str],
    rows: Floats,  # (r, t), NaN for none
    is_higher: bool,
    thresholds: Sequence[float],
    threshold: float,
) -> Order:
    place, leads = thresholds.index(threshold), leads_of(rows, is_higher=is_higher)
    alike = (leads == leads[..., place, None]).all(axis=(0, 1))
    # `argmin` finds the first place where the order is another; the False that is appended ends a
    # range that reaches the last threshold.
    low = place - int(np.argmin(np.append(alike[place::-1], False))) + 1
    high = place + int(np.argmin(np.append(alike[place:], False))) - 1
    # The thresholds nearest to the chosen one, itself before all.
    nearest = sorted(range(len(thresholds)), key=lambda other: abs(thresholds[other] - threshold))
    ahead = leads[..., nearest]
    # Column 0 is the chosen threshold, as it is nearest to itself.
    behind = ahead.swapaxes(0, 1)
    reversed_pairs = np.argwhere(ahead[..., 0] & behind.any(axis=2)).tolist()
    return Order(
        metric=metric,
        chosen=threshold,
        low=thresholds[low],
        high=thresholds[high],
        tiers=tiers_of(names, rows[:, place], leads[..., place]),
        swapped=tuple(
            (names[better], names[worse], thresholds[nearest[behind[better, worse].argmax()]])
            for better, worse in sorted(reversed_pairs, key=sorted)
        ),
    )
