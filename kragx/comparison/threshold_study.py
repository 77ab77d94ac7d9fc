"""The study of thresholds: metrics, and the order of retrievers by them, at other thresholds.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.

Other settings of a matcher are studied as thresholds are. All of them say what counts as found, so
one under which numbers are higher is not a better one: only labels say which is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from kragx.comparison.orders import Order, leads_of, orders_of, orders_warning, tiers_of
from kragx.comparison.scores import direction
from kragx.evaluation.evaluation import Evaluation, means_at
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
    number,
    phrase,
    visible,
    warning,
)
from kragx.matchers.text_base import SHORT_GOLD
from kragx.metrics import MetricLike, listed as listed_metrics

if TYPE_CHECKING:
    from kragx.comparison.tuning import Setting

_ROWS = 21  # a table of more is thinned out
_NAMED = 4  # pairs that are named


@dataclass(frozen=True)
class OfGrid:
    """What a grid of a matcher's settings adds to a sweep.

    Attributes:
        metric: by which retrievers are ordered.
        settings: (t) what they are called.
        orders: (t) the retrievers that can be compared, the best first, those that are equal
            together.
        certain: (t) whether the first is told to be better than every other.
        swapped: pairs of retrievers of which one is ahead under some setting and the other under
            another.
    """

    metric: str
    settings: tuple[str, ...]
    orders: tuple[tuple[tuple[str, ...], ...], ...]
    certain: tuple[bool, ...]
    swapped: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sweep(Result):
    """Metrics of retrievers under one matcher at several thresholds, or other settings of a grid.

    Attributes:
        match: how it was matched, as results record it; empty of a grid.
        match_name: what the matcher is called.
        chosen: the threshold of the evaluations themselves; None of a grid.
        thresholds: (t) ascending, of a grid in its order; empty where it varies something else.
        n_matches: for each retriever (t) how many pairs of document and gold match at each; empty
            of a grid.
        values: for each retriever and metric its mean at each threshold; None where it has none.
        orders: of several retrievers, their order in each metric that is better high or low; empty
            of a grid.
        notes: of retrievers, what keeps thresholds from mattering.
        of_grid: the settings of a grid, and who is first under each; None without a grid.

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
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
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
        if self.of_grid is not None:
            yield from self._grid_parts(self.of_grid)
            return
        match = method_label(self.match)
        for retriever, values in self.values.items():
            yield Line(phrase("{retriever}, match: {match}", retriever=retriever, match=match))
            columns = {metric: list(map(number, means)) for metric, means in values.items()}
            n_matches = list(map(str, self.n_matches[retriever]))
            yield self._table(phrase("threshold"), {phrase("matches"): n_matches, **columns})
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

    def _grid_parts(self, grid: OfGrid) -> Iterator[Part]:
        """Whether the order depends on the setting, then settings by retriever."""
        yield Line(self.sentence, "bold")
        marks = [" ★" if is_certain else " =" for is_certain in grid.certain]
        # Where no retriever can be compared nobody is first.
        first = [tiers[0] if tiers else () for tiers in grid.orders]
        columns = {
            name: [
                number(mean) + (mark if name in leaders else "")
                for mean, mark, leaders in zip(values[grid.metric], marks, first)
            ]
            for name, values in self.values.items()
        }
        note = phrase("★ first, and told to be better than every other; = first")
        yield self._table(phrase("{metric} under", metric=grid.metric), columns, note)

    def _table(self, head: str, columns: Mapping[str, Sequence[str]], note: str = "") -> Table:
        """Settings down; of many thresholds some, and the chosen one."""
        n, is_grid = len(self.labels), self.of_grid is not None
        # Evenly spaced, the first and the last one among them.
        thinned = {round(row * (n - 1) / (_ROWS - 1)) for row in range(_ROWS)}
        # The chosen one is shown whatever is thinned out, as everything is said against it.
        place = self.thresholds.index(self.chosen) if self.chosen in self.thresholds else None
        rows = []
        for position, label in enumerate(self.labels):
            if is_grid or n <= _ROWS or position in {*thinned, place}:
                mark, style = (" *", "bold") if position == place else ("", "")
                cells = [Cell(texts[position], style) for texts in columns.values()]
                rows.append([Cell(f"{label}{mark}", style, code=is_grid), *cells])
        return Table([head, *columns], rows, words=int(is_grid), note=note)

    @property
    def sentence(self) -> str:
        """Whether the order depends on the setting; of thresholds empty where it does not."""
        if (grid := self.of_grid) is None:
            return orders_warning(self.orders.values()) or ""
        pairs = [
            phrase("{one} and {other}", one=visible(one), other=visible(other))
            for one, other in grid.swapped
        ]
        summary = phrase(
            "{metric} of one retriever under {n} settings of {of}."
            if sum(map(len, grid.orders[0])) < 2
            else "The order of retrievers by {metric} is the same under all {n} settings of {of}."
            if not pairs
            else "The order by {metric} depends on the setting of {of}: it changes for {pairs}.",
            of=visible(self.match_name),
            n=len(grid.settings),
            metric=grid.metric,
            pairs=listed(pairs, _NAMED),
        )
        right = phrase("Higher numbers make no setting the right one; labels do (kragx agree).")
        return joined(" ", (summary, right))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One for each retriever and threshold, or setting of a grid, as CSV has them."""
        for retriever, values in self.values.items():
            for position, label in enumerate(self.labels):
                place: dict[str, Any] = {"setting": label}
                if self.of_grid is None:
                    threshold = self.thresholds[position]
                    place = {"threshold": threshold, "chosen": int(threshold == self.chosen)}
                    place["n_matches"] = self.n_matches[retriever][position]
                means = {metric: values_of[position] for metric, values_of in values.items()}
                yield {"retriever": retriever, "match": self.match_name, **place, **means}


def sweep_of_grid(
    name: str, metric: str, under: Sequence[tuple[Setting, Mapping[str, float], bool]]
) -> Sweep:
    """How retrievers stand under each setting of a matcher's grid.

    Args:
        name: of the matcher.
        metric: what the means are of.
        under: for each setting the means of the retrievers that can be compared, and whether the
            first of them is told to be better than every other.
    """
    names = list(dict.fromkeys(name for _, means, _ in under for name in means))
    columns = {name: tuple(means.get(name) for _, means, _ in under) for name in names}
    rows = np.array([*columns.values()], np.float64).reshape(len(names), len(under))
    leads = leads_of(rows, is_higher=direction(metric) != "lower")
    # No setting is the chosen one, so a pair is swapped if either is ahead somewhere.
    leads_anywhere = leads.any(axis=2)  # under some setting
    swapped = np.argwhere(np.triu(leads_anywhere & leads_anywhere.T)).tolist()
    axes = [setting.values for setting, _, _ in under]
    return Sweep(
        match={},
        match_name=name,
        chosen=None,
        thresholds=tuple(
            float(values["threshold"]) for values in axes if values.keys() == {"threshold"}
        ),
        n_matches={},
        values={name: {metric: means} for name, means in columns.items()},
        of_grid=OfGrid(
            metric,
            tuple(setting.name for setting, _, _ in under),
            tuple(
                tiers_of(names, rows[:, place], leads[..., place]) for place in range(len(under))
            ),
            tuple(is_certain for _, _, is_certain in under),
            tuple((names[one], names[other]) for one, other in swapped),
        ),
    )


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
        metrics = listed_metrics(metrics)
        several = [evaluation.with_metrics(metrics) for evaluation in several]
    looked_at = _thresholds(several, thresholds, threshold)
    studies = {
        evaluation.name: [*zip(*means_at(evaluation, looked_at), strict=True)]
        for evaluation in several
    }
    # One walk over thresholds gives both; a second one would decide every match again.
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
            raise UsageError(
                "thresholds: {thresholds!r} is neither numbers, 'scores' nor 'near'",
                thresholds=thresholds,
            )
        # A score equal to the threshold is a match, so a metric changes just above a score.
        scores = np.concatenate([evaluation.table.pair_score for evaluation in several])
        return [float(score) for score in np.unique([*scores[scores > 0], threshold])]
    listed = thresholds if isinstance(thresholds, Iterable) else ()
    checked = {float(several[0].check_threshold(threshold)) for threshold in listed}
    if not checked:
        raise UsageError("thresholds: none is given; name at least one, or 'scores'")
    return sorted(checked)
