"""The study of thresholds: metrics, and the order of retrievers by them, at other thresholds.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.

Other settings of a matcher are studied as thresholds are. All of them say what counts as found, so
one under which numbers are higher is not a better one: only labels say which is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kragx.comparison.estimates import Direction
from kragx.comparison.scores import RetrieverScores, direction
from kragx.evaluation.evaluation import Evaluation, EvaluationsLike, as_evaluations
from kragx.evaluation.wording import method_label
from kragx.ground.errors import UsageError
from kragx.ground.json_values import IF_KNOWN
from kragx.ground.printing import (
    Cell,
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    message,
    number,
    visible,
)
from kragx.metrics import Bools, Floats, MetricLike, listed as listed_metrics

Values = dict[str, tuple[float | None, ...]]
"""Of one retriever, for each metric its mean at each threshold."""

_ROWS = 21  # a table of more is thinned out
_NAMED = 4  # pairs that are named


@dataclass(frozen=True)
class OfGrid:
    """What a grid of a matcher's settings adds to a sweep.

    Attributes:
        metric: by which retrievers are ordered.
        settings: (t) what they are called.
        swapped: pairs of retrievers of which one is ahead under some setting and the other under
            another.
    """

    metric: str
    settings: tuple[str, ...]
    swapped: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sweep(Result):
    """Metrics of retrievers under one matcher at several thresholds, or other settings of a grid.

    Attributes:
        match: how it was matched, as results record it; empty of a grid.
        match_name: what the matcher is called.
        chosen: the threshold of the evaluations themselves; None of a grid.
        thresholds: (t) ascending; empty of a grid.
        n_matches: for each retriever (t) how many pairs of document and gold match at each; empty
            of a grid.
        values: for each retriever and metric its mean at each threshold; None where it has none.
        orders: of several retrievers, their order in each metric that is better high or low; empty
            of a grid.
        of_grid: the settings of a grid, and whose order they turn; None without a grid.

    Examples:
        >>> from kragx import evaluate, sweep
        >>> gold, match = [["the old red door"]], {"method": "rouge1", "threshold": 0.8}
        >>> lists = {"one": [["the old red door"]], "other": [["an old red door"]]}
        >>> results = evaluate(gold, lists, match=match, metrics=["mrr@5"]).evaluations.values()
        >>> order = sweep(results).orders["mrr@5"]
        >>> order.tiers, order.low, order.high
        ((('one',), ('other',)), 0.76, 1.0)
    """

    match: dict[str, Any]
    match_name: str
    chosen: float | None
    thresholds: tuple[float, ...]
    n_matches: dict[str, tuple[int, ...]]
    values: dict[str, dict[str, tuple[float | None, ...]]]
    orders: dict[str, Order] = field(default_factory=dict)
    of_grid: OfGrid | None = field(default=None, metadata=IF_KNOWN)

    also_plain: ClassVar[tuple[str, ...]] = ("sentence",)

    @property
    def labels(self) -> tuple[str, ...]:
        """(t) what the settings are called; a threshold by its number."""
        if self.of_grid is not None:
            return self.of_grid.settings
        return tuple(f"{threshold:.4g}" for threshold in self.thresholds)

    def describe(self) -> Iterator[Part]:
        """Of a grid whether the order depends on it, and retrievers by setting.

        Else a table for each retriever, the chosen threshold in bold; where their order holds.
        """
        if (grid := self.of_grid) is not None:
            yield Line(self.sentence, "bold")
            columns = {
                name: list(map(number, values[grid.metric])) for name, values in self.values.items()
            }
            yield self._table(message("{metric} under", metric=grid.metric), columns)
            return
        match = method_label(self.match)
        for retriever, values in self.values.items():
            yield Line(message("{retriever}, match: {match}", retriever=retriever, match=match))
            columns = {message("matches"): list(map(str, self.n_matches[retriever]))}
            columns |= {metric: list(map(number, means)) for metric, means in values.items()}
            yield self._table(message("threshold"), columns)
        yield Line(
            message(
                "*: the chosen threshold"
                if self.chosen in self.thresholds
                else "the chosen threshold {chosen:g} is none of those looked at",
                chosen=self.chosen,
            )
        )
        for order in self.orders.values():
            yield from order.describe()

    def _table(self, head: str, columns: Mapping[str, Sequence[str]]) -> Table:
        """Settings down; of many thresholds some, and the chosen one."""
        n, is_grid = len(self.labels), self.of_grid is not None
        # The chosen one is shown whatever is thinned out, as everything is said against it.
        place = self.thresholds.index(self.chosen) if self.chosen in self.thresholds else None
        # Evenly spaced, the first and the last one among them.
        thinned = {round(row * (n - 1) / (_ROWS - 1)) for row in range(_ROWS)} | {place}
        rows = []
        for position, label in enumerate(self.labels):
            if is_grid or n <= _ROWS or position in thinned:
                mark, style = (" *", "bold") if position == place else ("", "")
                cells = [Cell(texts[position], style) for texts in columns.values()]
                rows.append([Cell(f"{label}{mark}", style, code=is_grid), *cells])
        return Table([head, *columns], rows, words=int(is_grid))

    @property
    def sentence(self) -> str:
        """Whether the order depends on the setting; of thresholds empty where it does not."""
        if (grid := self.of_grid) is None:
            return orders_warning(self.orders.values()) or ""
        pairs = [
            message("{one} and {other}", one=visible(one), other=visible(other))
            for one, other in grid.swapped
        ]
        summary = message(
            "{metric} of one retriever under {n} settings of {of}."
            if len(self.values) < 2
            else "The order of retrievers by {metric} is the same under all {n} settings of {of}."
            if not pairs
            else "The order by {metric} depends on the setting of {of}: it changes for {pairs}.",
            of=visible(self.match_name),
            n=len(grid.settings),
            metric=grid.metric,
            pairs=listed(pairs, _NAMED),
        )
        right = message("Higher numbers make no setting the right one; labels do (kragx agree).")
        return joined(" ", (summary, right))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One for each retriever and threshold, as CSV has them."""
        for retriever, values in self.values.items():
            for position, threshold in enumerate(self.thresholds):
                yield {
                    "retriever": retriever,
                    "match": self.match_name,
                    "threshold": threshold,
                    "chosen": int(threshold == self.chosen),
                    "n_matches": self.n_matches[retriever][position],
                    **{metric: values_of[position] for metric, values_of in values.items()},
                }


