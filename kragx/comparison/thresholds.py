"""The study of thresholds: metrics, and the order of retrievers by them, at other thresholds.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from kragx.comparison.orders import Order, orders_of
from kragx.comparison.scores import direction
from kragx.evaluation.evaluation import Evaluation, means_at
from kragx.evaluation.wording import method_label
from kragx.ground.errors import UsageError
from kragx.ground.printing import Cell, Line, Part, Result, Table, number, phrase, warning
from kragx.matchers.text_base import SHORT_GOLD
from kragx.metrics import MetricLike, listed

_ROWS = 21  # a table of more is thinned out


@dataclass(frozen=True)
class Sweep(Result):
    """Metrics of retrievers under one matcher at several thresholds.

    Attributes:
        match: how it was matched, as results record it.
        match_name: what the matcher is called.
        chosen: the threshold of the evaluations themselves.
        thresholds: (t) ascending.
        n_matches: for each retriever (t) how many pairs of document and gold match at each.
        values: for each retriever and metric its mean at each threshold; None where it has none.
        orders: of several retrievers, their order in each metric that is better high or low.
        notes: of retrievers, what keeps thresholds from mattering.

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
    chosen: float
    thresholds: tuple[float, ...]
    n_matches: dict[str, tuple[int, ...]]
    values: dict[str, dict[str, tuple[float | None, ...]]]
    orders: dict[str, Order] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def describe(self) -> Iterator[Part]:
        """A table for each retriever, the chosen threshold in bold; where their order holds."""
        match = method_label(self.match)
        for retriever in self.values:
            yield Line(phrase("{retriever}, match: {match}", retriever=retriever, match=match))
            yield self._table(retriever)
            yield from map(warning, self.notes.get(retriever, ()))
        yield Line(
            phrase("*: the chosen threshold")
            if self.chosen in self.thresholds
            else phrase(
                "the chosen threshold {chosen:g} is none of those looked at", chosen=self.chosen
            )
        )
        for order in self.orders.values():
            yield from order.describe()

    def _table(self, retriever: str) -> Table:
        """Thresholds down, metrics across; of many thresholds some, and the chosen one."""
        n, values = len(self.thresholds), self.values[retriever]
        # Evenly spaced, the first and the last one among them.
        thinned = {round(row * (n - 1) / (_ROWS - 1)) for row in range(_ROWS)}
        rows = []
        for position, threshold in enumerate(self.thresholds):
            if n <= _ROWS or position in thinned or threshold == self.chosen:
                mark, style = (" *", "bold") if threshold == self.chosen else ("", "")
                cells = [f"{threshold:.4g}{mark}", str(self.n_matches[retriever][position])]
                cells += [number(means[position]) for means in values.values()]
                rows.append([Cell(cell, style) for cell in cells])
        return Table([phrase("threshold"), phrase("matches"), *values], rows, words=0)

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
                    **{metric: means[position] for metric, means in values.items()},
                }


def sweep(
    evaluations: Evaluation | Iterable[Evaluation],
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    thresholds: Iterable[float] | Literal["scores", "near"] | None = None,
) -> Sweep:
    """Metrics against the threshold, and the order of retrievers; nothing is matched again.

    Args:
        evaluations: one, or several of other retrievers under the same matcher, which has a
            threshold.
        metrics: metric strings; None for those of the evaluations.
        thresholds: where to look; ``scores`` for the chosen one and every distinct score, which
            misses no change; ``near`` for the four on either side of the chosen one at which every
            comparison looks; None for .01, .02, ..., 1 and the chosen one. Of a judge its grades.

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
    several = [evaluations] if isinstance(evaluations, Evaluation) else list(evaluations)
    if not several:
        raise UsageError("evaluations: there is none; pass at least one")
    threshold = float(several[0].check_threshold(several[0].table.threshold))
    match, names = several[0].settings["match"], [evaluation.name for evaluation in several]
    if any(evaluation.settings["match"] != match for evaluation in several):
        raise UsageError("evaluations: they are of several matchers; sweep each on its own")
    if len({*names}) < len(names):
        raise UsageError("evaluations: several have one name; give each run its own")
    if metrics is not None:
        metrics = listed(metrics)
        several = [evaluation.with_metrics(metrics) for evaluation in several]
    looked_at = _thresholds(several, thresholds, threshold)
    studies = {
        evaluation.name: [*zip(*means_at(evaluation, looked_at), strict=True)]
        for evaluation in several
    }
    n_matches = {name: counts for name, (counts, _) in studies.items()}
    values = {
        name: {metric: tuple(row[metric] for row in means) for metric in means[0]}
        for name, (_, means) in studies.items()
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
        notes={
            evaluation.name: notes
            for evaluation in several
            if (notes := (*_notes(evaluation, n_matches[evaluation.name]),))
        },
    )


def _notes(evaluation: Evaluation, n_matches: Sequence[int]) -> Iterator[str]:
    """What a flat table rests on: that a value holds at each threshold praises none of them."""
    if n_short := evaluation.counts.get(SHORT_GOLD):
        yield phrase(
            "questions with short gold: {n} of {of}; it is looked for as a phrase, whatever the "
            "threshold",
            n=n_short,
            of=evaluation.counts["n_queries"],
        )
    if len(n_matches) > 1 and n_matches[0] == n_matches[-1]:  # fewer match at higher ones
        yield phrase(
            "the same pairs match at each of these thresholds: they say nothing of which to choose"
            if n_matches[0]
            else "no pair matches at any of these thresholds"
        )


def _thresholds(several: Sequence[Evaluation], thresholds: object, threshold: float) -> list[float]:
    """Where to look, the same for all, so that their order can be seen."""
    top = several[0].settings["match"].get("top")
    if thresholds is None:
        grid = range(1, top + 1) if top else (step / 100 for step in range(1, 101))
        return sorted({*map(float, grid), threshold})
    if isinstance(thresholds, str):
        if thresholds == "near" and several[0].nearby is not None:
            return list(several[0].nearby.thresholds)
        if thresholds != "scores":
            raise UsageError(f"thresholds: {thresholds!r} is neither numbers, 'scores' nor 'near'")
        # A score equal to the threshold is a match, so a metric changes just above a score.
        scores = np.concatenate([evaluation.table.pair_score for evaluation in several])
        return [float(score) for score in np.unique([*scores[scores > 0], threshold])]
    listed = thresholds if isinstance(thresholds, Iterable) else ()
    checked = {float(several[0].check_threshold(threshold)) for threshold in listed}
    if not checked:
        raise UsageError("thresholds: none is given; name at least one, or 'scores'")
    return sorted(checked)
