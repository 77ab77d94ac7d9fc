"""Sweeps: metrics against the threshold, from one scoring.

Every score is kept in the match table, so another threshold decides anew and scores nothing. A
metric can change only where a score lies, so thresholds between which none does share a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kragx.errors import UsageError, needing
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.wording import method_label
from kragx.matchers.batches import SHORT_GOLD
from kragx.printing import (
    Cell,
    Line,
    Part,
    Result,
    Table,
    in_language,
    number,
    phrase,
    steps,
    warning,
)

if TYPE_CHECKING:
    import pandas


TOLERANCE = 0.01
"""A metric that is no further from its value at the chosen threshold is stable."""

_ROWS = 21  # a table of more is thinned out


@dataclass(frozen=True)
class Stretch:
    """The thresholds around the chosen one in which a metric is as there, within the tolerance.

    Attributes:
        low, high: its ends; both were looked at.
        least, greatest: the metric's values within.
        most_matches, fewest_matches: at its ends. Where matches change and the metric does not, it
            has all that it can have, or too little to lose, and says nothing of the threshold.
    """

    low: float
    high: float
    least: float
    greatest: float
    most_matches: int
    fewest_matches: int

    def __contains__(self, threshold: float) -> bool:
        return self.low <= threshold <= self.high


@dataclass(frozen=True)
class Sweep(Result):
    """Metrics of one evaluation at several thresholds.

    Attributes:
        retriever: the run's name.
        match: how it was matched, as results record it.
        match_name: what the matcher is called.
        chosen: the threshold of the evaluation itself.
        thresholds: (t) ascending.
        n_matches: (t) how many pairs of document and gold match at each.
        values: for each metric its mean at each threshold; None where it has none.
        stable: for each metric the thresholds around the chosen one at which it is as there; None
            where that was not looked at, or the metric is 0 or has no value there.
        tolerance: of these.
        notes: what keeps thresholds from mattering.

    Examples:
        >>> from kragx import evaluate, sweep
        >>> gold, found = [["the old red door"]], [["an old red door", "the sky"]]
        >>> result = evaluate(gold, found, match="rouge1", metrics=["mrr@5"])
        >>> swept = sweep(result, thresholds=[0.25, 0.5, 1.0])
        >>> swept.chosen, swept.n_matches
        (0.5, (2, 1, 0))
    """

    retriever: str
    match: dict[str, Any]
    match_name: str
    chosen: float
    thresholds: tuple[float, ...]
    n_matches: tuple[int, ...]
    values: dict[str, tuple[float | None, ...]]
    stable: dict[str, Stretch | None]
    tolerance: float = TOLERANCE
    notes: tuple[str, ...] = ()

    def describe(self) -> Iterator[Part]:
        """Thresholds down, metrics across, the chosen one in bold, and where each is stable."""
        match = method_label(self.match)
        yield Line(phrase("{retriever}, match: {match}", retriever=self.retriever, match=match))
        columns = [phrase("threshold"), phrase("matches"), *self.values]
        n = len(self.thresholds)
        thinned = {round(row * (n - 1) / (_ROWS - 1)) for row in range(_ROWS)}
        rows = [
            self._row(position)
            for position, threshold in enumerate(self.thresholds)
            if n <= _ROWS or position in thinned or threshold == self.chosen
        ]
        yield Table(columns, rows, words=0)
        for name in self.stable:
            yield Line(phrase("{names}: {remark}", names=name, remark=self._stable_line(name)))
        yield Line(
            phrase(
                "*: the chosen threshold; |: within {tolerance:g} of the value there",
                tolerance=self.tolerance,
            )
        )
        yield from map(warning, self.notes)

    def _repr_html_(self) -> str:
        """For notebooks: the description, and below it the metrics against the threshold."""
        title = in_language(phrase("Metrics against the threshold"))
        figure = steps(title, self.thresholds, self.values, self.chosen)
        return super()._repr_html_() + figure

    def _row(self, position: int) -> list[Cell]:
        threshold = self.thresholds[position]
        mark, style = (" *", "bold") if threshold == self.chosen else ("", "")
        cells = [f"{threshold:.4g}{mark}", str(self.n_matches[position])]
        for name, values in self.values.items():
            stretch = self.stable.get(name)
            is_stable = stretch is not None and threshold in stretch
            cells.append(number(values[position]) + (" |" if is_stable else "  "))
        return [Cell(cell, style) for cell in cells]

    def _stable_line(self, metric: str) -> str:
        if self.chosen not in self.thresholds:
            return phrase(
                "the chosen threshold {chosen:g} is none of those looked at", chosen=self.chosen
            )
        value = number(self.values[metric][self.thresholds.index(self.chosen)])
        figures = {"value": value, "chosen": self.chosen, "tolerance": self.tolerance}
        stretch = self.stable[metric]
        if stretch is None:
            return phrase("{value} at the chosen threshold {chosen:g}", **figures)
        if stretch.low == stretch.high:
            return phrase("{value} at the chosen threshold {chosen:g} alone", **figures)
        n_max, fewest = stretch.most_matches, stretch.fewest_matches
        matches = phrase(
            "{n} matches" if n_max == fewest else "{n} to {fewest} matches", n=n_max, fewest=fewest
        )
        return phrase(
            "within {tolerance:g} of {value} from threshold {low:.4g} to {high:.4g}, around the "
            "chosen {chosen:g} ({matches})",
            low=stretch.low,
            high=stretch.high,
            matches=matches,
            **figures,
        )

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each threshold and a column for each metric.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needing("pandas", "to_pandas"):
            import pandas
        columns = {"n_matches": self.n_matches, **self.values}
        return pandas.DataFrame(columns, index=pandas.Index(self.thresholds, name="threshold"))


def sweep(
    evaluation: Evaluation,
    metrics: Iterable[str] | str | None = None,
    thresholds: Iterable[float] | Literal["scores"] | None = None,
    *,
    tolerance: float = TOLERANCE,
) -> Sweep:
    """Metrics against the threshold; nothing is matched again.

    Args:
        evaluation: of a matcher with a threshold.
        metrics: metric strings; None for the evaluation's own.
        thresholds: where to look; ``scores`` for the chosen one and every distinct score, which
            misses no change; None for .01, .02, ..., 1 and the chosen one, or of a judge for its
            grades.
        tolerance: how far a metric may be from its value at the chosen threshold and count as
            stable.

    Raises:
        UsageError: the matcher decides yes or no, a threshold is out of range, or a metric unknown.

    Examples:
        >>> from kragx import evaluate, sweep
        >>> gold, found = [["the old red door"]], [["an old red door", "the sky"]]
        >>> result = evaluate(gold, found, match="rouge1", metrics=["mrr@5"])
        >>> sweep(result, thresholds=[0.25, 0.5, 1.0]).values
        {'mrr@5': (1.0, 1.0, 0.0)}
    """
    threshold = float(evaluation.check_threshold(evaluation.table.threshold))
    if metrics is not None:
        evaluation = evaluation.with_metrics([metrics] if isinstance(metrics, str) else metrics)
    looked_at = _thresholds(evaluation, thresholds, threshold)
    counts, means = zip(*evaluation.means_at(looked_at), strict=True)
    values = {name: tuple(of_all[name] for of_all in means) for name in evaluation.mean}
    return Sweep(
        retriever=evaluation.name,
        match=dict(evaluation.settings["match"]),
        match_name=evaluation.match_name,
        chosen=threshold,
        thresholds=tuple(looked_at),
        n_matches=counts,
        values=values,
        stable={
            name: stretch(looked_at, value, counts, threshold, tolerance)
            for name, value in values.items()
        },
        tolerance=tolerance,
        notes=tuple(_notes(evaluation, counts)),
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


def stretch(
    thresholds: Sequence[float],
    values: Sequence[float | None],
    n_matches: Sequence[int],
    threshold: float,
    tolerance: float,
) -> Stretch | None:
    """The thresholds around the chosen one whose values are within the tolerance of its own.

    None where it was not looked at, or its value is 0 or none: below nothing there is nothing.
    """
    if threshold not in thresholds:
        return None
    place = thresholds.index(threshold)
    value = values[place]
    if not value:
        return None
    alike = [mean is not None and abs(mean - value) <= tolerance + 1e-12 for mean in values]
    first, last = around(place, alike)
    inside = [mean for mean in values[first : last + 1] if mean is not None]
    ends = thresholds[first], thresholds[last]
    return Stretch(*ends, min(inside), max(inside), n_matches[first], n_matches[last])


def around(place: int, alike: Sequence[bool]) -> tuple[int, int]:
    """The first and last position of those alike that reach to a place without a gap."""
    first = last = place
    while first > 0 and alike[first - 1]:
        first -= 1
    while last + 1 < len(alike) and alike[last + 1]:
        last += 1
    return first, last


def _thresholds(evaluation: Evaluation, thresholds: object, chosen: float) -> list[float]:
    if thresholds is None:
        top = evaluation.settings["match"].get("top")
        grid = range(1, top + 1) if top else (step / 100 for step in range(1, 101))
        return sorted({*map(float, grid), chosen})
    if isinstance(thresholds, str):
        if thresholds != "scores":
            raise UsageError(f"thresholds: {thresholds!r} is neither numbers nor 'scores'")
        # A score equal to the threshold is a match, so a metric changes just above a score.
        scores = evaluation.table.pair_score
        return sorted({*scores[scores > 0].tolist(), chosen})
    listed = thresholds if isinstance(thresholds, Iterable) else ()
    checked = {float(evaluation.check_threshold(threshold)) for threshold in listed}
    if not checked:
        raise UsageError("thresholds: none is given; name at least one, or 'scores'")
    return sorted(checked)