def sweep_of_grid(
    name: str, metric: str, under: Sequence[tuple[str, Mapping[str, float]]]
) -> Sweep:
    """How retrievers stand under each setting of a matcher's grid.

    Args:
        name: of the matcher.
        metric: what the means are of.
        under: for each setting its name, and the means of the retrievers that can be compared.
    """
    settings, means = tuple(name for name, _ in under), [of_setting for _, of_setting in under]
    names = list(dict.fromkeys(name for of_setting in means for name in of_setting))
    columns = {name: tuple(of_setting.get(name) for of_setting in means) for name in names}
    rows = np.array([*columns.values()], np.float64).reshape(len(names), len(under))
    # No setting is the chosen one, so a pair is swapped if either is ahead somewhere.
    leads = leads_of(rows, is_higher=direction(metric) != "lower").any(axis=2)
    swapped = np.argwhere(np.triu(leads & leads.T)).tolist()
    return Sweep(
        match={},
        match_name=name,
        chosen=None,
        thresholds=(),
        n_matches={},
        values={name: {metric: column} for name, column in columns.items()},
        of_grid=OfGrid(
            metric, settings, tuple((names[row], names[rival]) for row, rival in swapped)
        ),
    )


def sweep(
    evaluations: EvaluationsLike,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    thresholds: Iterable[float] | None = None,
) -> Sweep:
    """Metrics against the threshold, and the order of retrievers; nothing is matched again.

    Args:
        evaluations: one, or several of other retrievers under the same matcher, which has a
            threshold.
        metrics: metric strings; None for those of the evaluations.
        thresholds: where to look; None for .01, .02, ..., 1 and the chosen one. Of a judge its
            grades.

    Raises:
        UsageError: the matcher decides yes or no, a threshold is out of range, a metric unknown, or
            the evaluations are of several matchers, or called alike.

    Examples:
        >>> from kragx import evaluate, sweep
        >>> gold, found = [["the old red door"]], [["an old red door", "the sky"]]
        >>> result = evaluate(gold, found, match="rouge1", metrics=["mrr@5"])
        >>> sweep(result, thresholds=[0.25, 0.5, 1.0]).values
        {'run': {'mrr@5': (1.0, 1.0, 0.0)}}
    """
    several = as_evaluations(evaluations)
    if not several:
        raise UsageError("evaluations: there is none; pass at least one")
    threshold = float(several[0].check_threshold(several[0].table.threshold))
    match = several[0].settings["match"]
    if any(evaluation.settings["match"] != match for evaluation in several):
        raise UsageError("evaluations: they are of several matchers; sweep each on its own")
    if len({evaluation.name for evaluation in several}) < len(several):
        raise UsageError("evaluations: several have one name; give each run its own")
    if metrics is not None:
        metrics = listed_metrics(metrics)
        several = [evaluation.with_metrics(metrics) for evaluation in several]
    looked_at = _thresholds(several[0], thresholds, threshold)
    n_matches, values = dict[str, tuple[int, ...]](), dict[str, Values]()
    for evaluation in several:
        # One walk over thresholds gives both; a second one would decide every match again.
        counts, means = zip(*evaluation.means_at(looked_at), strict=True)
        n_matches[evaluation.name] = counts
        values[evaluation.name] = {
            metric: tuple(row[metric] for row in means) for metric in means[0]
        }
    better = {name: direction(name) for name in several[0].mean}
    return Sweep(
        match=dict(match),
        match_name=several[0].match_name,
        chosen=threshold,
        thresholds=tuple(looked_at),
        n_matches=n_matches,
        values=values,
        orders=orders_of(values, better, looked_at, threshold),
    )


def _thresholds(evaluation: Evaluation, thresholds: object, threshold: float) -> list[float]:
    """Where to look, the same for all, so that their order can be seen."""
    top = evaluation.settings["match"].get("top")
    if thresholds is None:
        grid = range(1, top + 1) if top else (step / 100 for step in range(1, 101))
        return sorted({*map(float, grid), threshold})
    listed = thresholds if isinstance(thresholds, Iterable) else ()
    checked = {float(evaluation.check_threshold(threshold)) for threshold in listed}
    if not checked:
        raise UsageError("thresholds: none is given; name at least one")
    return sorted(checked)


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
    values: Mapping[str, Mapping[str, Sequence[float | None]]],
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
    orders: dict[str, Order] = {}
    if threshold is None or threshold not in thresholds:
        return orders
    for metric, way in better.items():
        if way != "neither" and all(metric in means for means in values.values()):
            rows = np.array([means[metric] for means in values.values()], np.float64)
            if (~np.isnan(rows[:, thresholds.index(threshold)])).sum() > 1:
                leads = leads_of(rows, is_higher=way == "higher")
                orders[metric] = _order(metric, list(values), rows, leads, thresholds, threshold)
    return orders


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


def _order(
    metric: str,
    names: Sequence[str],
    rows: Floats,  # (r, t), NaN for none
    leads: Bools,  # (r, r, t)
    thresholds: Sequence[float],
    threshold: float,
) -> Order:
    place = thresholds.index(threshold)
    alike = (leads == leads[..., place, None]).all(axis=(0, 1))
    # `argmin` finds the first place where the order is another; the False that is appended ends a
    # range that reaches the last threshold.
    low = place - int(np.argmin(np.append(alike[place::-1], False))) + 1
    high = place + int(np.argmin(np.append(alike[place:], False))) - 1
    # Who has no mean is behind nobody, and yet not the best.
    measured = np.flatnonzero(~np.isnan(rows[:, place])).tolist()
    n_ahead = leads[..., place].sum(axis=0).tolist()  # how many are ahead of each
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
        tiers=tuple(
            tuple(names[row] for row in measured if n_ahead[row] == rank)
            for rank in sorted({n_ahead[row] for row in measured})
        ),
        swapped=tuple(
            (names[better], names[worse], thresholds[nearest[behind[better, worse].argmax()]])
            for better, worse in sorted(reversed_pairs, key=sorted)
        ),
    )
